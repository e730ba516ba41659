import type { PodObjects } from '../../ports/cluster-objects.ts';
import type { ApiClusterObjectsOptions } from './api-cluster-objects.ts';
import { ApiClusterObjects } from './api-cluster-objects.ts';
import { KeptObjects } from './kept-objects.ts';

export interface CreateClusterObjectsParts extends Omit<ApiClusterObjectsOptions, 'client' | 'kept'> {
  /** The API client; undefined on a standalone node. */
  readonly client: ApiClusterObjectsOptions['client'] | undefined;
  /** The store that keeps objects across a restart of the agent; undefined keeps them in memory only. */
  readonly kept: KeptObjects | undefined;
  /** Called when nothing of this pod is left on the node. */
  readonly onUnregistered: (podUid: string) => void;
}

/** The registration on a standalone node. Manifests contain their objects, so nothing is read. */
const noPodObjects: PodObjects = { registerPod: () => undefined, unregisterPod: () => undefined };

/** Creates the reader of API objects and the registration of the pods that need them. */
export function createClusterObjects({ client, kept, onUnregistered, ...options }: CreateClusterObjectsParts): {
  clusterObjects: ApiClusterObjects | undefined;
  podObjects: PodObjects;
} {
  if (client === undefined) return { clusterObjects: undefined, podObjects: noPodObjects };
  const memory = { put: () => undefined, drop: () => undefined };
  const clusterObjects = new ApiClusterObjects({ ...options, client, kept: kept ?? new KeptObjects(memory) });
  return {
    clusterObjects,
    podObjects: {
      registerPod: (pod) => clusterObjects.registerPod(pod),
      unregisterPod: (pod) => {
        clusterObjects.unregisterPod(pod);
        onUnregistered(pod.metadata.uid);
      },
    },
  };
}
