import type { ApiClient } from '../../../api/client/api-client.ts';
import type { ApiObject, ObjectKey, ResourceType } from '../../../api/client/resource-type.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import { fromApi, isAnswer } from './api-failure.ts';
import { withoutManagedFields } from '../../../api/client/reflector.ts';

/**
 * Reads an object from the API server. Returns undefined if it does not exist. Rejects with a KubeletError: Unavailable
 * if there was no answer.
 */
export async function readObject<T extends ApiObject>(
  client: ApiClient,
  type: ResourceType<T>,
  key: ObjectKey,
): Promise<T | undefined> {
  try {
    return withoutManagedFields(await client.get(type, key));
  } catch (error) {
    if (isApiError(error, 'NotFound')) return undefined;
    throw fromApi(error, `get ${type.plural}`);
  }
}

/** Reads an object from the API server, or returns the cached object if there is no answer. */
export async function readOrKept<T extends ApiObject>(
  asked: { client: ApiClient; type: ResourceType<T>; key: ObjectKey },
  kept: () => T | undefined,
): Promise<T | undefined> {
  try {
    return await readObject(asked.client, asked.type, asked.key);
  } catch (error) {
    const left = isAnswer((error as Error).cause) ? undefined : kept();
    if (left !== undefined) return left;
    throw error;
  }
}
