import { createClusterObjects } from '../../features/cluster-objects/create-cluster-objects.ts';
import { ManifestObjects } from '../../features/pod-config/manifest-objects.ts';
import { createTokens } from '../../features/tokens/create-tokens.ts';
import type { KnownParts } from './kubelet-parts.ts';
import type { Records } from './compose-records.ts';
import type { ComposeSettings } from './compose-settings.ts';
import type { Platform } from './platform.ts';

/** Where features look up objects beside pods, and the tokens of pods. */
export function composeClusterObjects(
  { config }: Pick<ComposeSettings, 'config'>,
  { cluster, clock, random, log }: Platform,
  { kept }: Pick<Records, 'kept'>,
): Pick<KnownParts, 'objects' | 'localObjects' | 'clusterObjects' | 'tokens' | 'podObjects'> {
  const localObjects = new ManifestObjects(log);
  const tokens = createTokens({ client: cluster?.objects, kept: kept?.tokens, clock, random, log });
  const { clusterObjects, podObjects } = createClusterObjects({
    client: cluster?.objects,
    strategy: config.sources.objectChangeDetection,
    kept: kept?.objects,
    onUnregistered: (uid) => tokens.forget(uid),
    clock,
    random,
    log,
  });
  return { objects: clusterObjects ?? localObjects, localObjects, clusterObjects, tokens, podObjects };
}
