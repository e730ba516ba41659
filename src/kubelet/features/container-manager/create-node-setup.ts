import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';
import type { Cgroups } from '../../ports/cgroups.ts';
import type { KernelTunables, OwnProcess, ProcessGroups } from '../../ports/node-settings.ts';
import type { NodeEventRecorder } from '../../ports/recorder.ts';
import { setUpTunables } from './kernel-tunables.ts';
import { createOomScoreLoop } from './own-oom-score.ts';
import { computeReservedGroups, enforceReservedGroups } from './reserved-cgroups.ts';
import { SystemGroups } from './system-groups.ts';

export interface CreateNodeSetupParts {
  readonly config: Pick<KubeletConfig, 'cgroups' | 'reserved' | 'gates'>;
  readonly cgroups: Cgroups;
  /** The settings; undefined if the agent leaves the node outside of pods alone. */
  readonly settings: { tunables: KernelTunables; processGroups: ProcessGroups; ownProcess: OwnProcess } | undefined;
  readonly recorder: NodeEventRecorder;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Sets up the node before the first pod, and keeps the settings. */
export interface NodeSetup {
  /** Rejects with Invalid if the node does not meet the configuration. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Creates the setup of the node, in upstream's order (upstream: cm/container_manager_linux.go setupNode). */
export function createNodeSetup(parts: CreateNodeSetupParts): NodeSetup {
  const { config, cgroups, settings, recorder, log } = parts;
  const { protectKernelDefaults, kubelet, system } = config.cgroups;
  const systemGroups =
    settings === undefined
      ? undefined
      : new SystemGroups({ ...parts, groups: settings.processGroups, kubeletGroup: kubelet, systemGroup: system });
  const oomScore =
    settings === undefined
      ? undefined
      : createOomScoreLoop({
          ...parts,
          ownProcess: settings.ownProcess,
          scoreAdj: config.cgroups.oomScoreAdj,
          hasGroup: kubelet !== '',
        });
  return {
    start: async () => {
      if (settings !== undefined)
        await setUpTunables({ tunables: settings.tunables, isProtected: protectKernelDefaults, log });
      const protectsMemory = cgroups.version === 2 && config.gates.enabled('MemoryQoS');
      const groups = computeReservedGroups(config.reserved, { driver: cgroups.driver, protectsMemory });
      await enforceReservedGroups(groups, { cgroups, recorder });
      await systemGroups?.start();
      oomScore?.start();
    },
    stop: async () => {
      await oomScore?.stop();
      await systemGroups?.stop();
    },
  };
}
