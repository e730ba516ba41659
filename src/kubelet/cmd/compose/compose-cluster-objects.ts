import { KubeletError } from '../../../base/errors.ts';
import { ObjectStore } from '../../features/pod-config/object-store.ts';
import type { PodObjects } from '../../ports/cluster-objects.ts';
import type { TokenSource } from '../../ports/tokens.ts';
import type { Knowledge } from './compose-context.ts';
import type { World } from './world.ts';

/** Without an API server nobody gives them out (upstream's words in standalone mode). */
const noTokens: TokenSource = {
  request: () => Promise.reject(new KubeletError('Unavailable', 'cannot use TokenManager when kubelet is in standalone mode')),
};

/** Manifests are at hand all the time. */
const noPodObjects: PodObjects = { registerPod: () => undefined, unregisterPod: () => undefined };

/** Where features look up what is beside pods. */
export function composeClusterObjects({ log }: World): Pick<Knowledge, 'objects' | 'localObjects' | 'tokens' | 'podObjects'> {
  const localObjects = new ObjectStore(log);
  return { objects: localObjects, localObjects, tokens: noTokens, podObjects: noPodObjects };
}
