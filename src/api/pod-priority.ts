import { priorities } from './annotations.ts';
import type { Pod } from './core/pod.ts';

/** The priority of a pod; undefined for a pod without one. */
export type PriorityOf = (pod: Pod) => number | undefined;

/**
 * Upstream's API server sets priorities. A pod that was never in an API server only has the priority in its manifest.
 */
export const givenPriority: PriorityOf = (pod) => pod.spec.priority;

/**
 * On a node without an API server, the agent resolves the built-in priority classes; without a class the priority is 0.
 */
export const standalonePriority: PriorityOf = (pod) =>
  pod.spec.priority ?? builtInClasses.get(pod.spec.priorityClassName ?? '') ?? 0;

const builtInClasses = new Map<string, number>([
  [priorities.nodeCriticalClass, priorities.systemCritical + 1000],
  [priorities.clusterCriticalClass, priorities.systemCritical],
]);
