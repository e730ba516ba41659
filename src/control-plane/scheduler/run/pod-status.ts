import type { Patch } from '../../../api/client/api-client.ts';
import { findCondition, transitionTime } from '../../../api/conditions.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodCondition } from '../../../api/core/pod-status.ts';

/** What the scheduler wants a pod's status to say. */
export interface WantedStatus {
  readonly condition?: Pick<PodCondition, 'type' | 'status'> & { readonly reason: string; readonly message: string };
  /** '' for none any more; absent leaves it. */
  readonly nominatedNodeName?: string;
}

/** A later status replaces the fields of an earlier one that was not written yet. */
export const foldStatus = (earlier: WantedStatus, later: WantedStatus): WantedStatus => ({ ...earlier, ...later });

/**
 * The patch of the status subresource; undefined when the pod says so already, so that a pod that stays pending costs
 * no writes.
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
  // Naming the uid keeps the patch from a pod of the same name that came after.
  return { type: 'strategic', body: { metadata: { uid: pod.metadata.uid }, status } };
}

/** The time of transition is that of the status, not of the message (upstream: podutil.UpdatePodCondition). */
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

/** As long as an event's note may be. */
const NOTE_LIMIT = 1024;

export function truncateNote(message: string): string {
  const suffix = ' ...';
  return message.length <= NOTE_LIMIT
    ? message
    : `${message.slice(0, NOTE_LIMIT - suffix.length).toWellFormed()}${suffix}`;
}
