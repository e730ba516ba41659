import type { Pod } from '../../../api/core/pod.ts';
import { goQuote } from '../../../api/go-quote.ts';
import { nodeEvents } from '../../../api/reasons.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';
import { memoryQosOf } from '../../model/memory-qos.ts';
import type { CgroupLimits, Cgroups } from '../../ports/cgroups.ts';
import type { MachineFacts } from '../../ports/machine-facts.ts';
import type { NodeEventRecorder } from '../../ports/recorder.ts';
import type { ContainerManagerOptions } from './container-manager.ts';
import { ContainerManager } from './container-manager.ts';

const MICROSECONDS_PER_MS = 1000;

export interface CreateContainerManagerParts {
  readonly config: Pick<KubeletConfig, 'cgroups' | 'gates'>;
  readonly cgroups: Cgroups;
  readonly machine: Pick<MachineFacts, 'hugePageSizesBytes'>;
  /** The limits of all pods together. */
  readonly podsCgroupLimits: CgroupLimits;
  /** The node's memory minus the reservations for the system and Kubernetes. */
  readonly memoryForPodsBytes: number;
  readonly onProtected: NonNullable<ContainerManagerOptions['onProtected']>;
  /** Whether the pod has exclusive CPUs, which no quota limits. */
  readonly hasExclusiveCpus: (pod: Pod) => boolean;
  /** The pods that have a place on the node. */
  readonly activePods: () => readonly Pod[];
  readonly recorder: NodeEventRecorder;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Creates the container manager as this node is configured. Events report whether the limits of all pods are set. */
export function createContainerManager(parts: CreateContainerManagerParts): ContainerManager {
  const { cgroups: config, gates } = parts.config;
  const { cgroups, machine, recorder, activePods, clock, random, log } = parts;
  const memoryQos = memoryQosOf(parts.config, cgroups.version);
  const podsCgroup = [...config.root.split('/').filter((part) => part !== ''), 'kubepods'];
  return new ContainerManager({
    cgroups,
    clock,
    random,
    log,
    config: {
      cgroupsPerQOS: config.perQos,
      cgroupRoot: config.root,
      cpuCFSQuota: config.cpuQuota,
      cpuCFSQuotaPeriodUs: config.cpuQuotaPeriodMs * MICROSECONDS_PER_MS,
      podPidsLimit: config.podPidsLimit,
      hugePageSizesBytes: machine.hugePageSizesBytes,
      memoryQos,
    },
    qosMemory: {
      reservedPercent: gates.enabled('QOSReserved') ? config.qosReservedMemoryPercent : undefined,
      memoryForPodsBytes: parts.memoryForPodsBytes,
      memoryQos,
    },
    onProtected: parts.onProtected,
    hasExclusiveCpus: parts.hasExclusiveCpus,
    rootLimits: () => parts.podsCgroupLimits,
    onRootLimits: ({ problem }) => {
      if (problem === undefined)
        recorder.nodeEvent('Normal', nodeEvents.nodeAllocatableEnforced, 'Updated Node Allocatable limit across pods');
      else
        recorder.nodeEvent(
          'Warning',
          nodeEvents.failedNodeAllocatableEnforcement,
          `Failed to update Node Allocatable Limits [${podsCgroup.map(goQuote).join(' ')}]: ${problem}`,
        );
    },
    activePods,
  });
}
