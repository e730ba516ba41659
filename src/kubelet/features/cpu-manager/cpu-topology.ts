import type { CpuSet } from '../../model/cpu-set.ts';
import type { MachineTopology } from '../../model/machine-topology.ts';
import type { NumaMask } from '../../model/topology-hints.ts';

/** The place of one CPU in the machine. */
export interface CpuPlace {
  readonly cpu: number;
  /** The lowest CPU of its core, because the kernel's core ids are unique only within a socket. */
  readonly core: number;
  readonly socket: number;
  /** The id of the NUMA node. */
  readonly numa: number;
  /** The last-level cache, or the socket if no part of a NUMA node shares a cache. */
  readonly uncore: number;
}

export type CpuLevel = 'core' | 'socket' | 'numa' | 'uncore';

/** The processors of the machine (upstream: cpumanager topology.Discover). */
export class CpuTopology {
  readonly all: CpuSet;
  /** The ids of the machine's NUMA nodes, sorted. The bits of a hint's mask are positions in this list. */
  readonly numaIds: readonly number[];
  /** Whether a socket has at least as many cores as a NUMA node. Then sockets are filled before NUMA nodes. */
  readonly socketsFirst: boolean;
  readonly sockets: number;
  /** The average number of CPUs per core, rounded down. It is the size of the groups of `full-pcpus-only`. */
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

  /** Returns the place of a CPU, or undefined if it is not online. */
  place(cpu: number): CpuPlace | undefined {
    return this.#places.get(cpu);
  }

  /** Returns the places of those CPUs that are online. */
  places(cpus: Iterable<number>): CpuPlace[] {
    const places: CpuPlace[] = [];
    for (const cpu of cpus) {
      const place = this.#places.get(cpu);
      if (place !== undefined) places.push(place);
    }
    return places;
  }

  /** Returns all CPUs of one core, socket, NUMA node or cache. */
  members(level: CpuLevel, id: number): CpuSet {
    return this.#members[level].get(id) ?? new Set();
  }

  /** Returns the ids of the units of this level that contain one of these CPUs. */
  idsOf(level: CpuLevel, cpus: Iterable<number>): Set<number> {
    return new Set(this.places(cpus).map((place) => place[level]));
  }

  /** The number of NUMA nodes that have CPUs. */
  get numaNodesWithCpus(): number {
    return this.#members.numa.size;
  }

  /** Returns how many of these CPUs each NUMA node has, by position. */
  countByNuma(cpus: Iterable<number>): number[] {
    const positions = new Map(this.numaIds.map((id, position) => [id, position]));
    const counts = this.numaIds.map(() => 0);
    for (const { numa } of this.places(cpus)) {
      const position = positions.get(numa) ?? 0;
      counts[position] = (counts[position] ?? 0) + 1;
    }
    return counts;
  }

  /** Returns the ids of the NUMA nodes in a mask. */
  numaIdsOf(mask: NumaMask): number[] {
    return this.numaIds.filter((_, position) => (mask >> position) & 1);
  }
}
