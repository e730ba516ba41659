import type { ControllerRevision } from '../../api/apps/controller-revision.ts';
import type { ApiClient } from '../../api/client/api-client.ts';
import { keyOf } from '../../api/client/resource-type.ts';
import { controllerRevisions } from '../../api/client/resource-types.ts';
import { isApiError } from '../../api/status/api-status-error.ts';

/** Deletes the revision with this uid; a missing or recreated one is success. */
export async function deleteRevision(client: ApiClient, { metadata }: ControllerRevision): Promise<void> {
  try {
    await client.delete(controllerRevisions, keyOf({ metadata }), { preconditions: { uid: metadata.uid } });
  } catch (error) {
    if (!isApiError(error, 'NotFound', 'Conflict')) throw error;
  }
}
