import type { EvictionSignal, Observations, PressureCondition } from './signals.ts';
import { pressureConditions, signalFacts } from './signals.ts';
import type { Threshold } from './thresholds.ts';
import { isMet, thresholdKey } from './thresholds.ts';

/** The state between two readings. Times are monotonic. */
export interface PressureState {
  /** The thresholds that are met, with the time since when. Those past their grace period are acted on. */
  readonly firstMetMs: ReadonlyMap<string, number>;
  /** When each condition was last true. */
  readonly lastTrueMs: ReadonlyMap<PressureCondition, number>;
  /** The keys of the thresholds that were met and past their grace period. They end only with the minimum reclaim. */
  readonly acting: ReadonlySet<string>;
  /** The time of the reading of each signal that was acted on last. */
  readonly actedOnMs: ReadonlyMap<EvictionSignal, number>;
}

export const noPressureYet: PressureState = {
  firstMetMs: new Map(),
  lastTrueMs: new Map(),
  acting: new Set(),
  actedOnMs: new Map(),
};

export interface PressureSettings {
  readonly thresholds: readonly Threshold[];
  /** The time that a condition stays true after it was last observed. */
  readonly transitionMs: number;
}

export interface PressureVerdict {
  readonly state: PressureState;
  /** The conditions, sorted by name. */
  readonly conditions: readonly PressureCondition[];
  /**
   * The thresholds that are met, past their grace period and read since they were last acted on. Memory comes first.
   */
  readonly toReclaim: readonly Threshold[];
  /** The thresholds that are met, whether or not their grace period is over. */
  readonly met: readonly Threshold[];
}

/**
 * Evaluates the newest readings (upstream: eviction_manager.go synchronize). A signal that was never read meets no
 * threshold.
 */
export function nextPressure(
  before: PressureState,
  observations: Observations,
  { thresholds, transitionMs }: PressureSettings,
  nowMs: number,
): PressureVerdict {
  const met = thresholds.filter((threshold) => {
    const observed = observations.get(threshold.signal);
    return observed !== undefined && isMet(threshold, observed, before.acting.has(thresholdKey(threshold)));
  });
  const firstMetMs = new Map(
    met.map((threshold) => {
      const key = thresholdKey(threshold);
      return [key, before.firstMetMs.get(key) ?? nowMs];
    }),
  );
  const lastTrueMs = new Map(before.lastTrueMs);
  for (const { signal } of met) lastTrueMs.set(signalFacts[signal].condition, nowMs);
  for (const [condition, atMs] of lastTrueMs)
    if (atMs < nowMs && nowMs - atMs >= transitionMs) lastTrueMs.delete(condition);
  const ripe = met.filter(
    (threshold) => nowMs - (firstMetMs.get(thresholdKey(threshold)) ?? nowMs) >= threshold.graceMs,
  );
  const toReclaim = ripe
    .filter(({ signal }) => isNews(before, observations, signal))
    .toSorted((left, right) => rankOf(left) - rankOf(right));
  const state: PressureState = {
    firstMetMs,
    lastTrueMs,
    acting: new Set(ripe.map(thresholdKey)),
    actedOnMs: before.actedOnMs,
  };
  return { state, conditions: pressureConditions.filter((each) => lastTrueMs.has(each)), toReclaim, met };
}

/** Returns the state after these readings were acted on, so that they are not acted on again. */
export function afterActing(state: PressureState, observations: Observations): PressureState {
  return { ...state, actedOnMs: new Map([...observations].map(([signal, { atMs }]) => [signal, atMs])) };
}

/**
 * Returns when something changes next without a new reading, after `nowMs`: a grace period or a transition period ends.
 * It is monotonic.
 */
export function nextChangeMs(
  { firstMetMs, lastTrueMs }: PressureState,
  { thresholds, transitionMs }: PressureSettings,
  nowMs: number,
): number | undefined {
  const times = [
    ...[...lastTrueMs.values()].map((atMs) => atMs + transitionMs),
    ...thresholds.map((threshold) => (firstMetMs.get(thresholdKey(threshold)) ?? -Infinity) + threshold.graceMs),
  ].filter((atMs) => atMs > nowMs);
  return times.length === 0 ? undefined : Math.min(...times);
}

function isNews({ actedOnMs }: PressureState, observations: Observations, signal: EvictionSignal): boolean {
  return (observations.get(signal)?.atMs ?? -1) > (actedOnMs.get(signal) ?? -1);
}

/** Memory cannot wait: the kernel kills when it runs out (upstream: byEvictionPriority). */
function rankOf({ signal }: Threshold): number {
  return signalFacts[signal].resource === 'memory' ? 0 : 1;
}
