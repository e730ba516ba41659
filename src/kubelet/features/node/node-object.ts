import { annotations, nodeLabels } from '../../../api/annotations.ts';
import type { Node, NodeAddress, Taint } from '../../../api/core/node.ts';
import type { ResourceList } from '../../../api/core/resource-requirements.ts';

/** The facts from which the node object is built, for admission and for the API server. */
export interface NodeFactsForObject {
  readonly name: string;
  readonly hostname: string;
  /** The architecture as Go names it, such as `amd64`. */
  readonly architecture: string;
  /** The labels of the flag. They have precedence over the agent's own. */
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  /** Whether a cloud controller must initialize the node. */
  readonly externalCloudProvider: boolean;
  readonly providerId: string;
  /** Whether the controller attaches volumes, and not the agent. */
  readonly controllerAttaches: boolean;
  /** The addresses, primary family first. */
  readonly addresses: readonly string[];
  readonly capacity: ResourceList;
  readonly allocatable: ResourceList;
  readonly declaredFeatures: readonly string[];
  readonly runtime:
    | {
        handlers: readonly { name: string; recursiveReadOnlyMounts: boolean; userNamespaces: boolean }[];
        supplementalGroupsPolicy: boolean;
      }
    | undefined;
}

const uninitialized: Taint = {
  key: 'node.cloudprovider.kubernetes.io/uninitialized',
  value: 'true',
  effect: 'NoSchedule',
};

/** Builds the node object, with or without an API server (upstream: kubelet_node_status.go initialNode). */
export function buildNode(facts: NodeFactsForObject): Node {
  const taints = [...facts.taints, ...(facts.externalCloudProvider ? [uninitialized] : [])];
  const node: Node = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: facts.name,
      namespace: '',
      uid: '',
      labels: labelsOf(facts),
      ...(facts.controllerAttaches && { annotations: { [annotations.controllerManagedAttach]: 'true' } }),
    },
    spec: {},
    status: { capacity: facts.capacity, allocatable: facts.allocatable, addresses: addressesOf(facts) },
  };
  const { spec = {}, status = {} } = node;
  if (taints.length > 0) spec.taints = taints;
  if (facts.providerId !== '') spec.providerID = facts.providerId;
  if (facts.declaredFeatures.length > 0) status.declaredFeatures = [...facts.declaredFeatures];
  if (facts.runtime !== undefined) {
    status.features = { supplementalGroupsPolicy: facts.runtime.supplementalGroupsPolicy };
    status.runtimeHandlers = facts.runtime.handlers.map(({ name, recursiveReadOnlyMounts, userNamespaces }) => ({
      name,
      features: { recursiveReadOnlyMounts, userNamespaces },
    }));
  }
  return node;
}

/**
 * Merges the API server's node with the machine's own facts. A status from before a restart, or one that was never
 * written, must not prevent the admission of pods.
 */
export function mergeSeenNode(seen: Node | undefined, local: Node): Node {
  if (seen === undefined) return local;
  const { status = {} } = seen;
  const { capacity, allocatable, addresses = [], ...own } = local.status ?? {};
  return {
    ...seen,
    status: {
      ...status,
      ...own,
      addresses: status.addresses ?? addresses,
      capacity: { ...status.capacity, ...capacity },
      allocatable: { ...status.allocatable, ...allocatable },
    },
  };
}

function labelsOf({ hostname, architecture, labels }: NodeFactsForObject): Record<string, string> {
  return {
    [nodeLabels.hostname]: hostname,
    [nodeLabels.os]: 'linux',
    [nodeLabels.arch]: architecture,
    [nodeLabels.betaOs]: 'linux',
    [nodeLabels.betaArch]: architecture,
    ...labels,
  };
}

function addressesOf({ addresses, hostname }: NodeFactsForObject): NodeAddress[] {
  return [...addresses.map((address) => ({ type: 'InternalIP', address })), { type: 'Hostname', address: hostname }];
}
