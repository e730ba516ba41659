import { podRequests } from '../../../api/resources.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import { MAX_NODE_SCORE } from '../framework/plugin.ts';
import type { Plugin } from '../framework/plugin.ts';
import { amountFor, resourcesOf } from '../framework/resources.ts';
import { countsFor, defaultScoredResources } from './resource-scoring.ts';
import type { ResourceSpec } from './resource-scoring.ts';

/**
 * Nodes on which the pod makes the shares of the resources in use more even; pods that ask for none of them do not
 * care.
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
  const withPod: number[] = [];
  const withoutPod: number[] = [];
  for (let index = 0; index < resources.length; index++) {
    const { name } = resources[index] as ResourceSpec;
    const amount = amounts[index] ?? 0;
    const capacity = amountFor(node.allocatable, name);
    if (!countsFor(name, amount, capacity)) continue;
    const used = amountFor(node.requested, name);
    withPod.push(Math.min(1, (used + amount) / capacity));
    withoutPod.push(Math.min(1, used / capacity));
  }
  const half = MAX_NODE_SCORE / 2;
  return half + Math.trunc((half + evenness(withPod) - evenness(withoutPod)) / 2);
}

/** 100 when all shares are the same, less by their standard deviation. */
function evenness(shares: readonly number[]): number {
  return Math.trunc((1 - deviation(shares)) * MAX_NODE_SCORE);
}

function deviation(shares: readonly number[]): number {
  const [first, second] = shares;
  if (first === undefined || second === undefined) return 0;
  if (shares.length === 2) return Math.abs((first - second) / 2);
  const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
  return Math.sqrt(shares.reduce((sum, share) => sum + (share - mean) ** 2, 0) / shares.length);
}
