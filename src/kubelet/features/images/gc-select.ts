import { parseImageName } from '../../../api/image-name.ts';
import type { Image } from '../../ports/images.ts';

/** The record of an image between passes. Monotonic ms. */
export interface ImageRecord {
  readonly image: Image;
  readonly firstSeenMs: number;
  /** When a container last used it; undefined if never since the agent started. */
  readonly lastUsedMs: number | undefined;
}

export interface ImageGcPolicy {
  readonly highPercent: number;
  readonly lowPercent: number;
  readonly minAgeMs: number;
  /** 0: images are not removed because of their age. */
  readonly maxAgeMs: number;
}

/** Ids, references and names of images that must stay, in any spelling. */
export interface KeptImages {
  readonly inUse: ReadonlySet<string>;
  readonly leased: ReadonlySet<string>;
  readonly sandboxImages: readonly string[];
  /** Beginnings of names, such as `localhost/`. */
  readonly pinnedPrefixes?: readonly string[];
}

/**
 * Updates the records after a read of the node: new images are detected now, used ones are used now, missing ones are
 * dropped.
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
 * What may be removed, in order: never used first, then the least recently used, then the first detected (upstream:
 * byLastUsedAndDetected).
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
 * Those unused for longer than `maxAgeMs`; none before the agent itself has run for that time, because earlier use is
 * unknown.
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

/** Images that are old enough to be removed for lack of space. */
export function selectRipe(candidates: readonly ImageRecord[], policy: ImageGcPolicy, nowMs: number): ImageRecord[] {
  return candidates.filter(({ firstSeenMs }) => nowMs - firstSeenMs >= policy.minAgeMs);
}

/**
 * How full a file system is in whole percent, and how much to free to reach the low mark; 0 while below the high mark.
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

/** The runtime or the operator pinned it. */
export function isPinned(image: Image, prefixes: readonly string[]): boolean {
  return image.pinned || image.repoTags.some((name) => prefixes.some((prefix) => name.startsWith(prefix)));
}

/** Runtimes without pinning do not report the image of their sandboxes, so an image called `pause` is never touched. */
export function isSandboxImage(image: Image): boolean {
  return [...image.repoTags, ...image.repoDigests].some((name) => /(^|\/)pause(-[a-z0-9_]+)?[:@]/.test(name));
}

function isAmong(image: Image, names: ReadonlySet<string>): boolean {
  return [image.id, ...image.repoTags, ...image.repoDigests].some((name) => names.has(name));
}

/** Each name as given and with the registry spelled out, as runtimes list it. */
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
