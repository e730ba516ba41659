import type { CpuSet } from '../../model/cpu-set.ts';
import type { MachineTopology } from '../../model/machine-topology.ts';
import type { NumaMask } from '../../model/topology-hints.ts';

/** Where one CPU is. */
export interface CpuPlace {
  readonly cpu: number;
  /** The lowest CPU of its core: the kernel's core ids are unique only within a socket. */
  readonly core: number;
  readonly socket: number;
  /** The id of the NUMA node. */
  readonly numa: number;
  /** The last-level cache; the socket where no cache is shared by a part of a NUMA node. */
  readonly uncore: number;
}

export type CpuLevel = 'core' | 'socket' | 'numa' | 'uncore';

/** The processors of the machine (upstream: cpumanager topology.Discover). */
export class CpuTopology {
  readonly all: CpuSet;
  /** Ids of the NUMA nodes that the machine has, sorted. A mask of hints counts these. */
  readonly numaIds: readonly number[];
  /** A socket has at least as many cores as a NUMA node, so it is filled before its nodes are divided. */
  readonly socketsFirst: boolean;
  readonly sockets: number;
  /** CPUs of a core, on average and rounded down: the size of the groups of `full-pcpus-only`. */
  readonly cpusPerCore: number;
  readonly #places = new Map<number, CpuPlace>();
  readonly #members: Readonly<Record<CpuLevel, Map<number, Set<number>>>> = {
    core: new Map(),
    socket: new Map(),
    numa: new Map(),
    uncore: new Map(),
  };

  constructor({ nodes }: MachineTopology) {
    for (const { id: numa, cores } of nodes) {
      for (const { socketId: socket, cpus, uncoreCacheId: uncore = socket } of cores) {
        const core = Math.min(...cpus);
        for (const cpu of cpus) this.#add({ cpu, core, socket, numa, uncore });
      }
    }
    this.all = new Set(this.#places.keys());
    this.numaIds = nodes.map(({ id }) => id);
    this.sockets = this.#members.socket.size;
    this.socketsFirst = this.sockets < this.#members.numa.size;
    this.cpusPerCore = Math.max(1, Math.floor(this.all.size / Math.max(1, this.#members.core.size)));
  }

  #add(place: CpuPlace): void {
    this.#places.set(place.cpu, place);
    for (const level of ['core', 'socket', 'numa', 'uncore'] as const) {
      const members = this.#members[level].get(place[level]) ?? new Set();
      this.#members[level].set(place[level], members.add(place.cpu));
    }
  }

  /** Undefined for a CPU that is not online. */
  place(cpu: number): CpuPlace | undefined {
    return this.#places.get(cpu);
  }

  /** The places of those CPUs that are online. */
  places(cpus: Iterable<number>): CpuPlace[] {
    const places: CpuPlace[] = [];
    for (const cpu of cpus) {
      const place = this.#places.get(cpu);
      if (place !== undefined) places.push(place);
    }
    return places;
  }

  /** All CPUs of one core, socket, NUMA node or cache. */
  members(level: CpuLevel, id: number): CpuSet {
    return this.#members[level].get(id) ?? new Set();
  }

  /** The ids at one level that have some of these CPUs. */
  idsOf(level: CpuLevel, cpus: Iterable<number>): Set<number> {
    return new Set(this.places(cpus).map((place) => place[level]));
  }

  /** How many NUMA nodes have CPUs. */
  get numaNodesWithCpus(): number {
    return this.#members.numa.size;
  }

  /** How many of these CPUs each NUMA node has, by position. */
  countByNuma(cpus: Iterable<number>): number[] {
    const positions = new Map(this.numaIds.map((id, position) => [id, position]));
    const counts = this.numaIds.map(() => 0);
    for (const { numa } of this.places(cpus)) {
      const position = positions.get(numa) ?? 0;
      counts[position] = (counts[position] ?? 0) + 1;
    }
    return counts;
  }

  /** The ids of the NUMA nodes in a mask. */
  numaIdsOf(mask: NumaMask): number[] {
    return this.numaIds.filter((_, position) => (mask >> position) & 1);
  }
}
