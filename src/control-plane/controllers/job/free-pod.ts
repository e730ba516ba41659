import type { ApiClient } from '../../../api/client/api-client.ts';
import type { Informer } from '../../../api/client/informer.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import { pods } from '../../../api/client/resource-types.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import { hasTrackingFinalizer, TRACKING_FINALIZER } from './job-facts.ts';

/**
 * Removes the job's finalizer from a pod; a deleted or replaced pod is success. With `onlyUnchanged` it rejects with
 * Conflict if the pod changed: an uncounted pod may have ended in the meantime and must then be counted.
 */
async function freePod(
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

/** Removes finalizers from pods, and records those that the cache still shows, so that they are not removed twice. */
export class PodFreeing {
  readonly #client: ApiClient;
  readonly #pods: Informer<Pod>;
  /** The UIDs of pods whose finalizer is being or was removed, until the cache shows it. */
  readonly #freed = new Set<string>();

  constructor(client: ApiClient, informer: Informer<Pod>) {
    this.#client = client;
    this.#pods = informer;
  }

  /** Starts observing the cache. Returns the function that ends it. */
  observe(): () => void {
    return this.#pods.addHandlers({
      onUpdate: (before, after) => {
        if (!hasTrackingFinalizer(after)) this.#freed.delete(after.metadata.uid);
        if (before.metadata.uid !== after.metadata.uid) this.#freed.delete(before.metadata.uid);
      },
      onDelete: (last) => void this.#freed.delete(last.metadata.uid),
    });
  }

  has({ metadata }: Pod): boolean {
    return this.#freed.has(metadata.uid);
  }

  /** Returns a copy of the UIDs for which `has` is true. */
  get uids(): ReadonlySet<string> {
    return new Set(this.#freed);
  }

  /** Removes the finalizer of a pod. Rejects with the API's error; see `freePod`. */
  async free(pod: Pod, options: { readonly onlyUnchanged: boolean }): Promise<void> {
    const { uid } = pod.metadata;
    if (!hasTrackingFinalizer(pod)) return;
    this.#freed.add(uid);
    try {
      await freePod(this.#client, pod, options);
    } catch (error) {
      this.#freed.delete(uid);
      throw error;
    }
    const seen = this.#pods.get(keyOf(pod));
    if (seen?.metadata.uid !== uid || !hasTrackingFinalizer(seen)) this.#freed.delete(uid);
  }
}
