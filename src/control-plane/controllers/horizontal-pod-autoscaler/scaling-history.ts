/** What an autoscaler remembers between passes. It is lost on a restart, as upstream's is. */
export interface ScalingHistory {
  /** Numbers of pods that metrics asked for, before any limit. */
  readonly recommendations: readonly Recommendation[];
  /** Pods that were added, and pods that were removed. */
  readonly added: readonly ScaleChange[];
  readonly removed: readonly ScaleChange[];
}

export interface Recommendation {
  readonly replicas: number;
  readonly atMs: number;
}

export interface ScaleChange {
  /** How many pods; not negative. */
  readonly pods: number;
  readonly atMs: number;
}

/** At first, what there is counts as recommended. */
export function firstHistory(currentReplicas: number, nowMs: number): ScalingHistory {
  return { recommendations: [{ replicas: currentReplicas, atMs: nowMs }], added: [], removed: [] };
}

/** With one more recommendation, and without those that are older than `keptMs`. */
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

/** With a change of the number of pods, and without those that no policy can look back to. */
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

/** Pods by which the number changed in the last `periodMs`. */
export function changeWithin(changes: readonly ScaleChange[], periodMs: number, nowMs: number): number {
  return changes.reduce((sum, { pods, atMs }) => (atMs > nowMs - periodMs ? sum + pods : sum), 0);
}
