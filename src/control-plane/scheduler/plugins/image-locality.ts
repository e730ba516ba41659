import { normalizeImageName } from '../framework/node-info.ts';
import type { Plugin } from '../framework/plugin.ts';
import { MAX_NODE_SCORE } from '../framework/plugin.ts';

const MEBIBYTE = 1024 * 1024;
/** Smaller images score 0, because pulling them takes little time. */
const MIN_BYTES = 23 * MEBIBYTE;
/** The image size per container above which the score does not increase. */
const MAX_BYTES = 1000 * MEBIBYTE;

/**
 * Prefers nodes that have the pod's images. An image is weighted by the share of nodes that have it, so that a single
 * node with the image does not attract all pods.
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
    const limit = MAX_BYTES * containers.length;
    return {
      score: (node) => {
        let sum = 0;
        for (const { image, spread } of present) {
          const bytes = node.images.get(image);
          if (bytes !== undefined) sum += Math.trunc(bytes * spread);
        }
        const bytes = Math.min(Math.max(sum, MIN_BYTES), limit);
        return Math.trunc((MAX_NODE_SCORE * (bytes - MIN_BYTES)) / (limit - MIN_BYTES));
      },
    };
  },
};
