import type { PodStatus } from '../../../api/core/pod-status.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isDeleted, isMirrorPod, isTerminalPhase } from '../../../api/pod.ts';
import { computeStatusPatch, mergeStatus } from './status-patch.ts';

/** What the API server was told last of a pod. */
export interface Told {
  /** The object it was told of: a mirror pod may be deleted and made anew while its pod runs on. */
  objectUid: string;
  version: number;
  /** What it made of it; undefined when it refused it for good. */
  answered: PodStatus | undefined;
  /** The patch, as text. */
  patch: string;
}

export interface UploadFacts {
  /** The pod in the API, a mirror pod for a static one; as it is known there now. */
  pod: Pod;
  own: PodStatus;
  /** Grows with each change of `own`; 0 for a status of an earlier run of the agent. */
  version: number;
  told: Told | undefined;
  /** Nothing the pod held is left on the node. */
  isReleased: boolean;
  /** How long ago a status was told again that others had changed; undefined for never. */
  reconciledAgoMs: number | undefined;
}

export type Upload =
  | { kind: 'nothing' }
  | { kind: 'patch'; patch: { metadata: { uid: string }; status: Record<string, unknown> }; reconciles: boolean }
  | { kind: 'later'; inMs: number }
  /** Of the object, which has been waiting for the end of the pod. */
  | { kind: 'delete' };

/** Others that change what is the agent's to say are not quarrelled with more often than this (upstream compares every 10 s). */
const RECONCILE_MS = 10_000;

/** What the API server is to be told of a pod now (upstream: status_manager.go syncPod, needsReconcile, canBeDeleted). */
export function computeUpload(facts: UploadFacts): Upload {
  const { pod, own, version, isReleased } = facts;
  const told = facts.told?.objectUid === pod.metadata.uid ? facts.told : undefined;
  if (version === 0) return { kind: 'nothing' };
  const status = pod.status ?? {};
  const patch = computeStatusPatch(pod.metadata.uid, status, mergeStatus(status, own));
  const isTold = told?.version === version;
  const isRefused = isTold && told.answered === undefined;
  if (patch !== undefined && !isTold) return { kind: 'patch', patch, reconciles: false };
  if (isReleased && isDeleted(pod) && !isMirrorPod(pod) && (isTerminalPhase(pod) || isRefused))
    return { kind: 'delete' };
  if (patch === undefined || isRefused) return { kind: 'nothing' };
  // What the API server itself made of what it was told is not to be told again. A patch of a version that was old by then leaves another rest.
  const answered = told?.answered ?? {};
  const isItsOwn =
    computeStatusPatch(pod.metadata.uid, status, mergeStatus(status, answered)) === undefined &&
    textOf(patch) === told?.patch;
  if (isItsOwn) return { kind: 'nothing' };
  const waitMs = RECONCILE_MS - (facts.reconciledAgoMs ?? RECONCILE_MS);
  return waitMs > 0 ? { kind: 'later', inMs: waitMs } : { kind: 'patch', patch, reconciles: true };
}

export function textOf(patch: { status: Record<string, unknown> }): string {
  return JSON.stringify(patch.status);
}
