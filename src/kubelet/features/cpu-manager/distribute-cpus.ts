import type { CpuSet } from '../../model/cpu-set.ts';
import type { CpuTopology } from './cpu-topology.ts';
import { takeCpus } from './take-cpus.ts';

/**
 * Takes `count` of the available CPUs in equal shares from as few NUMA nodes as possible, in groups of `groupSize` CPUs
 * (upstream: cpu_assignment.go takeByTopologyNUMADistributed, KEP-2902). If no set of nodes can give equal shares, it
 * packs the CPUs. Returns undefined if there are too few. Among sets of the same size it uses the one that leaves the
 * free CPUs of the machine most evenly spread.
 */
export function distributeCpus(
  topology: CpuTopology,
  available: CpuSet,
  count: number,
  groupSize: number,
): CpuSet | undefined {
  const shares = count % groupSize === 0 ? computeShares(topology, available, { count, groupSize }) : undefined;
  if (shares === undefined) return takeCpus(topology, available, count);
  const taken = new Set<number>();
  for (const [numa, share] of shares) {
    const free = topology.members('numa', numa).intersection(available);
    for (const cpu of takeCpus(topology, free, share) ?? []) taken.add(cpu);
  }
  return taken.size === count ? taken : takeCpus(topology, available, count);
}

interface Request {
  readonly count: number;
  readonly groupSize: number;
}

interface Spread {
  readonly shares: ReadonlyMap<number, number>;
  /** The standard deviation of the free CPUs per node; 0 if all nodes have the same number. */
  readonly balance: number;
}

/** Computes how many CPUs each NUMA node gives, or undefined if no set of nodes can give equal shares. */
export function computeShares(
  topology: CpuTopology,
  available: CpuSet,
  request: Request,
): ReadonlyMap<number, number> | undefined {
  const free = new Map<number, number>();
  for (const { numa } of topology.places(available)) free.set(numa, (free.get(numa) ?? 0) + 1);
  const nodes = [...free.keys()].sort((left, right) => (free.get(left) ?? 0) - (free.get(right) ?? 0) || left - right);
  const groups = Math.ceil(request.count / request.groupSize);
  for (let size = 1; size <= Math.min(groups, nodes.length); size += 1) {
    let best: Spread | undefined;
    for (const combination of combinations(nodes, size)) {
      const spread = computeSpread(combination, free, request);
      if (spread !== undefined && (best === undefined || spread.balance < best.balance)) best = spread;
      if (best?.balance === 0) break;
    }
    if (best !== undefined) return best.shares;
  }
  return undefined;
}

/** Computes equal shares of these nodes. The rest comes in groups from the nodes that have the most CPUs left. */
function computeSpread(
  nodes: readonly number[],
  free: ReadonlyMap<number, number>,
  { count, groupSize }: Request,
): Spread | undefined {
  const share = Math.floor(count / nodes.length / groupSize) * groupSize;
  const capacity = nodes.reduce((sum, node) => sum + Math.floor((free.get(node) ?? 0) / groupSize), 0) * groupSize;
  if (capacity < count || nodes.some((node) => (free.get(node) ?? 0) < share)) return undefined;
  const left = new Map(free);
  for (const node of nodes) left.set(node, (left.get(node) ?? 0) - share);
  const groups = (count - share * nodes.length) / groupSize;
  const givers = nodes
    .filter((node) => (left.get(node) ?? 0) >= groupSize)
    .toSorted((one, other) => (left.get(other) ?? 0) - (left.get(one) ?? 0));
  const plans = groups === 0 ? [[]] : givers.map((_, index) => givers.slice(0, index + 1));
  let best: Spread | undefined;
  for (const plan of plans.reverse()) {
    const after = handOut(plan, left, { groups, groupSize });
    if (after === undefined) continue;
    const balance = standardDeviation([...after.values()]);
    if (best !== undefined && balance >= best.balance) continue;
    best = { balance, shares: new Map(nodes.map((node) => [node, (free.get(node) ?? 0) - (after.get(node) ?? 0)])) };
  }
  return best;
}

/** Takes one group from each node in turn. Returns undefined if the nodes do not have enough. */
function handOut(
  givers: readonly number[],
  left: ReadonlyMap<number, number>,
  { groups, groupSize }: { groups: number; groupSize: number },
): ReadonlyMap<number, number> | undefined {
  const after = new Map(left);
  let rest = groups;
  for (let gave = true; rest > 0 && gave; ) {
    gave = false;
    for (const node of givers) {
      const amount = after.get(node) ?? 0;
      if (rest === 0 || amount < groupSize) continue;
      after.set(node, amount - groupSize);
      rest -= 1;
      gave = true;
    }
  }
  return rest === 0 ? after : undefined;
}

/** Returns the standard deviation, rounded to three digits, so that rounding errors do not affect comparisons. */
export function standardDeviation(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
  return Math.round(Math.sqrt(variance) * 1000) / 1000;
}

/** Generates all choices of `size` of the items, in their order. */
function* combinations(items: readonly number[], size: number, from = 0): Generator<number[]> {
  if (size === 0) {
    yield [];
    return;
  }
  for (let index = from; index <= items.length - size; index += 1) {
    for (const rest of combinations(items, size - 1, index + 1)) yield [items[index] ?? 0, ...rest];
  }
}
