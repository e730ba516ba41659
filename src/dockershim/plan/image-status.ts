import { Image } from '../../cri/generated/cri-v1.ts';
import type { DeepPartial } from '../../grpc/message-fns.ts';
import type { ImageInspect, ImageSummary } from '../engine/docker-types.ts';

/** What Docker writes for an image without a name. */
const NO_NAME = '<none>';

const named = (names: readonly string[] | null | undefined): string[] =>
  (names ?? []).filter((name) => !name.startsWith(NO_NAME) && !name.endsWith(NO_NAME));

/** `isPinned`: this is the image of sandboxes, which image garbage collection must not remove. */
export function listedImage(summary: ImageSummary, isPinned: (names: readonly string[]) => boolean): Image {
  const repoTags = named(summary.RepoTags);
  return Image.fromPartial({
    id: summary.Id,
    repoTags,
    repoDigests: named(summary.RepoDigests),
    size: BigInt(summary.Size ?? 0),
    pinned: isPinned(repoTags),
  });
}

export function imageOf(inspect: ImageInspect, isPinned: (names: readonly string[]) => boolean): Image {
  return Image.fromPartial({ ...listedImage(inspect, isPinned), ...userOf(inspect.Config?.User ?? '') });
}

/**
 * The numeric user id that the image sets, or the user name. A group after a colon is ignored (cri-dockerd:
 * core/convert.go).
 */
function userOf(text: string): DeepPartial<Image> {
  const [user = ''] = text.split(':');
  if (user === '') return {};
  return /^\d{1,10}$/.test(user) ? { uid: { value: BigInt(user) } } : { username: user };
}
