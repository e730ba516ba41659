/** The history of an autoscaler. As in upstream, a restart loses it. */
export interface ScalingHistory {
  /** Proposals of the metrics before limits. */
  readonly recommendations: readonly Recommendation[];
  /** The numbers of added and of removed pods. */
  readonly added: readonly ScaleChange[];
  readonly removed: readonly ScaleChange[];
}

export interface Recommendation {
  readonly replicas: number;
  readonly atMs: number;
}

export interface ScaleChange {
  /** The number of pods; not negative. */
  readonly pods: number;
  readonly atMs: number;
}

/** Starts a history. The initial number of pods counts as a recommendation. */
export function firstHistory(currentReplicas: number, nowMs: number): ScalingHistory {
  return { recommendations: [{ replicas: currentReplicas, atMs: nowMs }], added: [], removed: [] };
}

/** Adds a recommendation, and drops those that are older than `keptMs`. */
export function withRecommendation(
  history: ScalingHistory,
  recommendation: Recommendation,
  keptMs: number,
): ScalingHistory {
  const cutoffMs = recommendation.atMs - keptMs;
  return {
    ...history,
    recommendations: [...history.recommendations.filter(({ atMs }) => atMs >= cutoffMs), recommendation],
  };
}

/** Adds a change of the number of pods, and drops those older than any policy's period. */
export function withScaleChange(
  history: ScalingHistory,
  { from, to, atMs }: { readonly from: number; readonly to: number; readonly atMs: number },
  keptMs: number,
): ScalingHistory {
  const kept = (changes: readonly ScaleChange[]): ScaleChange[] =>
    changes.filter((change) => change.atMs > atMs - keptMs);
  const change = { pods: Math.abs(to - from), atMs };
  return {
    ...history,
    added: [...kept(history.added), ...(to > from ? [change] : [])],
    removed: [...kept(history.removed), ...(to < from ? [change] : [])],
  };
}

/** Returns by how many pods the number changed in the last `periodMs`. */
export function changeWithin(changes: readonly ScaleChange[], periodMs: number, nowMs: number): number {
  return changes.reduce((sum, { pods, atMs }) => (atMs > nowMs - periodMs ? sum + pods : sum), 0);
}
