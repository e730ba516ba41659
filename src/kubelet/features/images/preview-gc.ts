import type { ImageGcReport, ImageVerdict } from '../../model/image-gc-report.ts';
import type { Image } from '../../ports/images.ts';
import type { ImageGcPolicy, ImageRecord } from './gc-select.ts';
import { computeNeed, selectOld, selectRipe } from './gc-select.ts';

export interface PreviewFacts {
  readonly mountpoint: string;
  readonly usage: { capacityBytes: number; availableBytes: number };
  readonly policy: ImageGcPolicy;
  /** The images in the order of removal. */
  readonly candidates: readonly ImageRecord[];
  /** The images that stay, each with the reason. */
  readonly kept: readonly { image: Image; why: string }[];
  /** The current monotonic time. All times are monotonic. */
  readonly nowMs: number;
  readonly startedMs: number;
}

/** Computes what a pass of image garbage collection would do now. */
export function computeGcPreview(facts: PreviewFacts): ImageGcReport {
  const { mountpoint, usage, policy, candidates, kept, nowMs, startedMs } = facts;
  const isOff = policy.highPercent === 100 && policy.maxAgeMs === 0;
  const { usedPercent, bytesToFree } = computeNeed(usage, policy);
  const old = new Set(isOff ? [] : selectOld(candidates, policy, nowMs, startedMs));
  const ripe = new Set(
    selectRipe(
      candidates.filter((candidate) => !old.has(candidate)),
      policy,
      nowMs,
    ),
  );
  let leftBytes = isOff ? 0 : bytesToFree;
  const judge = (candidate: ImageRecord): ImageVerdict => {
    const { image } = candidate;
    if (old.has(candidate)) return verdictOf(image, 'remove', 'unused for longer than imageMaximumGCAge');
    if (!ripe.has(candidate)) return verdictOf(image, 'unused', 'younger than imageMinimumGCAge');
    if (leftBytes <= 0) return verdictOf(image, 'unused', 'no space is needed');
    leftBytes -= image.sizeBytes;
    return verdictOf(image, 'remove', 'the disk is above imageGCHighThresholdPercent');
  };
  return {
    mountpoint,
    ...usage,
    usedPercent,
    highPercent: policy.highPercent,
    lowPercent: policy.lowPercent,
    bytesToFree: isOff ? 0 : bytesToFree,
    images: [...candidates.map(judge), ...kept.map(({ image, why }) => verdictOf(image, 'kept', why))],
  };
}

function verdictOf(image: Image, verdict: ImageVerdict['verdict'], why: string): ImageVerdict {
  const name = image.repoTags[0] ?? image.repoDigests[0] ?? image.id;
  return { name, id: image.id, sizeBytes: image.sizeBytes, verdict, why };
}
