import type { PodCondition } from '../../../api/core/pod-status.ts';

/** The admission state of a pod. */
export type AdmissionState =
  | { kind: 'admitted' }
  | { kind: 'rejected'; reason: string; message: string }
  /** `by` is the name of the step. Times are wall-clock milliseconds. */
  | { kind: 'held'; by: string; why: string; sinceMs: number; nextTryAtMs?: number };

/** What admission reports in a pod's status. */
export type PodVerdict =
  | { kind: 'rejected' | 'held'; reason: string; message: string }
  | { kind: 'preempted'; reason: string; message: string; condition: PodCondition };

const REJECTED = 'Pod was rejected: ';

export const rejectionMessage = (message: string): string => `${REJECTED}${message}`;

/** Whether a saved status of an earlier run says that the pod was rejected, and not that it ran and failed. */
export function reportsRejection(status: { phase?: string; message?: string } | undefined): boolean {
  return status?.phase === 'Failed' && status.message?.startsWith(REJECTED) === true;
}
