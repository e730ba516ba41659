import type { ContainerImage } from '../../../api/core/node.ts';
import type { Image } from '../../ports/images.ts';

/** The maximum number of names per image (upstream: nodestatus.MaxNamesPerImageInNodeStatus). */
const MAX_NAMES = 5;

/**
 * Selects the largest images, with digests before tags. -1 as `maximum` selects all (upstream: sliceutils.ByImageSize,
 * nodestatus.Images).
 */
export function selectNodeImages(images: readonly Image[], maximum: number): ContainerImage[] {
  const sorted = images.toSorted((left, right) => right.sizeBytes - left.sizeBytes || (left.id < right.id ? 1 : -1));
  const chosen = maximum < 0 ? sorted : sorted.slice(0, maximum);
  return chosen.map(({ repoDigests, repoTags, sizeBytes }) => ({
    names: [...repoDigests, ...repoTags].slice(0, MAX_NAMES),
    sizeBytes,
  }));
}
