import { KubeletError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';
import type { MachineTopology } from '../../model/machine-topology.ts';
import type { StateText } from '../../ports/state-text.ts';
import { decodeMemoryCheckpoint } from './memory-checkpoint.ts';
import type { MemoryManagerObserver } from './memory-manager.ts';
import { MemoryManager } from './memory-manager.ts';
import type { MemoryCapacity } from './memory-state.ts';
import { computeCapacities } from './memory-state.ts';
import { computeReservedMemory } from './reserved-memory.ts';
import { computeRestoredMemory } from './restore-memory.ts';

export interface CreateMemoryManagerParts {
  readonly config: Pick<KubeletConfig, 'managers'>;
  /** The total reservation of the node, including eviction thresholds. */
  readonly nodeReservation: Readonly<Record<string, string>>;
  readonly topology: MachineTopology;
  readonly file: Omit<StateText, 'flush'>;
  readonly observer: MemoryManagerObserver;
  readonly log: Logger;
}

/**
 * Creates the memory manager. Throws `Invalid` if the reservations do not match; as upstream, the agent does not start
 * then. An unusable saved state does not stop the start.
 */
export function createMemoryManager(parts: CreateMemoryManagerParts): MemoryManager {
  const { config, file, observer, log } = parts;
  const { memoryPolicy: policyName, podLevel } = config.managers;
  const capacities = policyName === 'Static' ? staticCapacities(parts) : [];
  const saved = file.text === undefined ? undefined : decodeMemoryCheckpoint(file.text);
  const { assignments, pools, problem } = computeRestoredMemory(
    typeof saved === 'string' ? undefined : saved,
    policyName,
    capacities,
    { podLevel },
  );
  const why = typeof saved === 'string' ? saved : problem;
  if (why !== undefined) file.setAside(why);
  const manager = new MemoryManager({ policyName, podLevel, capacities, assignments, pools, observer, log });
  file.follow(() => manager.checkpoint());
  file.changed();
  manager.onChange(() => file.changed());
  return manager;
}

function staticCapacities({ config, topology, nodeReservation }: CreateMemoryManagerParts): MemoryCapacity[] {
  const reserved = computeReservedMemory(topology, config.managers.reservedMemory, nodeReservation);
  if (typeof reserved === 'string') throw new KubeletError('Invalid', reserved);
  return computeCapacities(topology, reserved);
}
