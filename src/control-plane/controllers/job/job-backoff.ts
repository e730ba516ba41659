import { backoffDelayMs } from '../../../base/backoff.ts';
import type { BackoffCurve } from '../../../base/backoff.ts';
import type { ContainerStatus } from '../../../api/core/pod-status.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isRestartableInit } from '../../../api/pod.ts';
import { parseTime } from '../../../api/time.ts';

/** The back-off after failures (upstream: DefaultJobPodFailureBackOff, MaxJobPodFailureBackOff). */
const curve: BackoffCurve = { initialMs: 10_000, maxMs: 600_000, factor: 2 };

/**
 * The number of consecutive failures, and the wall time of the last one. It is only in memory: after a restart the next
 * pod is created immediately.
 */
export interface FailureRecord {
  readonly failures: number;
  readonly lastMs: number;
}

/** Updates the record after pods have ended: a success resets it, and only later failures count. */
export function nextFailureRecord(
  record: FailureRecord | undefined,
  succeeded: readonly Pod[],
  failed: readonly Pod[],
): FailureRecord | undefined {
  if (succeeded.length === 0 && failed.length === 0) return record;
  const lastSuccessMs = Math.max(-Infinity, ...succeeded.map(finishedAtMs));
  const counting = failed.map(finishedAtMs).filter((atMs) => atMs > lastSuccessMs);
  const before = succeeded.length === 0 ? (record?.failures ?? 0) : 0;
  return counting.length === 0 && before === 0
    ? undefined
    : {
        failures: before + counting.length,
        lastMs: Math.max(...counting, succeeded.length === 0 ? (record?.lastMs ?? -Infinity) : -Infinity),
      };
}

/** Returns the remaining back-off before the next pod; 0 means now. */
export function failureWaitMs(record: FailureRecord | undefined, nowMs: number): number {
  return record === undefined || record.failures === 0
    ? 0
    : Math.max(0, record.lastMs + backoffDelayMs(curve, record.failures) - nowMs);
}

/**
 * Returns when the pod ended: from its containers, its readiness, its deletion, or else its creation time (upstream:
 * getFinishedTime).
 */
export function finishedAtMs(pod: Pod): number {
  const { metadata, status } = pod;
  const unready = status?.conditions?.find(({ type, status: value }) => type === 'Ready' && value === 'False');
  const deletedMs = parseTime(metadata.deletionTimestamp);
  const deletedAtMs =
    deletedMs === undefined ? undefined : deletedMs - (metadata.deletionGracePeriodSeconds ?? 0) * 1000;
  return (
    containersFinishedMs(pod) ??
    parseTime(unready?.lastTransitionTime) ??
    deletedAtMs ??
    parseTime(metadata.creationTimestamp) ??
    0
  );
}

function containersFinishedMs({ spec, status }: Pod): number | undefined {
  const sidecars = new Set((spec.initContainers ?? []).filter(isRestartableInit).map(({ name }) => name));
  const relevant: ContainerStatus[] = [
    ...(status?.containerStatuses ?? []),
    ...(status?.initContainerStatuses ?? []).filter(({ name }) => sidecars.has(name)),
  ];
  const times = relevant.map(({ state }) => parseTime(state?.terminated?.finishedAt));
  return times.length === 0 || times.includes(undefined) ? undefined : Math.max(...times.map((time) => time ?? 0));
}
