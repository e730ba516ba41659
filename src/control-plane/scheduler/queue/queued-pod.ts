import type { PodInfo } from '../framework/pod-info.ts';

/** A pod that waits for a node. It is immutable; only the queue replaces it. */
export interface QueuedPod {
  readonly info: PodInfo;
  /**
   * The monotonic time when the pod was added or last attempted. Among pods of the same priority, the longest waiting
   * one goes first.
   */
  readonly queuedAtMs: number;
  readonly attempts: number;
  /** The number of attempts in which no node fitted. */
  readonly rejections: number;
  /** The number of consecutive attempts that failed for another reason. */
  readonly errors: number;
  /** The plugins that rejected the pod in its last attempt. Their hints decide which events may help. */
  readonly rejectors: ReadonlySet<string>;
  /** The monotonic time when the back-off ends. It is in the past if there is no back-off. */
  readonly backoffUntilMs: number;
}

/** Whether the left pod goes before the right one. */
export type PodOrder = (left: QueuedPod, right: QueuedPod) => boolean;

/** Implements PrioritySort: by priority, then by waiting time. */
export function goesBefore(left: QueuedPod, right: QueuedPod): boolean {
  return (
    left.info.priority > right.info.priority ||
    (left.info.priority === right.info.priority && left.queuedAtMs < right.queuedAtMs)
  );
}

export interface BackoffLimits {
  readonly initialBackoffMs: number;
  readonly maxBackoffMs: number;
}

/**
 * Back-offs end in windows of one second, so that within a window the pod of highest priority goes first (upstream:
 * backoffQOrderingWindowDuration).
 */
const WINDOW_MS = 1000;
const alignDown = (ms: number): number => Math.floor(ms / WINDOW_MS) * WINDOW_MS;

/**
 * Computes the end of the back-off: 1 s after the first failure, 2 s after the second, by default at most 10 s. A
 * rejection resets the count of errors.
 */
export function computeBackoffUntil(
  { queuedAtMs, rejections, errors }: Pick<QueuedPod, 'queuedAtMs' | 'rejections' | 'errors'>,
  limits: BackoffLimits,
): number {
  const failures = errors > 0 ? errors : rejections;
  if (failures === 0) return -Infinity;
  // The exponent is limited so that the power of two stays exact and finite.
  const durationMs = Math.min(limits.maxBackoffMs, limits.initialBackoffMs * 2 ** Math.min(failures - 1, 30));
  return alignDown(queuedAtMs + durationMs);
}

export const isBackingOff = ({ backoffUntilMs }: QueuedPod, nowMs: number): boolean =>
  backoffUntilMs >= alignDown(nowMs);

/** Returns the first time at which `isBackingOff` is false. */
export const backoffOverAt = ({ backoffUntilMs }: QueuedPod): number => backoffUntilMs + WINDOW_MS;
