import type { ApiClient } from '../../api/client/api-client.ts';
import { nodes, pods } from '../../api/client/resource-types.ts';
import { keyOf } from '../../api/client/resource-type.ts';
import { fieldEquals } from '../../api/selectors.ts';
import { ignoreApiNotFound } from '../../api/status/api-status-error.ts';

/**
 * Deletes nodes that this machine does not run any more, with their pods, so that the pods are created again on other
 * nodes. Their containers ended when `up` stopped. Without this the pods would wait for the eviction after five minutes,
 * and the deletion of a pod would wait for its node.
 */
export async function releaseNodes(api: Pick<ApiClient, 'delete' | 'list'>, names: readonly string[]): Promise<void> {
  for (const name of names) {
    // The node first: the scheduler gives it no more pods.
    await ignoreApiNotFound(api.delete(nodes, { namespace: '', name }));
    const { items } = await api.list(pods, '', { fieldSelector: fieldEquals('spec.nodeName', name) });
    for (const pod of items)
      await ignoreApiNotFound(
        api.delete(pods, keyOf(pod), { gracePeriodSeconds: 0, preconditions: { uid: pod.metadata.uid } }),
      );
  }
}
