import { normalizeImageName } from '../framework/node-info.ts';
import type { Plugin } from '../framework/plugin.ts';
import { maxNodeScore } from '../framework/plugin.ts';

const mebibyte = 1024 * 1024;
/** Less than this is pulled so fast that it is no reason. */
const minBytes = 23 * mebibyte;
/** For each container; more is not better. */
const maxBytes = 1000 * mebibyte;

/**
 * Nodes that have the images already. An image counts by the share of nodes that have it, so that one node that has it
 * does not draw all pods.
 */
export const imageLocality: Plugin = {
  name: 'ImageLocality',
  preScore: ({ pod }, snapshot) => {
    const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
    const volumes = (pod.spec.volumes ?? []).flatMap(({ image }) =>
      image?.reference === undefined ? [] : [image.reference],
    );
    const images = [...containers.flatMap(({ image }) => (image === undefined ? [] : [image])), ...volumes].map(
      normalizeImageName,
    );
    const total = snapshot.nodes().length;
    const present = images
      .map((image) => ({ image, spread: snapshot.imageSpread(image) / total }))
      .filter(({ spread }) => spread > 0);
    const limit = maxBytes * containers.length;
    return {
      score: (node) => {
        let sum = 0;
        for (const { image, spread } of present) {
          const bytes = node.images.get(image);
          if (bytes !== undefined) sum += Math.trunc(bytes * spread);
        }
        const bytes = Math.min(Math.max(sum, minBytes), limit);
        return Math.trunc((maxNodeScore * (bytes - minBytes)) / (limit - minBytes));
      },
    };
  },
};
