import type { Node } from '../../../api/core/node.ts';
import type { ResourceList } from '../../../api/core/resource-requirements.ts';
import { KubeletError } from '../../../base/errors.ts';
import { quantityMilliValue, quantityValue } from '../../../api/quantity.ts';
import { computeAllocatable, computeCapacity, computePodsLimits, computeReservation, reservationProblem, withReservedCpus } from '../../features/node/allocatable.ts';
import { declaredFeatures } from '../../features/node/declared-features.ts';
import { buildNode } from '../../features/node/node-object.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';
import type { CgroupLimits } from '../../ports/cgroups.ts';
import type { RuntimeHealth } from '../../ports/runtime.ts';
import type { NodeSettings } from './compose-settings.ts';
import type { MachineFacts } from './world.ts';

/** The node itself: what it offers and keeps, and how others see it. */
export interface NodeParts {
  capacity: ResourceList;
  allocatable: ResourceList;
  /** Limits of all pods together, for the cgroup above them. */
  podsCgroupLimits: CgroupLimits;
  /** The object, with what the runtime says of itself now. */
  object: (health: RuntimeHealth | undefined) => Node;
}

const none: NodeSettings = { labels: {}, externalCloudProvider: false, ignoreEviction: false };

/** Throws `Invalid` when the configuration keeps more from pods than the machine has: the agent does not start then, as upstream. */
export function composeNode(config: KubeletConfig, machine: MachineFacts, settings: NodeSettings = none): NodeParts {
  const reserved = withReservedCpus(config.reserved, machine.onlineCpus);
  if (typeof reserved === 'string') throw new KubeletError('Invalid', reserved);
  const { maxPods, podsPerCore, taints, providerId } = config.node;
  const { memoryBytes, hugePages, rootStorageBytes: storageBytes } = machine;
  const capacity = computeCapacity({ cores: machine.onlineCpus.length, memoryBytes, storageBytes, hugePages, maxPods, podsPerCore });
  const reservation = computeReservation(capacity, { ...reserved, evictionHard: settings.ignoreEviction ? {} : config.eviction.hard });
  const problem = reservationProblem(capacity, reservation);
  if (problem !== undefined) throw new KubeletError('Invalid', problem);
  const allocatable = computeAllocatable(capacity, reservation);
  const { nodeName: name, architecture, addresses } = machine;
  const features = declaredFeatures(config.gates);
  return {
    capacity,
    allocatable,
    podsCgroupLimits: podsLimits(computePodsLimits(capacity, reserved, config.cgroups.perQos && config.reserved.enforce.includes('pods'))),
    object: (runtime) => buildNode({ name, hostname: name, architecture, labels: settings.labels, taints, externalCloudProvider: settings.externalCloudProvider, providerId, addresses, capacity, allocatable, declaredFeatures: features, runtime }),
  };
}

const SHARES_PER_CPU = 1024;
const MINIMUM_SHARES = 2;

function podsLimits(limits: ResourceList): CgroupLimits {
  const cpuShares = Math.max(MINIMUM_SHARES, Math.floor((quantityMilliValue(limits['cpu'] ?? '0') * SHARES_PER_CPU) / 1000));
  return { cpuShares, memoryBytes: quantityValue(limits['memory'] ?? '0') };
}
