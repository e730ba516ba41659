import { podRequests } from '../../../api/resources.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import { MAX_NODE_SCORE } from '../framework/plugin.ts';
import { amountFor, isScalarResource, resourcesOf } from '../framework/resources.ts';

export interface ResourceSpec {
  readonly name: string;
  readonly weight: number;
}
export interface ShapePoint {
  /** The utilization in percent. */
  readonly utilization: number;
  /** The score, 0 to 10. */
  readonly score: number;
}
export type ScoringStrategy =
  | { readonly type: 'LeastAllocated' | 'MostAllocated'; readonly resources: readonly ResourceSpec[] }
  | {
      readonly type: 'RequestedToCapacityRatio';
      readonly resources: readonly ResourceSpec[];
      readonly shape: readonly ShapePoint[];
    };

export const defaultScoredResources: readonly ResourceSpec[] = [
  { name: 'cpu', weight: 1 },
  { name: 'memory', weight: 1 },
];

/** Returns the pod's amount of each scored resource. Containers without CPU or memory requests count as small ones. */
export function nonZeroAmounts(pod: PodInfo, resources: readonly ResourceSpec[]): number[] {
  const others = resources.every(({ name }) => name === 'cpu' || name === 'memory')
    ? pod.requested
    : resourcesOf(podRequests(pod.pod, { useStatus: true }));
  return resources.map(({ name }) =>
    name === 'cpu' ? pod.nonZero.cpuMillis : name === 'memory' ? pod.nonZero.memoryBytes : amountFor(others, name),
  );
}

function nonZeroRequested(node: NodeInfo, name: string): number {
  if (name === 'cpu') return node.nonZeroCpuMillis;
  return name === 'memory' ? node.nonZeroMemoryBytes : amountFor(node.requested, name);
}

/**
 * Whether the resource is scored. A scalar resource is not if the pod does not request it or the node does not have it.
 */
export function countsFor(name: string, podAmount: number, capacity: number): boolean {
  return capacity !== 0 && (podAmount !== 0 || !isScalarResource(name));
}

/** Scores one resource, 0 to 100, from the requests on the node including the pod. */
function scoreOne(strategy: ScoringStrategy, requested: number, capacity: number): number {
  switch (strategy.type) {
    case 'LeastAllocated':
      return requested > capacity ? 0 : Math.trunc(((capacity - requested) * MAX_NODE_SCORE) / capacity);
    case 'MostAllocated':
      // Requests that are assumed for pods without requests may exceed the capacity. The node then counts as full.
      return Math.trunc((Math.min(requested, capacity) * MAX_NODE_SCORE) / capacity);
    case 'RequestedToCapacityRatio':
      return brokenLine(strategy.shape, requested > capacity ? 100 : Math.trunc((requested * 100) / capacity));
  }
}

/** Interpolates linearly between the points and is constant outside them. Points have scores of 0 to 10. */
function brokenLine(shape: readonly ShapePoint[], utilization: number): number {
  const scale = MAX_NODE_SCORE / 10;
  let before: ShapePoint | undefined;
  for (const point of shape) {
    if (utilization <= point.utilization) {
      if (before === undefined) return point.score * scale;
      const rise = (point.score - before.score) * scale * (utilization - before.utilization);
      return before.score * scale + Math.trunc(rise / (point.utilization - before.utilization));
    }
    before = point;
  }
  return (before?.score ?? 0) * scale;
}

/**
 * Returns the weighted mean over the resources (upstream:
 * noderesources/{least_allocated,most_allocated,requested_to_capacity_ratio}.go).
 */
export function scoreAllocation(strategy: ScoringStrategy, podAmounts: readonly number[], node: NodeInfo): number {
  let sum = 0;
  let weights = 0;
  const { resources } = strategy;
  for (let index = 0; index < resources.length; index++) {
    const { name, weight } = resources[index] as ResourceSpec;
    const amount = podAmounts[index] ?? 0;
    const capacity = amountFor(node.allocatable, name);
    if (!countsFor(name, amount, capacity)) continue;
    const score = scoreOne(strategy, nonZeroRequested(node, name) + amount, capacity);
    if (strategy.type === 'RequestedToCapacityRatio' && score <= 0) continue;
    sum += score * weight;
    weights += weight;
  }
  if (weights === 0) return 0;
  return strategy.type === 'RequestedToCapacityRatio' ? Math.round(sum / weights) : Math.trunc(sum / weights);
}
