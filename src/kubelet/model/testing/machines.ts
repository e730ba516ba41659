import type { CpuCore, MachineTopology } from '../machine-topology.ts';

const GiB = 2 ** 30;

/**
 * How CPUs are numbered. `siblings-last`: the second threads of all cores come after the first ones, as on most x86
 * machines.
 */
type Numbering = 'siblings-last' | 'siblings-adjacent';

export interface MachineShape {
  readonly sockets: number;
  /** The number of nodes per socket. */
  readonly nodes: number;
  /** The number of cores per node. */
  readonly cores: number;
  readonly threads: number;
  readonly numbering?: Numbering;
  /** The number of cores per last-level cache; by default all of the node. */
  readonly coresPerCache?: number;
  readonly memoryBytes?: number;
  readonly hugePages?: readonly { readonly sizeBytes: number; readonly count: number }[];
}

/** Builds a machine of equal parts. Distances are 10 within a node, 12 within a socket, and 21 between sockets. */
export function machineOf(shape: MachineShape): MachineTopology {
  const { sockets, nodes, cores, threads, numbering = 'siblings-last', coresPerCache } = shape;
  const total = sockets * nodes * cores;
  const all = [...Array(sockets * nodes).keys()];
  const cpusOf = (core: number): number[] =>
    [...Array(threads).keys()].map((thread) =>
      numbering === 'siblings-last' ? core + thread * total : core * threads + thread,
    );
  return {
    nodes: all.map((id) => ({
      id,
      cores: [...Array(cores).keys()].map((index): CpuCore => {
        const core = id * cores + index;
        return {
          socketId: Math.floor(id / nodes),
          cpus: cpusOf(core),
          uncoreCacheId: coresPerCache === undefined ? undefined : Math.floor(core / coresPerCache),
        };
      }),
      memoryBytes: shape.memoryBytes ?? 64 * GiB,
      hugePages: shape.hugePages ?? [],
      distances: all.map((other) =>
        other === id ? 10 : Math.floor(other / nodes) === Math.floor(id / nodes) ? 12 : 21,
      ),
    })),
  };
}

/** Two sockets of two NUMA nodes each, with two threads per core: 48 CPUs. */
export const dualSocket = machineOf({ sockets: 2, nodes: 2, cores: 6, threads: 2 });

/** One socket that its firmware divides into four NUMA nodes: 32 CPUs. */
export const subNumaClusters = machineOf({ sockets: 1, nodes: 4, cores: 4, threads: 2 });

/** One socket and one NUMA node with eight last-level caches: 64 CPUs. */
export const eightCaches = machineOf({ sockets: 1, nodes: 1, cores: 32, threads: 2, coresPerCache: 4 });

/** Cores of one and of two threads, nodes of different sizes, one without cores, and ids with gaps. */
export const asymmetric: MachineTopology = {
  nodes: [
    {
      id: 0,
      cores: [
        { socketId: 0, cpus: [0, 1], uncoreCacheId: undefined },
        { socketId: 0, cpus: [2, 3], uncoreCacheId: undefined },
        { socketId: 0, cpus: [4], uncoreCacheId: undefined },
        { socketId: 0, cpus: [5], uncoreCacheId: undefined },
      ],
      memoryBytes: 32 * GiB,
      hugePages: [{ sizeBytes: 2 ** 21, count: 512 }],
      distances: [10, 20, 17],
    },
    {
      id: 2,
      cores: [{ socketId: 3, cpus: [8, 9], uncoreCacheId: undefined }],
      memoryBytes: 8 * GiB,
      hugePages: [{ sizeBytes: 2 ** 21, count: 0 }],
      distances: [20, 10, 28],
    },
    { id: 5, cores: [], memoryBytes: 128 * GiB, hugePages: [], distances: [17, 28, 10] },
  ],
};

export const machines: Readonly<Record<string, MachineTopology>> = {
  'two sockets, two NUMA nodes each, SMT': dualSocket,
  'sub-NUMA clustering': subNumaClusters,
  'eight last-level caches': eightCaches,
  'asymmetric, with gaps and a node without cores': asymmetric,
  'one core': machineOf({ sockets: 1, nodes: 1, cores: 1, threads: 1 }),
  'a NUMA node of two sockets': {
    nodes: [
      {
        id: 0,
        cores: [0, 1, 2, 3].map((core) => ({ socketId: core >> 1, cpus: [core, core + 4], uncoreCacheId: undefined })),
        memoryBytes: GiB,
        hugePages: [],
        distances: [10],
      },
    ],
  },
};
