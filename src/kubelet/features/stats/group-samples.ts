import type { GroupLimits, GroupStats, GroupUse, StatsDepth } from '../../ports/stats.ts';

/** A group at one moment, with its rate since an earlier moment. */
export interface GroupSample {
  readonly use: GroupUse;
  readonly limits: GroupLimits;
  /** The rate; undefined until there were two samples with enough time between them. */
  readonly usageNanoCores: number | undefined;
  readonly createdAtMs: number | undefined;
}

interface Kept {
  readonly latest: GroupUse;
  readonly depth: StatsDepth;
  /** The sample from which the rate is computed. */
  readonly base: GroupUse | undefined;
  readonly usageNanoCores: number | undefined;
  readonly limits: GroupLimits;
  readonly limitsAtMs: number;
  readonly createdAtMs: number | undefined;
}

/** The depths. Each one includes those before it. */
const depths: readonly StatsDepth[] = ['cpuAndMemory', 'summary', 'all'];
/**
 * The minimum time between two samples for a rate. Over a shorter time, one scheduler time slice more or less would
 * dominate it.
 */
const SHORTEST_RATE_MS = 1000;
/** The maximum age of limits, which change only when a pod is resized. */
const LIMITS_AGE_MS = 20_000;

export interface Rate {
  readonly base: GroupUse;
  readonly usageNanoCores: number | undefined;
}

/** Computes the rate after another sample. A counter that decreased belongs to a new group with the same name. */
export function nextRate(
  before: { base: GroupUse | undefined; usageNanoCores: number | undefined } | undefined,
  now: GroupUse,
): Rate {
  const base = before?.base;
  if (before === undefined || base === undefined || now.cpu.usageNs < base.cpu.usageNs || now.atMs < base.atMs)
    return { base: now, usageNanoCores: undefined };
  const elapsedMs = now.atMs - base.atMs;
  if (elapsedMs < SHORTEST_RATE_MS) return { base, usageNanoCores: before.usageNanoCores };
  return { base: now, usageNanoCores: Math.round(((now.cpu.usageNs - base.cpu.usageNs) / elapsedMs) * 1000) };
}

/** Stores the last sample of each group. A recent sample serves all requests. */
export class GroupSamples {
  readonly #groups: GroupStats;
  readonly #nowMs: () => number;
  readonly #kept = new Map<string, Kept>();

  constructor(groups: GroupStats, nowMs: () => number) {
    this.#groups = groups;
    this.#nowMs = nowMs;
  }

  /** Returns a sample; undefined when the group was removed. */
  look(path: string, depth: StatsDepth, maxAgeMs: number): GroupSample | undefined {
    const kept = this.#kept.get(path);
    const nowMs = this.#nowMs();
    const isFresh =
      kept !== undefined &&
      Math.abs(nowMs - kept.latest.atMs) < maxAgeMs &&
      depths.indexOf(kept.depth) >= depths.indexOf(depth);
    if (isFresh) return sampleOf(kept);
    const latest = this.#groups.use(path, depth);
    if (latest === undefined) {
      this.#kept.delete(path);
      return undefined;
    }
    const limits =
      kept !== undefined && Math.abs(nowMs - kept.limitsAtMs) < LIMITS_AGE_MS
        ? kept
        : { limits: this.#groups.limits(path), limitsAtMs: nowMs };
    if (limits.limits === undefined) return undefined;
    const createdAtMs = kept?.createdAtMs ?? this.#groups.createdAtMs(path);
    const next = {
      latest,
      depth,
      ...nextRate(kept, latest),
      limits: limits.limits,
      limitsAtMs: limits.limitsAtMs,
      createdAtMs,
    };
    this.#kept.set(path, next);
    return sampleOf(next);
  }

  /** Drops all other groups. */
  retain(paths: Pick<ReadonlySet<string>, 'has'>): void {
    for (const path of this.#kept.keys()) if (!paths.has(path)) this.#kept.delete(path);
  }
}

function sampleOf({ latest, usageNanoCores, limits, createdAtMs }: Kept): GroupSample {
  return { use: latest, usageNanoCores, limits, createdAtMs };
}
