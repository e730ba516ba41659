import type { PodInfo } from '../framework/pod-info.ts';

/** A pod that needs a node. Only the queue replaces it, as a value. */
export interface QueuedPod {
  readonly info: PodInfo;
  /** Monotonic, of the last attempt or of the first sight: among equals the longest waiting goes first. */
  readonly queuedAtMs: number;
  readonly attempts: number;
  /** Attempts in which it fitted nowhere. */
  readonly rejections: number;
  /** Attempts in a row that something else went wrong with. */
  readonly errors: number;
  /** The plugins that rejected it last: their hints say which events may help. */
  readonly rejectors: ReadonlySet<string>;
  /** Monotonic; in the past when it need not wait. */
  readonly backoffUntilMs: number;
}

/** Whether the first goes before the second. */
export type PodOrder = (left: QueuedPod, right: QueuedPod) => boolean;

/** PrioritySort: the more important first, then the longer waiting. */
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
 * Back-offs end together, a second at a time, so that the important of them can go first (upstream:
 * backoffQOrderingWindowDuration).
 */
const WINDOW_MS = 1000;
const alignDown = (ms: number): number => Math.floor(ms / WINDOW_MS) * WINDOW_MS;

/**
 * 1 s after the first failure, 2 s after the second, at most 10 s by default; the count of errors restarts after each
 * rejection.
 */
export function computeBackoffUntil(
  { queuedAtMs, rejections, errors }: Pick<QueuedPod, 'queuedAtMs' | 'rejections' | 'errors'>,
  limits: BackoffLimits,
): number {
  const failures = errors > 0 ? errors : rejections;
  if (failures === 0) return -Infinity;
  // The exponent is kept where powers of two are exact and finite.
  const durationMs = Math.min(limits.maxBackoffMs, limits.initialBackoffMs * 2 ** Math.min(failures - 1, 30));
  return alignDown(queuedAtMs + durationMs);
}

export const isBackingOff = ({ backoffUntilMs }: QueuedPod, nowMs: number): boolean =>
  backoffUntilMs >= alignDown(nowMs);

/** When `isBackingOff` will first say no. */
export const backoffOverAt = ({ backoffUntilMs }: QueuedPod): number => backoffUntilMs + WINDOW_MS;
