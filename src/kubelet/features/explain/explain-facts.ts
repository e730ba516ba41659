import { claimNames, configMapNames, secretNames } from '../../../api/pod-references.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { SuggestionObjects } from './compute-suggestions.ts';
import type { ClusterKind, ClusterKinds } from '../../ports/cluster-objects.ts';
import type { ApiOutage, ClusterApi } from '../../ports/cluster-api.ts';

/** Reads the known objects of the cluster without a request. */
export interface KnownObjects {
  peek<Kind extends ClusterKind>(
    kind: Kind,
    namespace: string,
    name: string,
  ): { known: true; object: ClusterKinds[Kind] | undefined } | { known: false };
}

/** The sources of objects: the manifests and, if there is one, the API server. */
export interface ObjectSources {
  readonly clusterObjects: KnownObjects | undefined;
  readonly localObjects: SuggestionObjects;
}

/**
 * Returns the objects for suggestions: those of manifests, or those of the cluster that are known without a request.
 */
export function suggestionObjects({ clusterObjects, localObjects }: ObjectSources): {
  objects: SuggestionObjects;
  inCluster: boolean;
} {
  if (clusterObjects === undefined) return { objects: localObjects, inCluster: false };
  return { objects: knownObjects(clusterObjects), inCluster: true };
}

function knownObjects(objects: KnownObjects): SuggestionObjects {
  return {
    get: <Kind extends ClusterKind>(kind: Kind, namespace: string, name: string): ClusterKinds[Kind] | undefined => {
      const found = objects.peek(kind, namespace, name);
      return found.known ? found.object : undefined;
    },
    list: () => [],
    isUnknown: (kind, namespace, name) => !objects.peek(kind, namespace, name).known,
  };
}

/**
 * Returns the outage of the API server, if the pod waits for something that only the API server can provide.
 * `waitsForVolumes` means that one of its volumes is not ready.
 */
export function outageFor(
  pod: Pod,
  { clusterObjects }: Pick<ObjectSources, 'clusterObjects'>,
  cluster: Pick<ClusterApi, 'outage'> | undefined,
  waitsForVolumes: boolean,
): ApiOutage | undefined {
  const outage = cluster?.outage?.();
  if (outage === undefined || clusterObjects === undefined) return undefined;
  const { namespace } = pod.metadata;
  const isUnknown = (kind: ClusterKind, names: ReadonlySet<string>): boolean =>
    [...names].some((name) => !clusterObjects.peek(kind, namespace, name).known);
  const wantsToken =
    waitsForVolumes &&
    (pod.spec.volumes ?? []).some(
      ({ projected }) =>
        projected?.sources.some(({ serviceAccountToken }) => serviceAccountToken !== undefined) === true,
    );
  return wantsToken ||
    isUnknown('Secret', secretNames(pod)) ||
    isUnknown('ConfigMap', configMapNames(pod)) ||
    isUnknown('PersistentVolumeClaim', claimNames(pod))
    ? outage
    : undefined;
}
