import type { Pod } from '../../../api/core/pod.ts';
import { goQuote } from '../../../api/go-quote.ts';
import { nodeEvents } from '../../../api/reasons.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';
import type { CgroupLimits, Cgroups } from '../../ports/cgroups.ts';
import type { MachineFacts } from '../../ports/machine-facts.ts';
import type { NodeEventRecorder } from '../../ports/recorder.ts';
import { ContainerManager } from './container-manager.ts';

const MICROSECONDS_PER_MS = 1000;

export interface CreateContainerManagerParts {
  config: KubeletConfig['cgroups'];
  cgroups: Cgroups;
  machine: Pick<MachineFacts, 'hugePageSizesBytes'>;
  /** Limits of all pods together. */
  podsCgroupLimits: CgroupLimits;
  /** The pods that have a place on the node. */
  activePods: () => readonly Pod[];
  recorder: NodeEventRecorder;
  clock: Clock;
  random: Random;
  log: Logger;
}

/** The cgroups of pods as this node is configured; events report whether the limits of all pods are in force. */
export function createContainerManager(parts: CreateContainerManagerParts): ContainerManager {
  const { config, cgroups, machine, recorder, activePods, clock, random, log } = parts;
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
    },
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
