import type { ApiClient } from '../../api/client/api-client.ts';
import { keyOf } from '../../api/client/resource-type.ts';
import { pods } from '../../api/client/resource-types.ts';
import { findCondition, transitionTime } from '../../api/conditions.ts';
import type { Pod } from '../../api/core/pod.ts';
import type { PodCondition } from '../../api/core/pod-status.ts';
import { DISRUPTION_TARGET } from '../../api/reasons.ts';

/** The condition by which others (such as a Job's failure policy) see that the pod was disrupted. */
export function disruptionCondition(
  { metadata, status }: Pod,
  said: { readonly reason: string; readonly message: string },
  nowMs: number,
): PodCondition {
  const lastTransitionTime = transitionTime(findCondition(status?.conditions, DISRUPTION_TARGET), 'True', nowMs);
  return {
    type: DISRUPTION_TARGET,
    ...(metadata.generation !== undefined && { observedGeneration: metadata.generation }),
    status: 'True',
    lastTransitionTime,
    ...said,
  };
}

/** Writes these fields of the status into exactly this pod; another one of its name is refused with Conflict. */
export async function patchPodStatus(client: ApiClient, pod: Pod, status: object): Promise<Pod> {
  return client.patch(
    pods,
    keyOf(pod),
    { type: 'strategic', body: { metadata: { uid: pod.metadata.uid }, status } },
    { subresource: 'status' },
  );
}
