import type { Pod } from '../../../api/core/pod.ts';
import type { PodStatus } from '../../../api/core/pod-status.ts';
import { podQos } from '../../../api/qos.ts';
import { podReasons } from '../../../api/reasons.ts';
import type { PodVerdict } from './admission-state.ts';

/**
 * Builds the status of a rejected pod. It lists no containers, because none existed (upstream: kubelet.go rejectPod).
 */
export function rejectedStatus(pod: Pod, { reason, message }: PodVerdict): PodStatus {
  return {
    phase: 'Failed',
    qosClass: podQos(pod),
    reason,
    message,
    ...(pod.metadata.generation === undefined ? {} : { observedGeneration: pod.metadata.generation }),
  };
}

/** Adds the result of admission to the status. A hold that has ended is not mentioned. */
export function withVerdict(status: PodStatus, verdict: PodVerdict | undefined): PodStatus {
  const own = status.reason === podReasons.admissionHeld ? withoutReason(status) : status;
  if (verdict?.kind === 'held')
    return status.phase === 'Pending'
      ? { ...withoutContainers(own), reason: verdict.reason, message: verdict.message }
      : own;
  if (verdict?.kind !== 'preempted') return own;
  const conditions = (status.conditions ?? []).filter((condition) => condition.type !== verdict.condition.type);
  const said = status.phase === 'Failed' ? { reason: verdict.reason, message: verdict.message } : {};
  return { ...own, ...said, conditions: [verdict.condition, ...conditions] };
}

function withoutReason({ reason: _reason, message: _message, ...rest }: PodStatus): PodStatus {
  return rest;
}

/**
 * Removes the container states of a held pod. Users read them first, and would believe that containers are being
 * created.
 */
function withoutContainers({
  containerStatuses: _regular,
  initContainerStatuses: _init,
  ephemeralContainerStatuses: _ephemeral,
  ...rest
}: PodStatus): PodStatus {
  return rest;
}
