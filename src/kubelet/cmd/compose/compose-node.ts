import type { Node } from '../../../api/core/node.ts';
import type { ResourceList } from '../../../api/core/resource-requirements.ts';
import { KubeletError } from '../../../base/errors.ts';
import { quantityMilliValue, quantityValue } from '../../../api/quantity.ts';
import {
  computeAllocatable,
  computeCapacity,
  computePodsLimits,
  computeReservation,
  reservationProblem,
  withReservedCpus,
} from '../../features/node/allocatable.ts';
import { declaredFeatures } from '../../features/node/declared-features.ts';
import { buildNode, mergeSeenNode } from '../../features/node/node-object.ts';
import type { NodeIdentity } from '../../features/node/compute-node.ts';
import { computeAddresses, hostIpsOf, type NetworkFacts } from '../../features/node/node-addresses.ts';
import { createNodeSeats, type NodeSeats } from '../../features/node/node-seats.ts';
import { createNodeWatch, noNodeWatch, type NodeWatch } from '../../features/node/node-watch.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';
import type { CgroupLimits } from '../../ports/cgroups.ts';
import type { RuntimeHealth } from '../../ports/runtime.ts';
import { kubernetesVersion } from '../flags/flags-version.ts';
import type { NodeSettings } from './compose-settings.ts';
import type { World } from './world.ts';

/** The node itself: what it offers and keeps, and how others see it. */
export interface NodeParts {
  capacity: ResourceList;
  allocatable: ResourceList;
  /** Limits of all pods together, for the cgroup above them. */
  podsCgroupLimits: CgroupLimits;
  /**
   * The node as those see it who judge pods: the API server's, for others set labels and taints, with what this machine knows better; on a node of
   * its own and while none is registered the one built here (upstream: getNodeAnyWay). With what the runtime says of itself now.
   */
  object: (health: RuntimeHealth | undefined) => Node;
  /** The node as built here, whatever others made of it. */
  local: (health: RuntimeHealth | undefined) => Node;
  /** The node in the API. Pods of the API are taken up once it has synced. */
  watch: NodeWatch;
  /** Its addresses for pods, primary family first. */
  hostIps: () => readonly string[];
  /** What its status tells that does not change while the agent runs. */
  identity: NodeIdentity;
  /** What other features know of its state; each fills in its own. */
  seats: NodeSeats;
}

const none: NodeSettings = {
  labels: {},
  externalCloudProvider: false,
  ignoreEviction: false,
  nodeIps: [],
  version: kubernetesVersion,
};

type NodeWorld = Pick<World, 'machine' | 'network' | 'cluster' | 'clock' | 'random' | 'log'>;

/** Throws `Invalid` when the configuration keeps more from pods than the machine has: the agent does not start then, as upstream. */
export function composeNode(config: KubeletConfig, world: NodeWorld, settings: NodeSettings = none): NodeParts {
  const { machine } = world;
  const reserved = withReservedCpus(config.reserved, machine.onlineCpus);
  if (typeof reserved === 'string') throw new KubeletError('Invalid', reserved);
  const { maxPods, podsPerCore, taints, providerId } = config.node;
  const { memoryBytes, hugePages } = machine;
  const storageBytes = config.versioned.localStorageCapacityIsolation ? machine.rootStorageBytes : undefined;
  const capacity = computeCapacity({
    cores: machine.onlineCpus.length,
    memoryBytes,
    storageBytes,
    hugePages,
    maxPods,
    podsPerCore,
  });
  const reservation = computeReservation(capacity, {
    ...reserved,
    evictionHard: settings.ignoreEviction ? {} : config.eviction.hard,
  });
  const problem = reservationProblem(capacity, reservation);
  if (problem !== undefined) throw new KubeletError('Invalid', problem);
  const allocatable = computeAllocatable(capacity, reservation);
  const { nodeName: name, architecture, addresses } = machine;
  const features = declaredFeatures(config.gates);
  const watch =
    world.cluster === undefined
      ? noNodeWatch
      : createNodeWatch({
          client: world.cluster.objects,
          clock: world.clock,
          random: world.random,
          log: world.log,
          nodeName: name,
        });
  const local = (runtime: RuntimeHealth | undefined): Node =>
    buildNode({
      name,
      hostname: name,
      architecture,
      labels: settings.labels,
      taints,
      externalCloudProvider: settings.externalCloudProvider,
      providerId,
      controllerAttaches: config.versioned.enableControllerAttachDetach,
      addresses,
      capacity,
      allocatable,
      declaredFeatures: features,
      runtime,
    });
  const identity = identityOf(config, world, settings, { capacity, reservation });
  return {
    capacity,
    allocatable,
    podsCgroupLimits: podsLimits(
      computePodsLimits(capacity, reserved, config.cgroups.perQos && config.reserved.enforce.includes('pods')),
    ),
    object: (runtime) => mergeSeenNode(watch.current(), local(runtime)),
    local,
    watch,
    identity,
    hostIps: hostIpsFor(world, watch, identity),
    seats: createNodeSeats(),
  };
}

/** As the node has them in the API; before that is known as they will be told. A node of its own has all that lead out. */
function hostIpsFor(
  { cluster, network, machine }: NodeWorld,
  watch: NodeWatch,
  { addresses: rules }: NodeIdentity,
): () => readonly string[] {
  if (cluster === undefined) return () => machine.addresses;
  const own = computeAddresses(rules, { named: [], ...networkOf({ network, machine }) }, []);
  const expected = own.kind === 'set' ? hostIpsOf(own.addresses) : [];
  return () => {
    const told = hostIpsOf(watch.current()?.status?.addresses ?? []);
    return told.length > 0 ? told : expected.length > 0 ? expected : machine.addresses;
  };
}

/** A machine that does not say has the addresses it was given. */
export function networkOf({
  network,
  machine,
}: {
  network: World['network'];
  machine: World['machine'];
}): Pick<NetworkFacts, 'own' | 'defaults'> {
  if (network !== undefined) return network.read();
  const v4 = machine.addresses.find((address) => !address.includes(':'));
  const v6 = machine.addresses.find((address) => address.includes(':'));
  return { own: machine.addresses, defaults: { ...(v4 !== undefined && { v4 }), ...(v6 !== undefined && { v6 }) } };
}

function identityOf(
  config: KubeletConfig,
  { machine }: NodeWorld,
  settings: NodeSettings,
  amounts: Pick<NodeIdentity, 'capacity' | 'reservation'>,
): NodeIdentity {
  const { architecture, machineId, systemUuid, bootId, kernelVersion, osImage, swapBytes, nodeName } = machine;
  return {
    architecture,
    machineId,
    systemUuid,
    bootId,
    kernelVersion,
    osImage,
    swapBytes,
    ...amounts,
    kubeletVersion: settings.version,
    tellsProxyVersion: !config.gates.enabled('DisableNodeKubeProxyVersion'),
    declaredFeatures: declaredFeatures(config.gates),
    serverPort: config.server.port,
    tellsLocalStorage: config.versioned.localStorageCapacityIsolation,
    addresses: { hostname: nodeName, nodeIps: settings.nodeIps, externalCloudProvider: settings.externalCloudProvider },
  };
}

const SHARES_PER_CPU = 1024;
const MINIMUM_SHARES = 2;

function podsLimits(limits: ResourceList): CgroupLimits {
  const cpuShares = Math.max(
    MINIMUM_SHARES,
    Math.floor((quantityMilliValue(limits['cpu'] ?? '0') * SHARES_PER_CPU) / 1000),
  );
  return { cpuShares, memoryBytes: quantityValue(limits['memory'] ?? '0') };
}
