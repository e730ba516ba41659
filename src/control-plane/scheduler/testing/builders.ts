import { PodSchema } from '../../../api/core/pod.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { NodeSchema } from '../../../api/core/node.ts';
import type { Node } from '../../../api/core/node.ts';
import { decode, formatDecodeError } from '../../../api/schema/decode.ts';
import type { ReplicaSet } from '../../../api/apps/replica-set.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import type { Service } from '../../../api/core/service.ts';
import type { PodDisruptionBudget } from '../../../api/policy/pod-disruption-budget.ts';
import type { DeviceClass } from '../../../api/resource/device-class.ts';
import type { ResourceClaim } from '../../../api/resource/resource-claim.ts';
import type { ResourceSlice } from '../../../api/resource/resource-slice.ts';
import type { Labels } from '../../../api/label-requirement.ts';
import type { CSIDriver } from '../../../api/storage/csi-driver.ts';
import type { CSIStorageCapacity } from '../../../api/storage/csi-storage-capacity.ts';
import type { CSINode } from '../../../api/storage/csi-node.ts';
import type { StorageClass } from '../../../api/storage/storage-class.ts';
import type { VolumeAttachment } from '../../../api/storage/volume-attachment.ts';
import { seededRandom } from '../../../base/random.ts';
import { SchedulerCache } from '../cache/scheduler-cache.ts';
import { defaultSchedulerConfig, DEFAULT_SCHEDULER_NAME } from '../config/scheduler-config.ts';
import { schedulePod } from '../decide/schedule-pod.ts';
import type { Decision } from '../decide/schedule-pod.ts';
import { useOfClaims } from '../devices/device-use.ts';
import { extendedClaimOwner } from '../devices/extended-claim.ts';
import { extendedResourcesOf } from '../devices/extended-resources.ts';
import { poolsOfSlices } from '../devices/slice-index.ts';
import { podInfoOf } from '../framework/pod-info.ts';
import type { Profile } from '../framework/profile.ts';
import type { ClusterObjects } from '../framework/snapshot.ts';

type Fields = Readonly<Record<string, unknown>>;

export interface PodChanges {
  readonly namespace?: string;
  readonly uid?: string;
  readonly labels?: Labels;
  readonly requests?: Readonly<Record<string, string>>;
  readonly image?: string;
  readonly hostPorts?: readonly number[];
  readonly metadata?: Fields;
  readonly spec?: Fields;
  readonly status?: Fields;
}

/** Builds a pod of the default scheduler as the API server stores it. */
export function buildPod(name: string, changes: PodChanges = {}): Pod {
  const { namespace = 'default', uid = `uid-${name}`, labels, requests, image = 'app:1', hostPorts } = changes;
  const container = {
    name: 'main',
    image,
    ...(requests !== undefined && { resources: { requests } }),
    ...(hostPorts !== undefined && {
      ports: hostPorts.map((hostPort) => ({ containerPort: hostPort, hostPort, protocol: 'TCP' })),
    }),
  };
  return decoded(PodSchema, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, uid, ...(labels !== undefined && { labels }), ...changes.metadata },
    spec: { schedulerName: DEFAULT_SCHEDULER_NAME, containers: [container], ...changes.spec },
    status: { phase: 'Pending', ...changes.status },
  }) as Pod;
}

export interface NodeChanges {
  readonly labels?: Labels;
  readonly allocatable?: Readonly<Record<string, string>>;
  readonly taints?: readonly Fields[];
  readonly spec?: Fields;
  readonly status?: Fields;
}

/** Builds a node with 4 CPUs, 8 GiB and 110 pods. */
export function buildNode(name: string, changes: NodeChanges = {}): Node {
  return decoded(NodeSchema, {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      namespace: '',
      uid: `uid-${name}`,
      labels: { 'kubernetes.io/hostname': name, ...changes.labels },
    },
    spec: { ...(changes.taints !== undefined && { taints: changes.taints }), ...changes.spec },
    status: { allocatable: { cpu: '4', memory: '8Gi', pods: '110', ...changes.allocatable }, ...changes.status },
  }) as Node;
}

function decoded(schema: typeof PodSchema | typeof NodeSchema, plain: unknown): unknown {
  const { value, errors } = decode(schema, plain);
  if (errors.length > 0) throw new Error(errors.map(formatDecodeError).join('\n'));
  return value;
}

