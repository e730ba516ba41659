import type { CpuSet } from '../../../model/cpu-set.ts';
import { sortedCpus } from '../../../model/cpu-set.ts';
import type { CpuLevel, CpuTopology } from '../cpu-topology.ts';

/**
 * A slow reference for packed selections: each step ranks all units of the machine and takes the first that the rules
 * allow.
 */
export function naiveTake(topology: CpuTopology, available: CpuSet, count: number): CpuSet | undefined {
  if (available.size < count) return undefined;
  const order: readonly CpuLevel[] = topology.socketsFirst ? ['socket', 'numa'] : ['numa', 'socket'];
  const taken = new Set<number>();
  for (const level of [order[0], order[1], 'core'] as const) {
    const units = rankedUnits(topology, available.difference(taken), order, level ?? 'core');
    for (const id of units) {
      const members = topology.members(level ?? 'core', id);
      const isFree = members.isSubsetOf(available) && members.isDisjointFrom(taken);
      if (isFree && members.size <= count - taken.size) for (const cpu of members) taken.add(cpu);
    }
  }
  const rest = available.difference(taken);
  for (const core of rankedUnits(topology, rest, order, 'core')) {
    for (const cpu of sortedCpus(topology.members('core', core).intersection(rest)))
      if (taken.size < count) taken.add(cpu);
  }
  return taken;
}

/**
 * Ranks units with free CPUs: first by the free CPUs of the parent, then by their own, then by number. Fuller units
 * come first.
 */
function rankedUnits(topology: CpuTopology, free: CpuSet, order: readonly CpuLevel[], level: CpuLevel): number[] {
  const levels = level === order[0] ? [level] : level === order[1] ? [...order] : [...order, level];
  const freeIn = (at: CpuLevel, id: number): number => topology.members(at, id).intersection(free).size;
  const parentOf = (id: number, at: CpuLevel): number => {
    const cpus = topology.members(level, id).intersection(free);
    const ids = [...topology.idsOf(at, cpus)];
    return ids.sort((left, right) => freeIn(at, left) - freeIn(at, right) || left - right)[0] ?? 0;
  };
  return [...topology.idsOf(level, free)].sort((left, right) => {
    for (const at of levels) {
      const [one, other] = [parentOf(left, at), parentOf(right, at)];
      const difference = freeIn(at, one) - freeIn(at, other) || one - other;
      if (difference !== 0) return difference;
    }
    return 0;
  });
}
