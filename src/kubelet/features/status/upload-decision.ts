import type { PodStatus } from '../../../api/core/pod-status.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isDeleted, isMirrorPod, isTerminalPhase, isTerminalPod } from '../../../api/pod.ts';
import { computeStatusPatch, mergeStatus } from './status-patch.ts';

/** The last status of a pod that was sent to the API server. */
export interface Sent {
  /** The UID of the object that received it. A mirror pod may be deleted and recreated while its pod keeps running. */
  readonly objectUid: string;
  readonly version: number;
  /** The resulting status in the API server. It is undefined when the status was rejected permanently. */
  readonly answered: PodStatus | undefined;
  /** The patch as text. */
  readonly patch: string;
}

export interface UploadFacts {
  /** The newest known version of the pod in the API, which for a static pod is its mirror pod. */
  readonly pod: Pod;
  readonly own: PodStatus;
  /** Increases with each change of `own`; 0 for a status of an earlier run of the agent. */
  readonly version: number;
  readonly sent: Sent | undefined;
  /** Whether all resources that the pod used on the node were released. */
  readonly isReleased: boolean;
  /** The time since a status was last restored because other clients had changed it; undefined for never. */
  readonly reconciledAgoMs: number | undefined;
}

export type Upload =
  | { kind: 'nothing' }
  | { kind: 'patch'; patch: { metadata: { uid: string }; status: Record<string, unknown> }; reconciles: boolean }
  | { kind: 'later'; inMs: number }
  /** Deletes the object, which was waiting for the end of the pod. */
  | { kind: 'delete' };

/**
 * The minimum interval for restoring the agent's part of a status after other clients changed it. Upstream compares
 * every 10 s.
 */
const RECONCILE_MS = 10_000;

/**
 * Decides what to send to the API server for a pod now (upstream: status_manager.go syncPod, needsReconcile,
 * canBeDeleted).
 */
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
  // result.
  const answered = sent?.answered ?? {};
  const isItsOwn =
    computeStatusPatch(pod.metadata.uid, status, mergeStatus(status, answered)) === undefined &&
    textOf(patch) === sent?.patch;
  if (isItsOwn) return { kind: 'nothing' };
  const waitMs = RECONCILE_MS - (facts.reconciledAgoMs ?? RECONCILE_MS);
  return waitMs > 0 ? { kind: 'later', inMs: waitMs } : { kind: 'patch', patch, reconciles: true };
}

/**
 * Returns the status that provides other clients' parts. Only for a mirror pod, the end in the API is not final: the
 * agent alone writes its status, and the static pod runs again when a shutdown of the node is cancelled.
 */
function baseOf(pod: Pod, own: PodStatus): PodStatus {
  const { phase, conditions, ...rest } = pod.status ?? {};
  if (!isMirrorPod(pod) || !isTerminalPhase(phase) || isTerminalPhase(own.phase)) return pod.status ?? {};
  return { ...rest, conditions: conditions?.filter(({ type }) => type !== 'DisruptionTarget') };
}

export function textOf(patch: { status: Record<string, unknown> }): string {
  return JSON.stringify(patch.status);
}
