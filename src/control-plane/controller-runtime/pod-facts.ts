import { findCondition, isConditionTrue } from '../../api/conditions.ts';
import type { Pod } from '../../api/core/pod.ts';
import { isTerminalPod } from '../../api/pod.ts';
import { parseTime } from '../../api/time.ts';

export function isPodReady({ status }: Pod): boolean {
  return isConditionTrue(status?.conditions, 'Ready');
}

/** Wall time since when it is ready; undefined if it is not ready or the time is unknown. */
export function readySinceMs(pod: Pod): number | undefined {
  return isPodReady(pod) ? parseTime(findCondition(pod.status?.conditions, 'Ready')?.lastTransitionTime) : undefined;
}

/** Ready for at least `minReadySeconds` (upstream: podutil.IsPodAvailable). */
export function isPodAvailable(pod: Pod, minReadySeconds: number, nowMs: number): boolean {
  if (!isPodReady(pod)) return false;
  if (minReadySeconds === 0) return true;
  const sinceMs = readySinceMs(pod);
  return sinceMs !== undefined && sinceMs + minReadySeconds * 1000 <= nowMs;
}

/** Milliseconds until the next ready pod becomes available. */
export function nextAvailableMs(pods: readonly Pod[], minReadySeconds: number, nowMs: number): number | undefined {
  let next: number | undefined;
  for (const pod of pods) {
    const sinceMs = minReadySeconds > 0 ? readySinceMs(pod) : undefined;
    if (sinceMs === undefined) continue;
    const leftMs = sinceMs + minReadySeconds * 1000 - nowMs;
    if (leftMs > 0 && (next === undefined || leftMs < next)) next = leftMs;
  }
  return next;
}

/** Active: neither ended nor terminating. */
export function isPodActive(pod: Pod): boolean {
  return !isTerminalPod(pod) && pod.metadata.deletionTimestamp === undefined;
}

/** Terminating and not ended yet. */
export function isPodTerminating(pod: Pod): boolean {
  return !isTerminalPod(pod) && pod.metadata.deletionTimestamp !== undefined;
}
