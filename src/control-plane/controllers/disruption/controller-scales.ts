import type { Deployment } from '../../../api/apps/deployment.ts';
import type { ReplicaSet } from '../../../api/apps/replica-set.ts';
import type { StatefulSet } from '../../../api/apps/stateful-set.ts';
import type { Informer } from '../../../api/client/informer.ts';
import { apiVersionOf } from '../../../api/client/resource-type.ts';
import type { ResourceType } from '../../../api/client/resource-type.ts';
import type { OwnerReference } from '../../../api/core/meta.ts';
import type { ReplicationController } from '../../../api/core/replication-controller.ts';
import { formatGroupResource } from '../../../api/status/api-status-error.ts';
import { controllerRefOf } from '../../controller-runtime/controller-ref.ts';

export interface ScaleSources {
  readonly deployments: Informer<Deployment>;
  readonly replicaSets: Informer<ReplicaSet>;
  readonly statefulSets: Informer<StatefulSet>;
  readonly replicationControllers: Informer<ReplicationController>;
  /** All kinds. They distinguish a kind without a scale from an unknown kind. */
  readonly types: readonly ResourceType[];
}

export type ExpectedScale =
  | { readonly kind: 'known'; readonly scale: number }
  /** The controller with this uid does not exist. */
  | { readonly kind: 'missing'; readonly uid: string }
  /** The reason, in upstream's words. */
  | { readonly kind: 'unknown'; readonly why: string };

interface Scale {
  readonly uid: string;
  readonly replicas: number;
}

/** Returns the total scale of the pods' controllers. Each controller counts once (upstream: getExpectedScale). */
export function expectedScale(
  namespace: string,
  owners: Iterable<OwnerReference>,
  sources: ScaleSources,
): ExpectedScale {
  const scales = new Map<string, number>();
  for (const owner of owners) {
    const found = scaleOf(owner, namespace, sources);
    if (typeof found === 'string') return { kind: 'unknown', why: found };
    if (found === undefined) return { kind: 'missing', uid: owner.uid };
    scales.set(found.uid, found.replicas);
  }
  return { kind: 'known', scale: [...scales.values()].reduce((sum, each) => sum + each, 0) };
}

/** Returns the scale of one controller, an error text, or undefined if the controller does not exist. */
function scaleOf(
  { apiVersion, kind, name, uid }: OwnerReference,
  namespace: string,
  { deployments, replicaSets, statefulSets, replicationControllers, types }: ScaleSources,
): Scale | string | undefined {
  if (groupOf(apiVersion) === 'apps' && kind === 'ReplicaSet') {
    const set = replicaSets.get({ namespace, name });
    if (set?.metadata.uid !== uid) return undefined;
    const above = controllerRefOf(set);
    const deployment =
      above?.kind === 'Deployment' && groupOf(above.apiVersion) === 'apps'
        ? deployments.get({ namespace, name: above.name })
        : undefined;
    return deployment !== undefined && deployment.metadata.uid === above?.uid ? scaleIn(deployment) : scaleIn(set);
  }
  if (groupOf(apiVersion) === 'apps' && kind === 'Deployment') {
    const deployment = deployments.get({ namespace, name });
    return deployment?.metadata.uid === uid ? scaleIn(deployment) : undefined;
  }
  if (groupOf(apiVersion) === 'apps' && kind === 'StatefulSet') {
    const set = statefulSets.get({ namespace, name });
    return set?.metadata.uid === uid ? scaleIn(set) : undefined;
  }
  if (apiVersion === 'v1' && kind === 'ReplicationController') {
    const controller = replicationControllers.get({ namespace, name });
    return controller?.metadata.uid === uid ? scaleIn(controller) : undefined;
  }
  const type = types.find((each) => apiVersionOf(each) === apiVersion && each.kind === kind);
  if (type === undefined) return `no matches for kind "${kind}" in version "${apiVersion}"`;
  return `${formatGroupResource(type)} does not implement the scale subresource`;
}

const groupOf = (apiVersion: string): string =>
  apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
const scaleIn = ({ metadata, spec }: Deployment | ReplicaSet | StatefulSet | ReplicationController): Scale => ({
  uid: metadata.uid,
  replicas: spec.replicas ?? 1,
});
