import type { PodStatus } from '../../../api/core/pod-status.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isDeleted, isMirrorPod, isTerminalPhase, isTerminalPod } from '../../../api/pod.ts';
import { computeStatusPatch, mergeStatus } from './status-patch.ts';

/** The last status of a pod that was sent to the API server. */
export interface Sent {
  /** The object it was sent to: a mirror pod may be deleted and recreated while its pod keeps running. */
  readonly objectUid: string;
  readonly version: number;
  /** The result in the API server; undefined when it was rejected permanently. */
  readonly answered: PodStatus | undefined;
  /** The patch, as text. */
  readonly patch: string;
}

export interface UploadFacts {
  /** The pod in the API, for a static pod its mirror pod; in the newest known version. */
  readonly pod: Pod;
  readonly own: PodStatus;
  /** Increases with each change of `own`; 0 for a status of an earlier run of the agent. */
  readonly version: number;
  readonly sent: Sent | undefined;
  /** Everything the pod held on the node was released. */
  readonly isReleased: boolean;
  /** How long ago a status was last sent again because others had changed it; undefined for never. */
  readonly reconciledAgoMs: number | undefined;
}

export type Upload =
  | { kind: 'nothing' }
  | { kind: 'patch'; patch: { metadata: { uid: string }; status: Record<string, unknown> }; reconciles: boolean }
  | { kind: 'later'; inMs: number }
  /** Of the object, which was waiting for the end of the pod. */
  | { kind: 'delete' };

/**
 * When other clients change the agent's part of a status, it is restored at most this often (upstream compares every 10
 * s).
 */
const RECONCILE_MS = 10_000;

/** What to send to the API server for a pod now (upstream: status_manager.go syncPod, needsReconcile, canBeDeleted). */
export function computeUpload(facts: UploadFacts): Upload {
  const { pod, own, version, isReleased } = facts;
  const sent = facts.sent?.objectUid === pod.metadata.uid ? facts.sent : undefined;
  if (version === 0) return { kind: 'nothing' };
  const status = pod.status ?? {};
  const patch = computeStatusPatch(pod.metadata.uid, status, mergeStatus(baseOf(pod, own), own));
  const isSent = sent?.version === version;
  const isRefused = isSent && sent.answered === undefined;
  if (patch !== undefined && !isSent) return { kind: 'patch', patch, reconciles: false };
  if (isReleased && isDeleted(pod) && !isMirrorPod(pod) && (isTerminalPod(pod) || isRefused)) return { kind: 'delete' };
  if (patch === undefined || isRefused) return { kind: 'nothing' };
  // A status that the API server itself changed is not sent again. A patch of an outdated version leaves a different
  // remainder.
  const answered = sent?.answered ?? {};
  const isItsOwn =
    computeStatusPatch(pod.metadata.uid, status, mergeStatus(status, answered)) === undefined &&
    textOf(patch) === sent?.patch;
  if (isItsOwn) return { kind: 'nothing' };
  const waitMs = RECONCILE_MS - (facts.reconciledAgoMs ?? RECONCILE_MS);
  return waitMs > 0 ? { kind: 'later', inMs: waitMs } : { kind: 'patch', patch, reconciles: true };
}

/**
 * What other clients' parts are taken from. A static pod that a shutdown of the node ended runs again when the shutdown
 * is cancelled: only there does the end in the API not stand, because the agent alone writes the status of a mirror.
 */
function baseOf(pod: Pod, own: PodStatus): PodStatus {
  const { phase, conditions, ...rest } = pod.status ?? {};
  if (!isMirrorPod(pod) || !isTerminalPhase(phase) || isTerminalPhase(own.phase)) return pod.status ?? {};
  return { ...rest, conditions: conditions?.filter(({ type }) => type !== 'DisruptionTarget') };
}

export function textOf(patch: { status: Record<string, unknown> }): string {
  return JSON.stringify(patch.status);
}
