import type { MachineTopology } from '../model/machine-topology.ts';

/** Reads where the online CPUs and the memory of the machine are. Synchronous: it is called once, at the start. */
export type ReadMachineTopology = () => MachineTopology;
