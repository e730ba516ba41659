import { KubeletError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import { quantityMilliValue } from '../../../api/quantity.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';
import { formatCpuSet, noCpus } from '../../model/cpu-set.ts';
import type { MachineTopology } from '../../model/machine-topology.ts';
import type { StateText } from '../../ports/state-text.ts';
import type { CpuManagerObserver } from './cpu-manager.ts';
import { CpuManager } from './cpu-manager.ts';
import type { CpuCheckpoint } from './cpu-state.ts';
import { computeRestoredState, decodeCpuCheckpoint } from './cpu-state.ts';
import { CpuTopology } from './cpu-topology.ts';
import { optionsProblem, parsePolicyOptions } from './policy-options.ts';
import type { StaticPolicy } from './static-policy.ts';
import { computeReservedCpus } from './static-policy.ts';

export interface CreateCpuManagerParts {
  readonly config: Pick<KubeletConfig, 'managers' | 'gates' | 'reserved'>;
  /** The CPU that is reserved for the system and the agent, as a quantity. */
  readonly reservedCpu: string;
  readonly topology: MachineTopology;
  readonly file: Omit<StateText, 'flush'>;
  readonly observer: CpuManagerObserver;
  readonly log: Logger;
}

/**
 * Creates the CPU manager. Throws `Invalid` if this machine cannot have the configured policy; as upstream, the agent
 * does not start then. An unusable saved state does not stop the start.
 */
export function createCpuManager(parts: CreateCpuManagerParts): CpuManager {
  const { config, file, observer, log } = parts;
  const { cpuPolicy, podLevel } = config.managers;
  const topology = new CpuTopology(parts.topology);
  const policy = cpuPolicy === 'static' ? staticPolicy(parts, topology) : undefined;
  const saved = file.text === undefined ? undefined : decodeCpuCheckpoint(file.text);
  const { state, problem } = computeRestoredState(checkpointOf(saved), {
    policy: cpuPolicy,
    all: topology.all,
    reserved: policy?.reserved ?? noCpus,
    strictReservation: policy?.options.strictReservation ?? false,
    podLevel,
  });
  const why = typeof saved === 'string' ? saved : problem;
  if (why !== undefined) file.setAside(why);
  const manager = new CpuManager({ policy, podLevel, state, observer, log });
  file.follow(() => manager.checkpoint());
  file.changed();
  manager.onChange(() => file.changed());
  return manager;
}

const checkpointOf = (saved: CpuCheckpoint | string | undefined): CpuCheckpoint | undefined =>
  typeof saved === 'string' ? undefined : saved;

function staticPolicy({ config, reservedCpu, log }: CreateCpuManagerParts, topology: CpuTopology): StaticPolicy {
  const { cpuOptions, topologyPolicy, podLevel } = config.managers;
  const options = parsePolicyOptions(cpuOptions, (gate) => config.gates.enabled(gate));
  if (typeof options === 'string') throw new KubeletError('Invalid', options);
  const problem = optionsProblem(options, topology, topologyPolicy);
  if (problem !== undefined) throw new KubeletError('Invalid', problem);
  const reserved = computeReservedCpus(topology, options, {
    named: config.reserved.systemCpus,
    count: Math.ceil(quantityMilliValue(reservedCpu) / 1000),
  });
  if (typeof reserved === 'string') throw new KubeletError('Invalid', reserved);
  log.info('Reserved CPUs not available for exclusive assignment', { reserved: formatCpuSet(reserved) });
  return { topology, options, reserved, podLevel };
}
