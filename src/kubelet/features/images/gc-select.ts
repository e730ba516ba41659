import { parseImageName } from '../../../api/image-name.ts';
import type { Image } from '../../ports/images.ts';

/** What is remembered of an image between passes. Monotonic ms. */
export interface ImageRecord {
  image: Image;
  firstSeenMs: number;
  /** When a container of it was last seen; undefined if never since the agent started. */
  lastUsedMs: number | undefined;
}

export interface ImageGcPolicy {
  highPercent: number;
  lowPercent: number;
  minAgeMs: number;
  /** 0: age alone collects nothing. */
  maxAgeMs: number;
}

/** Ids, references and names of images that must stay, in any spelling. */
export interface KeptImages {
  inUse: ReadonlySet<string>;
  leased: ReadonlySet<string>;
  sandboxImages: readonly string[];
}

/** The records after another look at the node: new images are new, what is used was used now, what is gone is forgotten. */
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

/** What may be removed, in order: never used first, then the least recently used, then the one seen first (upstream: byLastUsedAndDetected). */
export function selectCandidates(records: ReadonlyMap<string, ImageRecord>, kept: KeptImages): ImageRecord[] {
  const stays = spellings([...kept.inUse, ...kept.leased, ...kept.sandboxImages]);
  const used = ({ lastUsedMs = Number.NEGATIVE_INFINITY }: ImageRecord): number => lastUsedMs;
  return [...records.values()]
    .filter(({ image }) => !image.pinned && !isSandboxImage(image) && !isAmong(image, stays))
    .sort((left, right) => {
      if (used(left) !== used(right)) return used(left) < used(right) ? -1 : 1;
      return left.firstSeenMs - right.firstSeenMs || (left.image.id < right.image.id ? -1 : 1);
    });
}

/** Those unused for longer than `maxAgeMs`; none before the agent itself has run for so long, because it does not know what was used before. */
export function selectOld(
  candidates: readonly ImageRecord[],
  policy: ImageGcPolicy,
  nowMs: number,
  startedMs: number,
): ImageRecord[] {
  if (policy.maxAgeMs === 0 || nowMs - startedMs <= policy.maxAgeMs) return [];
  return candidates.filter(({ lastUsedMs }) => nowMs - (lastUsedMs ?? Number.NEGATIVE_INFINITY) > policy.maxAgeMs);
}

/** Those not too young to be taken for want of space. */
export function selectRipe(candidates: readonly ImageRecord[], policy: ImageGcPolicy, nowMs: number): ImageRecord[] {
  return candidates.filter(({ firstSeenMs }) => nowMs - firstSeenMs >= policy.minAgeMs);
}

/** How full a file system is in whole percent, and how much to free to come down to the low mark; 0 while below the high mark. */
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

/** Runtimes before pinning do not say which image their sandboxes are made of, so an image called `pause` is never touched. */
function isSandboxImage(image: Image): boolean {
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
