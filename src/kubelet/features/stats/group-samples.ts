import type { GroupLimits, GroupStats, GroupUse, StatsDepth } from '../../ports/stats.ts';

/** A group at one moment, with its rate since a moment before. */
export interface GroupSample {
  use: GroupUse;
  limits: GroupLimits;
  /** undefined until there were two looks far enough apart. */
  usageNanoCores: number | undefined;
  createdAtMs: number | undefined;
}

interface Kept {
  latest: GroupUse;
  depth: StatsDepth;
  /** What the rate is counted from. */
  base: GroupUse | undefined;
  usageNanoCores: number | undefined;
  limits: GroupLimits;
  limitsAtMs: number;
  createdAtMs: number | undefined;
}

/** Between looks closer together than this the rate is noise: a scheduler's turn more or less. */
const SHORTEST_RATE_MS = 1000;
/** Limits change only when somebody resizes a pod. */
const LIMITS_AGE_MS = 20_000;

export interface Rate {
  base: GroupUse;
  usageNanoCores: number | undefined;
}

/** The rate after a further look. A counter that went backwards is that of a new group under an old name. */
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

/** The last look at each group. A look that is new enough serves everybody who asks. */
export class GroupSamples {
  readonly #groups: GroupStats;
  readonly #nowMs: () => number;
  readonly #kept = new Map<string, Kept>();

  constructor(groups: GroupStats, nowMs: () => number) {
    this.#groups = groups;
    this.#nowMs = nowMs;
  }

  /** undefined when the group is gone. */
  look(path: string, depth: StatsDepth, maxAgeMs: number): GroupSample | undefined {
    const kept = this.#kept.get(path);
    const nowMs = this.#nowMs();
    const isFresh =
      kept !== undefined &&
      Math.abs(nowMs - kept.latest.atMs) < maxAgeMs &&
      (kept.depth === 'all' || depth === 'cpuAndMemory');
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

  /** Forgets all others. */
  retain(paths: Pick<ReadonlySet<string>, 'has'>): void {
    for (const path of this.#kept.keys()) if (!paths.has(path)) this.#kept.delete(path);
  }
}

function sampleOf({ latest, usageNanoCores, limits, createdAtMs }: Kept): GroupSample {
  return { use: latest, usageNanoCores, limits, createdAtMs };
}
