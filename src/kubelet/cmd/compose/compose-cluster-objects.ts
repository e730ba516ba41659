import { KubeletError } from '../../../base/errors.ts';
import { ApiClusterObjects } from '../../features/cluster-objects/api-cluster-objects.ts';
import { KeptObjects } from '../../features/cluster-objects/kept-objects.ts';
import { ObjectStore } from '../../features/pod-config/object-store.ts';
import { ApiTokens } from '../../features/tokens/api-tokens.ts';
import { ServiceAccountTokens } from '../../features/tokens/service-account-tokens.ts';
import type { PodObjects } from '../../ports/cluster-objects.ts';
import type { TokenSource } from '../../ports/tokens.ts';
import type { Knowledge } from './compose-context.ts';
import type { Records } from './compose-records.ts';
import type { ComposeSettings } from './compose-settings.ts';
import type { World } from './world.ts';

/** Without an API server nobody gives them out (upstream's words in standalone mode). */
const noTokens: TokenSource = {
  request: () =>
    Promise.reject(new KubeletError('Unavailable', 'cannot use TokenManager when kubelet is in standalone mode')),
};

/** Manifests are at hand all the time. */
const noPodObjects: PodObjects = { registerPod: () => undefined, unregisterPod: () => undefined };

/** Where features look up what is beside pods. */
export function composeClusterObjects(
  { config }: Pick<ComposeSettings, 'config'>,
  world: World,
  { kept }: Pick<Records, 'kept'>,
): Pick<Knowledge, 'objects' | 'localObjects' | 'clusterObjects' | 'tokens' | 'podObjects'> {
  const { cluster, clock, random, log } = world;
  const localObjects = new ObjectStore(log);
  if (cluster === undefined)
    return {
      objects: localObjects,
      localObjects,
      clusterObjects: undefined,
      tokens: new ServiceAccountTokens({ source: noTokens, clock, random, log }),
      podObjects: noPodObjects,
    };
  const client = cluster.objects;
  const nowhere = { put: () => undefined, drop: () => undefined };
  const tokens = new ServiceAccountTokens({ source: new ApiTokens(client), clock, random, log, ...kept?.tokens });
  const clusterObjects = new ApiClusterObjects({
    client,
    strategy: config.sources.objectChangeDetection,
    kept: kept?.objects ?? new KeptObjects(nowhere),
    clock,
    random,
    log,
  });
  const podObjects: PodObjects = {
    registerPod: (pod) => clusterObjects.registerPod(pod),
    unregisterPod: (pod) => {
      clusterObjects.unregisterPod(pod);
      tokens.forget(pod.metadata.uid);
    },
  };
  return { objects: clusterObjects, localObjects, clusterObjects, tokens, podObjects };
}
