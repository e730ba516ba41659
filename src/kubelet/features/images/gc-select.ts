import { parseImageName } from '../../../api/image-name.ts';
import type { Image } from '../../ports/images.ts';

/** The record of an image between passes. Times are monotonic milliseconds. */
export interface ImageRecord {
  readonly image: Image;
  readonly firstSeenMs: number;
  /** When a container last used the image; undefined if none did since the agent started. */
  readonly lastUsedMs: number | undefined;
}

export interface ImageGcPolicy {
  readonly highPercent: number;
  readonly lowPercent: number;
  readonly minAgeMs: number;
  /** The maximum age in milliseconds; with 0, images are not removed because of their age. */
  readonly maxAgeMs: number;
}

/** The ids, references and names of images that must stay, in any notation. */
export interface KeptImages {
  readonly inUse: ReadonlySet<string>;
  readonly leased: ReadonlySet<string>;
  readonly sandboxImages: readonly string[];
  /** Prefixes of names, such as `localhost/`. */
  readonly pinnedPrefixes?: readonly string[];
}

/**
 * Updates the records from the current images: new images are detected now, images in use are used now, and missing
 * ones are dropped.
 */
export function updateRecords(
  records: ReadonlyMap<string, ImageRecord>,
  images: readonly Image[],
  inUse: ReadonlySet<string>,
  nowMs: number,
): Map<string, ImageRecord> {
  const spelled = spellings(inUse);
  const next = new Map<string, ImageRecord>();
  for (const image of images) {
    const known = records.get(image.id);
    next.set(image.id, {
      image,
      firstSeenMs: known?.firstSeenMs ?? nowMs,
      lastUsedMs: isAmong(image, spelled) ? nowMs : known?.lastUsedMs,
    });
  }
  return next;
}

/**
 * Returns the images that may be removed, in this order: never used, then by last use, then by first detection
 * (upstream: byLastUsedAndDetected).
 */
export function selectCandidates(records: ReadonlyMap<string, ImageRecord>, kept: KeptImages): ImageRecord[] {
  const stays = spellings([...kept.inUse, ...kept.leased, ...kept.sandboxImages]);
  const used = ({ lastUsedMs = Number.NEGATIVE_INFINITY }: ImageRecord): number => lastUsedMs;
  return [...records.values()]
    .filter(
      ({ image }) => !isPinned(image, kept.pinnedPrefixes ?? []) && !isSandboxImage(image) && !isAmong(image, stays),
    )
    .sort((left, right) => {
      if (used(left) !== used(right)) return used(left) < used(right) ? -1 : 1;
      return left.firstSeenMs - right.firstSeenMs || (left.image.id < right.image.id ? -1 : 1);
    });
}

/**
 * Returns the images that were unused for longer than `maxAgeMs`. Until the agent has run for that time it returns
 * none, because earlier use is unknown.
 */
export function selectOld(
  candidates: readonly ImageRecord[],
  policy: ImageGcPolicy,
  nowMs: number,
  startedMs: number,
): ImageRecord[] {
  if (policy.maxAgeMs === 0 || nowMs - startedMs <= policy.maxAgeMs) return [];
  return candidates.filter(({ lastUsedMs }) => nowMs - (lastUsedMs ?? Number.NEGATIVE_INFINITY) > policy.maxAgeMs);
}

/** Returns the images that are old enough to be removed for lack of space. */
export function selectRipe(candidates: readonly ImageRecord[], policy: ImageGcPolicy, nowMs: number): ImageRecord[] {
  return candidates.filter(({ firstSeenMs }) => nowMs - firstSeenMs >= policy.minAgeMs);
}

/**
 * Computes the usage of a file system in whole percent, and the bytes to free to reach the low mark; 0 below the high
 * mark.
 */
export function computeNeed(
  usage: { capacityBytes: number; availableBytes: number },
  policy: ImageGcPolicy,
): { usedPercent: number; bytesToFree: number } {
  const availableBytes = Math.min(usage.availableBytes, usage.capacityBytes);
  const usedPercent = 100 - Math.floor((availableBytes * 100) / usage.capacityBytes);
  if (usedPercent < policy.highPercent) return { usedPercent, bytesToFree: 0 };
  return {
    usedPercent,
    bytesToFree: Math.max(0, Math.floor((usage.capacityBytes * (100 - policy.lowPercent)) / 100) - availableBytes),
  };
}

/** Whether the runtime or the operator pinned the image. */
export function isPinned(image: Image, prefixes: readonly string[]): boolean {
  return image.pinned || image.repoTags.some((name) => prefixes.some((prefix) => name.startsWith(prefix)));
}

/**
 * Whether the image is that of sandboxes. Runtimes without pinning do not report it, so an image called `pause` is
 * never removed.
 */
export function isSandboxImage(image: Image): boolean {
  return [...image.repoTags, ...image.repoDigests].some((name) => /(^|\/)pause(-[a-z0-9_]+)?[:@]/.test(name));
}

function isAmong(image: Image, names: ReadonlySet<string>): boolean {
  return [image.id, ...image.repoTags, ...image.repoDigests].some((name) => names.has(name));
}

/** Returns each name as given, and with the full registry as runtimes list it. */
function spellings(names: Iterable<string>): Set<string> {
  const all = new Set<string>();
  for (const name of names) {
    if (name === '') continue;
    all.add(name);
    const parsed = parseImageName(name);
    if (parsed === undefined) continue;
    if (parsed.tag !== undefined) all.add(`${parsed.repository}:${parsed.tag}`);
    if (parsed.digest !== undefined) all.add(`${parsed.repository}@${parsed.digest}`);
  }
  return all;
}
