import type { MachineTopology } from '../model/machine-topology.ts';

/**
 * Reads the NUMA nodes, sockets and caches of the online CPUs, and the memory. It is synchronous, because it is called
 * once at the start.
 */
export type ReadMachineTopology = () => MachineTopology;
