import type { NumaMask, ResourceHints, TopologyHint } from '../../model/topology-hints.ts';
import { compareMasks, countNodes, positionsOf } from '../../model/topology-hints.ts';

export type TopologyPolicyName = 'none' | 'best-effort' | 'restricted' | 'single-numa-node';

export interface MergeFacts {
  readonly policy: Exclude<TopologyPolicyName, 'none'>;
  readonly nodes: number;
  /** The kernel's distances between nodes, by position; undefined unless the closest nodes are preferred. */
  readonly distances: readonly (readonly number[])[] | undefined;
}

/**
 * Computes the placement that suits all resources best, and whether the policy admits it (upstream:
 * topologymanager/policy.go HintMerger, with the filters of each policy). Upstream tries every combination of hints.
 * This function finds the same result in time that is linear in the number of hints and masks: it counts the hints of
 * each resource that contain a mask, and derives from the counts which masks are an intersection.
 */
export function mergeHints(
  provided: readonly (ResourceHints | undefined)[],
  facts: MergeFacts,
): { readonly hint: TopologyHint; readonly admit: boolean } {
  const all = 2 ** facts.nodes - 1;
  const lists = filterHints(provided, facts.policy);
  const best = bestHint(lists, facts, all);
  if (facts.policy === 'best-effort') return { hint: best, admit: true };
  // A machine with one node has only one placement, so there is nothing to align.
  const hint = facts.policy === 'single-numa-node' && best.affinity === all ? { ...best, affinity: undefined } : best;
  return { hint, admit: hint.preferred };
}

/** Returns one list per resource. A resource without preference has one hint that allows all nodes. */
function filterHints(
  provided: readonly (ResourceHints | undefined)[],
  policy: MergeFacts['policy'],
): (readonly TopologyHint[])[] {
  const lists: (readonly TopologyHint[])[] = [];
  for (const resources of provided) {
    if (resources === undefined || resources.size === 0) lists.push([{ affinity: undefined, preferred: true }]);
    else
      for (const hints of resources.values())
        lists.push(hints.length === 0 ? [{ affinity: undefined, preferred: false }] : hints);
  }
  if (policy !== 'single-numa-node') return lists;
  return lists.map((hints) =>
    hints.filter(({ affinity, preferred }) => preferred && (affinity === undefined || countNodes(affinity) === 1)),
  );
}

function bestHint(lists: readonly (readonly TopologyHint[])[], facts: MergeFacts, all: NumaMask): TopologyHint {
  const preferred = preferredMasks(lists, all);
  if (preferred.length > 0) return { affinity: preferred.reduce(first(compareBy(facts))), preferred: true };
  const reachable = reachableMasks(lists, facts.nodes, all);
  if (reachable.length === 0) return { affinity: all, preferred: false };
  return { affinity: reachable.reduce(first(compareOthers(lists, facts))), preferred: false };
}

const first =
  (compare: (left: NumaMask, right: NumaMask) => number) =>
  (left: NumaMask, right: NumaMask): NumaMask =>
    compare(left, right) <= 0 ? left : right;

/** Returns the masks that every resource prefers. */
function preferredMasks(lists: readonly (readonly TopologyHint[])[], all: NumaMask): NumaMask[] {
  let common: Set<NumaMask> | undefined;
  for (const hints of lists) {
    const own = hints.filter((hint) => hint.preferred);
    if (own.some(({ affinity }) => affinity === undefined)) continue;
    const masks = new Set(own.flatMap(({ affinity }) => (affinity === undefined ? [] : [affinity & all])));
    common = common?.intersection(masks) ?? masks;
  }
  return common === undefined ? [all] : [...common].filter((mask) => mask !== 0);
}

/** Returns the masks that are the intersection of one hint of each resource, without the empty one. */
function reachableMasks(lists: readonly (readonly TopologyHint[])[], nodes: number, all: NumaMask): NumaMask[] {
  let reached = Array.from({ length: all + 1 }, (_, mask) => (mask === all ? 1 : 0));
  for (const hints of lists) {
    const own = Array.from({ length: all + 1 }, () => 0);
    for (const { affinity = all } of hints) own[affinity & all] = 1;
    const [left, right] = [supersetCounts(reached, nodes), supersetCounts(own, nodes)];
    reached = exactCounts(
      left.map((count, mask) => count * (right[mask] ?? 0)),
      nodes,
    ).map((count) => (count > 0 ? 1 : 0));
  }
  return reached.flatMap((isReached, mask) => (isReached === 1 && mask !== 0 ? [mask] : []));
}

/** Counts for each mask how many of the given masks contain it. */
function supersetCounts(given: readonly number[], nodes: number): number[] {
  return overSupersets(given, nodes, 1);
}

/** The inverse of `supersetCounts`. */
function exactCounts(counts: readonly number[], nodes: number): number[] {
  return overSupersets(counts, nodes, -1);
}

function overSupersets(given: readonly number[], nodes: number, sign: 1 | -1): number[] {
  const counts = [...given];
  for (let bit = 1; bit < 2 ** nodes; bit *= 2) {
    for (let mask = 0; mask < counts.length; mask += 1)
      if ((mask & bit) === 0) counts[mask] = (counts[mask] ?? 0) + sign * (counts[mask | bit] ?? 0);
  }
  return counts;
}

/** Compares masks: fewer nodes first, then the closest ones if that is configured, then the lower ones. */
function compareBy({ policy, distances }: MergeFacts): (left: NumaMask, right: NumaMask) => number {
  if (distances === undefined || policy === 'single-numa-node') return compareMasks;
  return (left, right) =>
    countNodes(left) - countNodes(right) ||
    averageDistance(left, distances) - averageDistance(right, distances) ||
    left - right;
}

function averageDistance(mask: NumaMask, distances: readonly (readonly number[])[]): number {
  const nodes = positionsOf(mask);
  let sum = 0;
  for (const from of nodes) for (const to of nodes) sum += distances[from]?.[to] ?? 0;
  return sum / nodes.length ** 2;
}

/**
 * Compares masks without a common preference (upstream: HintMerger.compare). Best is the number of nodes that the most
 * demanding resource needs. Then come fewer nodes, as many as possible, and then more nodes, as few as possible.
 */
function compareOthers(
  lists: readonly (readonly TopologyHint[])[],
  facts: MergeFacts,
): (left: NumaMask, right: NumaMask) => number {
  const compare = compareBy(facts);
  const wanted = Math.max(
    0,
    ...lists
      .map((hints) => {
        const counts = hints.flatMap(({ affinity }) => (affinity === undefined ? [] : [countNodes(affinity)]));
        return counts.reduce((least, count) => Math.min(least, count), Infinity);
      })
      .filter(Number.isFinite),
  );
  const rank = (mask: NumaMask): number => {
    const count = countNodes(mask);
    return count <= wanted ? wanted - count : count;
  };
  const isOver = (mask: NumaMask): number => (countNodes(mask) > wanted ? 1 : 0);
  return (left, right) => isOver(left) - isOver(right) || rank(left) - rank(right) || compare(left, right);
}
