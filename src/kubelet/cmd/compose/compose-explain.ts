import { claimNames, configMapNames, secretNames } from '../../../api/pod-references.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { CureObjects } from '../../features/explain/compute-cures.ts';
import type { ClusterKind, ClusterKinds } from '../../ports/cluster-objects.ts';
import type { ApiOutage } from '../../ports/cluster-api.ts';
import type { ApiClusterObjects } from '../../features/cluster-objects/api-cluster-objects.ts';
import type { Knowledge } from './compose-context.ts';
import type { World } from './world.ts';

/** What cures may be worked out from: manifests, or what is known of the cluster without asking it. */
export function cureObjects({ clusterObjects, localObjects }: Pick<Knowledge, 'clusterObjects' | 'localObjects'>): {
  objects: CureObjects;
  inCluster: boolean;
} {
  if (clusterObjects === undefined) return { objects: localObjects, inCluster: false };
  return { objects: knownObjects(clusterObjects), inCluster: true };
}

function knownObjects(objects: ApiClusterObjects): CureObjects {
  return {
    get: <Kind extends ClusterKind>(kind: Kind, namespace: string, name: string): ClusterKinds[Kind] | undefined => {
      const found = objects.peek(kind, namespace, name);
      return found.known ? found.object : undefined;
    },
    list: () => [],
    isUnknown: (kind, namespace, name) => !objects.peek(kind, namespace, name).known,
  };
}

/** The outage of the API server, if the pod waits for something that only it could tell. `waitsForVolumes`: one of its volumes is not ready. */
export function outageFor(
  pod: Pod,
  { clusterObjects }: Pick<Knowledge, 'clusterObjects'>,
  { cluster }: Pick<World, 'cluster'>,
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
