import type { ApiClient } from '../../api/client/api-client.ts';
import { keyOf } from '../../api/client/resource-type.ts';
import { pods } from '../../api/client/resource-types.ts';
import { findCondition, transitionTime } from '../../api/conditions.ts';
import type { Pod } from '../../api/core/pod.ts';
import type { PodCondition } from '../../api/core/pod-status.ts';
import { DISRUPTION_TARGET } from '../../api/reasons.ts';
import { isApiError } from '../../api/status/api-status-error.ts';

/** The condition that shows other controllers (such as a Job's failure policy) that the pod was disrupted. */
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

/** Marks a pod as disrupted and deletes it. One that is gone or was replaced is left alone. */
export async function deleteDisrupted(
  client: ApiClient,
  pod: Pod,
  said: { readonly reason: string; readonly message: string },
  nowMs: number,
): Promise<void> {
  try {
    await patchPodStatus(client, pod, { conditions: [disruptionCondition(pod, said, nowMs)] });
    await client.delete(pods, keyOf(pod), { preconditions: { uid: pod.metadata.uid } });
  } catch (error) {
    if (!isApiError(error, 'NotFound', 'Conflict')) throw error;
  }
}

/** Writes these status fields of the pod with this uid; Conflict for another pod with the same name. */
export async function patchPodStatus(client: ApiClient, pod: Pod, status: object): Promise<Pod> {
  return client.patch(
    pods,
    keyOf(pod),
    { type: 'strategic', body: { metadata: { uid: pod.metadata.uid }, status } },
    { subresource: 'status' },
  );
}
