import { goQuote } from '../../../api/go-quote.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { PodUid } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import type { ClusterObjects } from '../../ports/cluster-objects.ts';
import type { RuntimeHandlers } from './interfaces.ts';

/**
 * Resolves the runtime handler of a pod's RuntimeClass (upstream: runtimeclass_manager.go LookupRuntimeHandler).
 * `refusal` says why a pod may not have a sandbox of its class.
 */
export function createRuntimeHandlers(
  objects: Pick<ClusterObjects, 'get'>,
  refusal: (uid: PodUid) => string | undefined,
): RuntimeHandlers {
  return {
    lookup: async (pod) => {
      const name = pod.spec.runtimeClassName ?? '';
      if (name === '') return '';
      const found = await objects.get('RuntimeClass', '', name);
      if (found === undefined)
        throw new KubeletError('NotFound', `runtimeclass.node.k8s.io ${goQuote(name)} not found`);
      const why = refusal(podUid(pod.metadata.uid));
      if (why !== undefined) throw new KubeletError('Invalid', why);
      return found.handler;
    },
  };
}
