/** One physical core. */
export interface CpuCore {
  readonly socketId: number;
  /** Its online CPUs (hardware threads), sorted; at least one. */
  readonly cpus: readonly number[];
  /**
   * The last-level cache that it shares with some cores of its NUMA node; undefined if all cores of the node share one,
   * or the kernel does not report it.
   */
  readonly uncoreCacheId: number | undefined;
}

export interface NumaNode {
  readonly id: number;
  /** The cores. A node may have memory and no cores. */
  readonly cores: readonly CpuCore[];
  readonly memoryBytes: number;
  readonly hugePages: readonly { readonly sizeBytes: number; readonly count: number }[];
  /**
   * The kernel's distance to each node, in the order of the nodes; 10 is local. It is empty if the kernel does not
   * report it.
   */
  readonly distances: readonly number[];
}

/** The processors and memory of the machine (upstream: cadvisor MachineInfo.Topology). Nodes are sorted by id. */
export interface MachineTopology {
  readonly nodes: readonly NumaNode[];
}

/**
 * Builds the topology of a machine of which only the CPUs and the memory are known: one NUMA node, one socket, one CPU
 * per core.
 */
export function flatTopology(machine: {
  onlineCpus: readonly number[];
  memoryBytes: number;
  hugePages: readonly { sizeBytes: number; totalBytes: number }[];
}): MachineTopology {
  const { onlineCpus, memoryBytes, hugePages } = machine;
  return {
    nodes: [
      {
        id: 0,
        cores: onlineCpus.map((cpu) => ({ socketId: 0, cpus: [cpu], uncoreCacheId: undefined })),
        memoryBytes,
        hugePages: hugePages.map(({ sizeBytes, totalBytes }) => ({ sizeBytes, count: totalBytes / sizeBytes })),
        distances: [10],
      },
    ],
  };
}
