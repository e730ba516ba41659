import type { Pod } from '../../../api/core/pod.ts';
import type { PodStatus } from '../../../api/core/pod-status.ts';
import { podQos } from '../../../api/qos.ts';
import { podReasons } from '../../../api/reasons.ts';
import type { PodVerdict } from './standing.ts';

/** A pod that was turned away never had containers: nothing is said of them (upstream: kubelet.go rejectPod). */
export function rejectedStatus(pod: Pod, { reason, message }: PodVerdict): PodStatus {
  return {
    phase: 'Failed',
    qosClass: podQos(pod),
    reason,
    message,
    ...(pod.metadata.generation === undefined ? {} : { observedGeneration: pod.metadata.generation }),
  };
}

/** The status with what admission has to add; a hold that is over leaves nothing behind. */
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

/** Nothing of a held pod is being created, and people look at the containers first. */
function withoutContainers({
  containerStatuses: _regular,
  initContainerStatuses: _init,
  ephemeralContainerStatuses: _ephemeral,
  ...rest
}: PodStatus): PodStatus {
  return rest;
}
