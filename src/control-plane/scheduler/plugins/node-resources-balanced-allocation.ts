import { podRequests } from '../../../api/resources.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import { MAX_NODE_SCORE } from '../framework/plugin.ts';
import type { Plugin } from '../framework/plugin.ts';
import { amountFor, resourcesOf } from '../framework/resources.ts';
import { countsFor, defaultScoredResources } from './resource-scoring.ts';
import type { ResourceSpec } from './resource-scoring.ts';

/**
 * Prefers nodes whose resources are used more evenly with the pod. Pods that request none of the resources are not
 * scored.
 */
export function createNodeResourcesBalancedAllocation(
  resources: readonly ResourceSpec[] = defaultScoredResources,
): Plugin {
  return {
    name: 'NodeResourcesBalancedAllocation',
    preScore: (pod) => {
      const own = resources.every(({ name }) => name === 'cpu' || name === 'memory')
        ? pod.requested
        : resourcesOf(podRequests(pod.pod, { useStatus: true }));
      const amounts = resources.map(({ name }) => amountFor(own, name));
      if (amounts.every((amount) => amount === 0)) return undefined;
      return { score: (node) => scoreBalance(resources, amounts, node) };
    },
  };
}

function scoreBalance(resources: readonly ResourceSpec[], amounts: readonly number[], node: NodeInfo): number {
  const withPod = evenness(resources, amounts, node, true);
  const half = MAX_NODE_SCORE / 2;
  return half + Math.trunc((half + withPod - evenness(resources, amounts, node, false)) / 2);
}

/** Returns 100 for equal shares of all resources, minus their standard deviation. It allocates no memory. */
function evenness(
  resources: readonly ResourceSpec[],
  amounts: readonly number[],
  { allocatable, requested }: NodeInfo,
  isThere: boolean,
): number {
  const shareOf = (index: number): number | undefined => {
    const { name } = resources[index] as ResourceSpec;
    const amount = amounts[index] ?? 0;
    const capacity = amountFor(allocatable, name);
    if (!countsFor(name, amount, capacity)) return undefined;
    return Math.min(1, (amountFor(requested, name) + (isThere ? amount : 0)) / capacity);
  };
  let count = 0;
  let first = 0;
  let second = 0;
  let sum = 0;
  for (let index = 0; index < resources.length; index++) {
    const share = shareOf(index);
    if (share === undefined) continue;
    if (count === 0) first = share;
    else if (count === 1) second = share;
    sum += share;
    count++;
  }
  if (count < 2) return MAX_NODE_SCORE;
  if (count === 2) return Math.trunc((1 - Math.abs((first - second) / 2)) * MAX_NODE_SCORE);
  const mean = sum / count;
  let squares = 0;
  for (let index = 0; index < resources.length; index++) squares += ((shareOf(index) ?? mean) - mean) ** 2;
  return Math.trunc((1 - Math.sqrt(squares / count)) * MAX_NODE_SCORE);
}