export const bound = (pod: Pod, nodeName: string): Pod => ({ ...pod, spec: { ...pod.spec, nodeName } });

export interface ObjectLists {
  readonly claims?: readonly PersistentVolumeClaim[];
  readonly volumes?: readonly PersistentVolume[];
  readonly storageClasses?: readonly StorageClass[];
  readonly csiNodes?: readonly CSINode[];
  readonly csiDrivers?: readonly CSIDriver[];
  readonly storageCapacities?: readonly CSIStorageCapacity[];
  readonly attachments?: readonly VolumeAttachment[];
  readonly namespaces?: readonly { readonly name: string; readonly labels: Labels }[];
  readonly services?: readonly Service[];
  readonly replicaSets?: readonly ReplicaSet[];
  readonly budgets?: readonly PodDisruptionBudget[];
  readonly resourceClaims?: readonly ResourceClaim[];
  readonly resourceSlices?: readonly ResourceSlice[];
  readonly deviceClasses?: readonly DeviceClass[];
}

/** Builds the objects other than pods and nodes from lists. */
function objectsOf(lists: ObjectLists = {}): ClusterObjects {
  const named = <T extends { metadata: { name: string; namespace: string } }>(
    list: readonly T[] | undefined,
    name: string,
    namespace?: string,
  ): T | undefined =>
    list?.find(
      ({ metadata }) => metadata.name === name && (namespace === undefined || metadata.namespace === namespace),
    );
  return {
    claim: (namespace, name) => named(lists.claims, name, namespace),
    volume: (name) => named(lists.volumes, name),
    volumes: () => lists.volumes ?? [],
    storageClass: (name) => named(lists.storageClasses, name),
    csiNode: (name) => named(lists.csiNodes, name),
    csiDriver: (name) => named(lists.csiDrivers, name),
    storageCapacities: () => lists.storageCapacities ?? [],
    volumeAttachments: () => lists.attachments ?? [],
    namespaces: () => lists.namespaces ?? [],
    namespaceLabels: (name) => lists.namespaces?.find((one) => one.name === name)?.labels,
    services: (namespace) => (lists.services ?? []).filter(({ metadata }) => metadata.namespace === namespace),
    replicaSet: (namespace, name) => named(lists.replicaSets, name, namespace),
    podDisruptionBudgets: () => lists.budgets ?? [],
    resourceClaim: (namespace, name) => named(lists.resourceClaims, name, namespace),
    devicesInUse: () => useOfClaims(lists.resourceClaims ?? []),
    devicePools: () => poolsOfSlices(lists.resourceSlices ?? []),
    extendedResources: () => extendedResourcesOf(lists.deviceClasses ?? []),
    extendedClaim: (podUid) => (lists.resourceClaims ?? []).find((claim) => extendedClaimOwner(claim) === podUid),
    deviceClass: (name) => named(lists.deviceClasses, name),
  };
}

export interface ClusterParts extends ObjectLists {
  readonly nodes: readonly Node[];
  /** The pods that are on their nodes already. */
  readonly pods?: readonly Pod[];
}

export function cacheOf({ nodes, pods = [], ...lists }: ClusterParts): SchedulerCache {
  const cache = new SchedulerCache(objectsOf(lists));
  for (const node of nodes) cache.setNode(node);
  for (const pod of pods) cache.setPod(pod);
  return cache;
}

export function defaultProfile(): Profile {
  const profile = defaultSchedulerConfig().profiles.get(DEFAULT_SCHEDULER_NAME);
  if (profile === undefined) throw new Error('no default profile');
  return profile;
}

export function decide(
  world: ClusterParts | SchedulerCache,
  pod: Pod,
  profile: Profile = defaultProfile(),
  seed = 1,
): Decision {
  return schedulePod(world instanceof SchedulerCache ? world : cacheOf(world), podInfoOf(pod), profile, {
    start: 0,
    random: seededRandom(seed),
  });
}

/** Returns the chosen node, or the reason why there is none. */
export function outcomeOf(decision: Decision): string {
  if (decision.kind === 'placed') return decision.nodeName;
  return decision.kind === 'noNodes' ? 'no nodes' : decision.message;
}
