import type { ApiClient } from '../../../api/client/api-client.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import { pods } from '../../../api/client/resource-types.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import { hasTrackingFinalizer, TRACKING_FINALIZER } from './job-facts.ts';

/**
 * Takes the job's finalizer off a pod; what is gone, or is another one by now, needs none. With `onlyUnchanged` it
 * rejects with Conflict when the pod is not what it was: one that is not to be counted may have ended in the meantime,
 * and then has to be.
 */
export async function freePod(
  client: ApiClient,
  pod: Pod,
  { onlyUnchanged }: { readonly onlyUnchanged: boolean },
): Promise<void> {
  if (!hasTrackingFinalizer(pod)) return;
  const { uid, resourceVersion } = pod.metadata;
  const metadata = {
    uid,
    ...(onlyUnchanged && { resourceVersion }),
    '$deleteFromPrimitiveList/finalizers': [TRACKING_FINALIZER],
  };
  try {
    await client.patch(pods, keyOf(pod), { type: 'strategic', body: { metadata } });
  } catch (error) {
    if (!isApiError(error, 'NotFound') && (onlyUnchanged || !isApiError(error, 'Conflict'))) throw error;
  }
}
