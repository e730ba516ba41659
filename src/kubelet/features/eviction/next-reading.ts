import type { EvictionSignal, Observation, Observations, SignalSource } from './signals.ts';
import { signalFacts } from './signals.ts';
import type { Threshold } from './thresholds.ts';
import { amountOf } from './thresholds.ts';

/** The longest pause (upstream: monitoringInterval). */
export const LONGEST_PAUSE_MS = 10_000;
/** The maximum delay until a crossing is noticed, if consumption stays below the assumed rate. */
export const SHORTEST_PAUSE_MS = 100;
/** The pause while a threshold is met. Reading more often has no benefit, because the eviction itself takes longer. */
const MET_PAUSE_MS = 1000;

/** The fastest consumption that is expected without having been observed: units per millisecond. */
const assumedPerMs: Readonly<Record<string, number>> = {
  // Two processors touch new pages at about 1 GB/s, and the disks of nodes write at a similar rate.
  memory: 1e6,
  'ephemeral-storage': 1e6,
  // These are files created and processes forked on one machine.
  inodes: 100,
  pids: 20,
};
/** The factor by which consumption may grow before the next reading. */
const RATE_MARGIN = 2;

/** Returns how fast a signal falls, in units per millisecond; 0 when it rises or was read only once. */
export function fallingPerMs(before: Observation | undefined, now: Observation): number {
  if (before === undefined || now.atMs <= before.atMs) return 0;
  return Math.max(0, (before.available - now.available) / (now.atMs - before.atMs));
}

/**
 * Returns how long the source may be left unread, in milliseconds: until the nearest threshold could be crossed at the
 * assumed rate, or at a multiple of the observed one. The pauses shrink in proportion to the distance, so a consumer
 * below the assumed rate crosses no threshold unnoticed for more than the shortest pause.
 */
export function computePauseMs(
  source: SignalSource,
  thresholds: readonly Threshold[],
  observations: Observations,
  ratePerMs: ReadonlyMap<EvictionSignal, number>,
): number {
  let pauseMs = LONGEST_PAUSE_MS;
  for (const { signal, value } of thresholds) {
    const { source: from, resource } = signalFacts[signal];
    const observed = observations.get(signal);
    if (from !== source || observed === undefined) continue;
    const distance = observed.available - amountOf(value, observed.capacity);
    if (distance < 0) {
      pauseMs = Math.min(pauseMs, MET_PAUSE_MS);
      continue;
    }
    const perMs = Math.max(assumedPerMs[resource] ?? 1, RATE_MARGIN * (ratePerMs.get(signal) ?? 0));
    pauseMs = Math.min(pauseMs, distance / perMs);
  }
  return Math.max(SHORTEST_PAUSE_MS, pauseMs);
}
