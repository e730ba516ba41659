import type { ApiClusterObjects } from '../features/cluster-objects/api-cluster-objects.ts';
import type { PodCredentials } from '../features/pod-credentials/create-pod-credentials.ts';
import type { PodStore } from '../features/pod-store/pod-store.ts';
import type { ServiceAccountTokens } from '../features/tokens/service-account-tokens.ts';
import { podUid } from '../model/ids.ts';
import type { KnownPods } from './housekeeping.ts';

interface CleanUpObjectsParts {
  readonly store: Pick<PodStore, 'pods' | 'byUid'>;
  /** Undefined on a standalone node. */
  readonly clusterObjects: Pick<ApiClusterObjects, 'retain'> | undefined;
  readonly tokens: Pick<ServiceAccountTokens, 'retain'>;
  readonly podCredentials: { readonly certificates?: Pick<NonNullable<PodCredentials['certificates']>, 'retain'> };
}

/** Drops the objects that no wanted pod uses. Drops tokens and certificates only if the pod also has no worker. */
export function cleanUpObjects(known: KnownPods, parts: CleanUpObjectsParts): void {
  const { store, clusterObjects, tokens, podCredentials } = parts;
  clusterObjects?.retain(store.pods());
  const isKnown = {
    has: (uid: string): boolean => known.has(podUid(uid)) || store.byUid(podUid(uid)) !== undefined,
  };
  tokens.retain(isKnown);
  podCredentials.certificates?.retain(isKnown);
}
