import type { CpuSet } from '../../model/cpu-set.ts';
import type { CpuLevel, CpuPlace, CpuTopology } from './cpu-topology.ts';

export interface TakeOptions {
  /** Takes CPUs of different cores instead of whole cores (`distribute-cpus-across-cores`). */
  readonly spread?: boolean;
  /** Prefers CPUs with the same last-level cache (`prefer-align-cpus-by-uncorecache`). */
  readonly alignUncore?: boolean;
}

/**
 * Takes `count` of the available CPUs as close together as possible (upstream: cpu_assignment.go
 * takeByTopologyNUMAPacked). Returns undefined when there are too few. It takes whole sockets and NUMA nodes first, the
 * larger of the two before the smaller, then whole caches if that option is set, then whole cores, then single CPUs.
 * Among equals it takes the one with the fewest free CPUs, so that free parts of the machine stay whole. Unlike
 * upstream, a core or socket counts as free if all of its CPUs are free, also if the cores or sockets differ in size.
 */
export function takeCpus(
  topology: CpuTopology,
  available: CpuSet,
  count: number,
  { spread = false, alignUncore = false }: TakeOptions = {},
): CpuSet | undefined {
  const taking = new Taking(topology, available, count);
  if (taking.needed > taking.freeCount) return undefined;
  const [larger, smaller] = topology.socketsFirst ? (['socket', 'numa'] as const) : (['numa', 'socket'] as const);
  taking.takeWhole(larger, [larger]);
  taking.takeWhole(smaller, [larger, smaller]);
  if (alignUncore) {
    taking.takeWhole('uncore', [...numaOrder(topology), 'uncore']);
    takePartOfCache(taking, topology);
  }
  if (!spread) taking.takeWhole('core', [larger, smaller, 'core']);
  const single = spread ? taking.ranked(topology.socketsFirst ? ['socket'] : ['numa', 'socket']) : undefined;
  for (const { cpu } of single ?? taking.ranked([larger, smaller, 'core'])) taking.take([cpu]);
  return taking.taken;
}

function numaOrder({ socketsFirst }: CpuTopology): CpuLevel[] {
  return socketsFirst ? ['socket', 'numa'] : ['numa'];
}

/** Takes the rest of the request from one cache that has enough CPUs. Cores that are free as a whole come first. */
function takePartOfCache(taking: Taking, topology: CpuTopology): void {
  for (const uncore of taking.rankedIds('uncore', [...numaOrder(topology), 'uncore'])) {
    if (taking.needed === 0) return;
    const inCache = taking.ranked([]).filter((place) => place.uncore === uncore);
    if (inCache.length < taking.needed) continue;
    const freeOf = countBy(inCache, 'core');
    const isWhole = ({ core }: CpuPlace): number => (freeOf.get(core) === topology.members('core', core).size ? 0 : 1);
    const ordered = inCache.toSorted(
      (left, right) => isWhole(left) - isWhole(right) || left.core - right.core || left.cpu - right.cpu,
    );
    taking.take(ordered.slice(0, taking.needed).map(({ cpu }) => cpu));
  }
}

/** The state of one selection: the free CPUs and the taken ones. Each ranking costs n log n for n free CPUs. */
class Taking {
  readonly taken = new Set<number>();
  needed: number;
  readonly #topology: CpuTopology;
  readonly #free: Map<number, CpuPlace>;

  constructor(topology: CpuTopology, available: CpuSet, count: number) {
    this.#topology = topology;
    this.needed = count;
    this.#free = new Map(topology.places(available).map((place) => [place.cpu, place]));
  }

  get freeCount(): number {
    return this.#free.size;
  }

  /** Takes these free CPUs until the request is met. */
  take(cpus: Iterable<number>): void {
    for (const cpu of cpus) {
      if (this.needed === 0) return;
      if (!this.#free.delete(cpu)) continue;
      this.taken.add(cpu);
      this.needed -= 1;
    }
  }

  /**
   * Takes the units of a level that are free as a whole and not larger than the remaining request, in the order of
   * `levels`.
   */
  takeWhole(level: CpuLevel, levels: readonly CpuLevel[]): void {
    if (this.needed === 0) return;
    const free = countBy(this.#free.values(), level);
    for (const id of this.rankedIds(level, levels)) {
      const members = this.#topology.members(level, id);
      if (free.get(id) === members.size && members.size <= this.needed) this.take(members);
    }
  }

  /** Returns the units of a level that have free CPUs. */
  rankedIds(level: CpuLevel, levels: readonly CpuLevel[]): Set<number> {
    return new Set(this.ranked(levels).map((place) => place[level]));
  }

  /** Returns the free CPUs, sorted at each level by the free CPUs of their unit, fewest first, then by number. */
  ranked(levels: readonly CpuLevel[]): CpuPlace[] {
    const places = [...this.#free.values()];
    const counts = levels.map((level) => ({ level, free: countBy(places, level) }));
    return places.sort((left, right) => {
      for (const { level, free } of counts) {
        if (left[level] === right[level]) continue;
        return (free.get(left[level]) ?? 0) - (free.get(right[level]) ?? 0) || left[level] - right[level];
      }
      return left.cpu - right.cpu;
    });
  }
}

function countBy(places: Iterable<CpuPlace>, level: CpuLevel): Map<number, number> {
  const counts = new Map<number, number>();
  for (const place of places) counts.set(place[level], (counts.get(place[level]) ?? 0) + 1);
  return counts;
}
