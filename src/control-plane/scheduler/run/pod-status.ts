import type { Patch } from '../../../api/client/api-client.ts';
import { findCondition, transitionTime } from '../../../api/conditions.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodCondition } from '../../../api/core/pod-status.ts';

/** The status fields that the scheduler sets on a pod. */
export interface WantedStatus {
  readonly condition?: Pick<PodCondition, 'type' | 'status'> & { readonly reason: string; readonly message: string };
  /** The nominated node. '' removes it; undefined does not change it. */
  readonly nominatedNodeName?: string;
}

/** Merges two status changes. The later one replaces the fields that it sets. */
export const foldStatus = (earlier: WantedStatus, later: WantedStatus): WantedStatus => ({ ...earlier, ...later });

/**
 * Computes the patch of the status subresource. Returns undefined if the status has the content already, so that a
 * pending pod causes no repeated writes.
 */
export function computeStatusPatch(
  pod: Pod,
  { condition, nominatedNodeName }: WantedStatus,
  nowMs: number,
): Patch | undefined {
  const changed = condition === undefined ? undefined : changedCondition(pod, condition, nowMs);
  const isRenominated = nominatedNodeName !== undefined && nominatedNodeName !== (pod.status?.nominatedNodeName ?? '');
  if (changed === undefined && !isRenominated) return undefined;
  const status = {
    ...(changed !== undefined && { conditions: [changed] }),
    ...(isRenominated && { nominatedNodeName: nominatedNodeName === '' ? null : nominatedNodeName }),
  };
  // With the UID, the patch cannot change another pod of the same name.
  return { type: 'strategic', body: { metadata: { uid: pod.metadata.uid }, status } };
}

/**
 * Returns the changed condition. The transition time changes only with the status, not with the message (upstream:
 * podutil.UpdatePodCondition).
 */
function changedCondition(
  { metadata, status }: Pod,
  wanted: NonNullable<WantedStatus['condition']>,
  nowMs: number,
): PodCondition | undefined {
  const known = findCondition(status?.conditions, wanted.type);
  const isSame =
    known !== undefined &&
    known.status === wanted.status &&
    known.reason === wanted.reason &&
    known.message === wanted.message;
  if (isSame && known.observedGeneration === metadata.generation) return undefined;
  return {
    ...wanted,
    lastTransitionTime: transitionTime(known, wanted.status, nowMs),
    ...(metadata.generation !== undefined && { observedGeneration: metadata.generation }),
  };
}

/** The maximum length of an event's note. */
const NOTE_LIMIT = 1024;

export function truncateNote(message: string): string {
  const suffix = ' ...';
  return message.length <= NOTE_LIMIT
    ? message
    : `${message.slice(0, NOTE_LIMIT - suffix.length).toWellFormed()}${suffix}`;
}
