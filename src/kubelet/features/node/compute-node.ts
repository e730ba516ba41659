import { nodeLabels } from '../../../api/annotations.ts';
import type { ContainerImage, Node, NodeStatus } from '../../../api/core/node.ts';
import type { ResourceList } from '../../../api/core/resource-requirements.ts';
import { isExtendedResource } from '../../../api/resources.ts';
import { computeAllocatable } from './allocatable.ts';
import type { AddressRules, NetworkFacts } from './node-addresses.ts';
import { computeAddresses, withAddressHint } from './node-addresses.ts';
import type { ConditionFacts, Pressure } from './node-conditions.ts';
import { computeConditions } from './node-conditions.ts';

/** Facts that do not change while the agent runs. */
export interface NodeIdentity {
  /** The architecture as Go names it, such as `amd64`. */
  readonly architecture: string;
  readonly machineId: string;
  readonly systemUuid: string;
  readonly bootId: string;
  readonly kernelVersion: string;
  readonly osImage: string;
  readonly kubeletVersion: string;
  /**
   * Whether the node reports a proxy version (the gate DisableNodeKubeProxyVersion is off). The field contains the
   * kubelet's own version, not that of a proxy.
   */
  readonly reportsProxyVersion: boolean;
  readonly swapBytes: number;
  readonly capacity: ResourceList;
  readonly reservation: ResourceList;
  readonly declaredFeatures: readonly string[];
  /** The port of the kubelet's server; 0 if there is none. */
  readonly serverPort: number;
  /** Whether ephemeral storage is a resource of the node. */
  readonly reportsLocalStorage: boolean;
  readonly addresses: AddressRules;
}

/** The current state of the node. */
export interface NodeFacts {
  readonly nowMs: number;
  readonly network: NetworkFacts;
  /** For example `containerd://1.7.24`. */
  readonly runtimeVersion: string;
  /** The state of the runtime; undefined before its first answer. */
  readonly runtime:
    | {
        handlers: readonly { name: string; recursiveReadOnlyMounts: boolean; userNamespaces: boolean }[];
        supplementalGroupsPolicy: boolean;
      }
    | undefined;
  /** The images; undefined before they were listed, and then the reported ones stay. */
  readonly images: readonly ContainerImage[] | undefined;
  readonly pressure: Pressure;
  readonly machine: ConditionFacts['machine'];
  /** The extended resources of device plugins; the capacity of removed ones is zero. */
  readonly devices: {
    readonly capacity: ResourceList;
    readonly allocatable: ResourceList;
    readonly removed: readonly string[];
  };
  /** The reasons why the node is not ready, except missing capacities. */
  problems: readonly string[];
  /**
   * Conditions that are not known yet. They prevent a node from becoming ready, but do not make a ready node unready.
   */
  readonly openQuestions: readonly string[];
  /**
   * The volumes in use; undefined before the volumes of pods are known, and then the reported ones stay (upstream:
   * ReconcilerStatesHasBeenSynced).
   */
  readonly volumesInUse: readonly string[] | undefined;
}

export interface ComputedNode {
  readonly node: Node;
  /** The reasons why facts could not be read. Their fields stay as they were. */
  readonly problems: readonly string[];
}

/**
 * Computes the node object for the API from the existing one. Everything that other clients own stays (upstream:
 * kubelet_node_status.go updateNode and the setters of nodestatus). volumesAttached belongs to the attach controller
 * and is never changed.
 */
