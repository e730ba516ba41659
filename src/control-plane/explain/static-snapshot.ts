import { noLabels } from '../scheduler/framework/label-matcher.ts';
import { isTerminalPod } from '../../api/pod.ts';
import type { ClusterObjects, Snapshot } from '../scheduler/framework/snapshot.ts';
import { SchedulerCache } from '../scheduler/cache/scheduler-cache.ts';
import { useOfClaims } from '../scheduler/devices/device-use.ts';
import { extendedClaimOwner } from '../scheduler/devices/extended-claim.ts';
import { extendedResourcesOf } from '../scheduler/devices/extended-resources.ts';
import { poolsOfSlices } from '../scheduler/devices/slice-index.ts';
import type { ClusterView } from './cluster-view.ts';

/** A cluster view as a snapshot for the scheduler's plugins. */
export function snapshotOf(view: ClusterView): Snapshot {
  const cache = new SchedulerCache(objectsOf(view));
  for (const node of view.nodes) cache.setNode(node);
  for (const pod of view.pods) {
    const isOver = isTerminalPod(pod);
    if ((pod.spec.nodeName ?? '') !== '' && !isOver) cache.setPod(pod);
    else if ((pod.status?.nominatedNodeName ?? '') !== '' && !isOver) cache.nominator.nominate(pod, undefined);
  }
  return cache;
}

function objectsOf(view: ClusterView): ClusterObjects {
  const claims = new Map(view.claims.map((claim) => [`${claim.metadata.namespace}/${claim.metadata.name}`, claim]));
  const volumes = new Map(view.volumes.map((volume) => [volume.metadata.name, volume]));
  const classes = new Map(view.storageClasses.map((each) => [each.metadata.name, each]));
  const csiNodes = new Map(view.csiNodes.map((each) => [each.metadata.name, each]));
  const namespaces = new Map(view.namespaces.map(({ metadata }) => [metadata.name, metadata.labels ?? noLabels]));
  const resourceClaims = new Map(
    view.resourceClaims.map((claim) => [`${claim.metadata.namespace}/${claim.metadata.name}`, claim]),
  );
  const inUse = useOfClaims(view.resourceClaims);
  const extended = extendedResourcesOf(view.deviceClasses);
  const pools = poolsOfSlices(view.resourceSlices);
  return {
    claim: (namespace, name) => claims.get(`${namespace}/${name}`),
    volume: (name) => volumes.get(name),
    volumes: () => view.volumes,
    storageClass: (name) => classes.get(name),
    csiNode: (nodeName) => csiNodes.get(nodeName),
    csiDriver: (name) => view.csiDrivers.find(({ metadata }) => metadata.name === name),
    storageCapacities: () => view.storageCapacities,
    volumeAttachments: () => view.attachments,
    namespaces: () => [...namespaces].map(([name, labels]) => ({ name, labels })),
    namespaceLabels: (name) => namespaces.get(name),
    services: (namespace) => view.services.filter(({ metadata }) => metadata.namespace === namespace),
    replicaSet: (namespace, name) =>
      view.replicaSets.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
    podDisruptionBudgets: () => view.budgets,
    resourceClaim: (namespace, name) => resourceClaims.get(`${namespace}/${name}`),
    devicesInUse: () => inUse,
    devicePools: () => pools,
    extendedResources: () => extended,
    extendedClaim: (podUid) => view.resourceClaims.find((claim) => extendedClaimOwner(claim) === podUid),
    deviceClass: (name) => view.deviceClasses.find(({ metadata }) => metadata.name === name),
  };
}