export function computeNode(before: Node, identity: NodeIdentity, facts: NodeFacts): ComputedNode {
  const { status = {} } = before;
  const addresses = computeAddresses(identity.addresses, facts.network, status.addresses ?? []);
  const capacity = capacityOf(status, identity, facts.devices);
  const allocatable = {
    ...allocatableOf(status, capacity, identity.reservation),
    ...facts.devices.allocatable,
  };
  const problems = [
    ...facts.problems,
    ...(isReady(before) ? [] : facts.openQuestions),
    ...missingCapacities(capacity, identity),
  ];
  const next: NodeStatus = {
    ...status,
    capacity,
    allocatable,
    conditions: computeConditions(status.conditions ?? [], { ...facts, problems }),
    ...(addresses.kind === 'set' && { addresses: addresses.addresses }),
    daemonEndpoints: { kubeletEndpoint: { Port: identity.serverPort } },
    nodeInfo: nodeInfoOf(identity, facts),
    ...(facts.images !== undefined && { images: [...facts.images] }),
    ...(facts.volumesInUse !== undefined && { volumesInUse: [...facts.volumesInUse] }),
    declaredFeatures: [...identity.declaredFeatures],
    ...runtimeFields(facts),
  };
  return {
    node: { ...before, metadata: metadataOf(before, identity), status: next },
    problems: addresses.kind === 'unknown' ? [addresses.why] : [],
  };
}

/** Restores the labels of the operating system and the architecture if another client removed them. */
function metadataOf({ metadata }: Node, { architecture, addresses }: NodeIdentity): Node['metadata'] {
  const annotations = withAddressHint(metadata.annotations, addresses);
  const labels = { ...metadata.labels, [nodeLabels.os]: 'linux', [nodeLabels.arch]: architecture };
  return { ...metadata, labels, ...(annotations !== undefined && { annotations }) };
}

/** Merges the capacity. Resources that other clients added to the node stay. */
function capacityOf(
  { capacity }: NodeStatus,
  identity: NodeIdentity,
  { capacity: devices, removed }: NodeFacts['devices'],
): ResourceList {
  return { ...capacity, ...identity.capacity, ...devices, ...Object.fromEntries(removed.map((name) => [name, '0'])) };
}

/**
 * Merges the allocatable amounts. That of a removed extended resource is 0; that of others is the capacity minus the
 * reservations.
 */
function allocatableOf(
  { allocatable = {} }: NodeStatus,
  capacity: ResourceList,
  reservation: ResourceList,
): ResourceList {
  const kept = Object.entries(allocatable).filter(
    ([name]) => Object.hasOwn(capacity, name) || !isExtendedResource(name),
  );
  return { ...Object.fromEntries(kept), ...computeAllocatable(capacity, reservation) };
}

function missingCapacities(capacity: ResourceList, { reportsLocalStorage }: NodeIdentity): string[] {
  const missing = ['cpu', 'memory', 'pods', ...(reportsLocalStorage ? ['ephemeral-storage'] : [])].filter(
    (name) => !Object.hasOwn(capacity, name),
  );
  return missing.length === 0 ? [] : [`missing node capacity for resources: ${missing.join(', ')}`];
}

function nodeInfoOf(identity: NodeIdentity, { runtimeVersion }: NodeFacts): NonNullable<NodeStatus['nodeInfo']> {
  return {
    machineID: identity.machineId,
    systemUUID: identity.systemUuid,
    bootID: identity.bootId,
    kernelVersion: identity.kernelVersion,
    osImage: identity.osImage,
    containerRuntimeVersion: runtimeVersion,
    kubeletVersion: identity.kubeletVersion,
    kubeProxyVersion: identity.reportsProxyVersion ? identity.kubeletVersion : '',
    operatingSystem: 'linux',
    architecture: identity.architecture,
    ...(identity.swapBytes > 0 && { swap: { capacity: identity.swapBytes } }),
  };
}

/**
 * Returns the runtime's fields, sorted by name, so that a runtime that lists its handlers in varying order causes no
 * change.
 */
function runtimeFields({ runtime }: NodeFacts): Pick<NodeStatus, 'runtimeHandlers' | 'features'> {
  if (runtime === undefined) return {};
  const handlers = runtime.handlers.toSorted((left, right) => (left.name < right.name ? -1 : 1));
  return {
    runtimeHandlers: handlers.map(({ name, recursiveReadOnlyMounts, userNamespaces }) => ({
      name,
      features: { recursiveReadOnlyMounts, userNamespaces },
    })),
    features: { supplementalGroupsPolicy: runtime.supplementalGroupsPolicy },
  };
}

export const isReady = ({ status }: Node): boolean =>
  status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
