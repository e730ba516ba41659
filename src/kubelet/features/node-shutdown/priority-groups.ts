import { priorities } from '../../../api/annotations.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PriorityOf } from '../../../api/pod-priority.ts';
import type { ShutdownConfig } from '../../model/config/kubelet-config.ts';

/** A row of the configuration: pods from this priority up to the next higher row have this time to stop. */
export interface PriorityGrace {
  readonly priority: number;
  readonly graceMs: number;
}

/** Pods that stop together, after all pods of lower groups. */
export interface ShutdownGroup extends PriorityGrace {
  readonly pods: readonly Pod[];
}

interface Gates {
  enabled(gate: 'GracefulNodeShutdown' | 'GracefulNodeShutdownBasedOnPodPriority'): boolean;
}

/**
 * Computes the configured times in ascending order of priority; none when graceful shutdown is off. The two configured
 * periods become rows for ordinary and for critical pods (upstream: nodeshutdown_manager.go migrateConfig).
 */
export function computePriorityGraces(config: ShutdownConfig, gates: Gates): readonly PriorityGrace[] {
  if (!gates.enabled('GracefulNodeShutdown')) return [];
  const rows = gates.enabled('GracefulNodeShutdownBasedOnPodPriority') ? config.byPriority : [];
  if (rows.length > 0) return rows.toSorted((left, right) => left.priority - right.priority);
  if (config.graceMs <= 0) return [];
  return [
    { priority: 0, graceMs: Math.max(0, config.graceMs - config.criticalPodsGraceMs) },
    { priority: priorities.systemCritical, graceMs: config.criticalPodsGraceMs },
  ];
}

/** Returns the time of all groups one after another, in milliseconds. */
export function totalGraceMs(graces: readonly PriorityGrace[]): number {
  return graces.reduce((sum, { graceMs }) => sum + graceMs, 0);
}

/** Shortens the times to fit into `availableMs`, all by the same share, so that critical pods also get time. */
export function fitGraces(graces: readonly PriorityGrace[], availableMs: number): readonly PriorityGrace[] {
  const totalMs = totalGraceMs(graces);
  if (totalMs <= availableMs) return graces;
  return graces.map(({ priority, graceMs }) => ({
    priority,
    graceMs: Math.floor((graceMs * Math.max(0, availableMs)) / totalMs),
  }));
}

/**
 * Divides pods by priority, lowest group first. A pod belongs to the highest row that is not above its priority. A pod
 * below all rows belongs to the lowest (upstream: groupByPriority). `graces` are in ascending order.
 */
export function groupByPriority(
  pods: readonly Pod[],
  graces: readonly PriorityGrace[],
  priorityOf: PriorityOf,
): readonly ShutdownGroup[] {
  const groups = graces.map((grace) => ({ ...grace, pods: [] as Pod[] }));
  for (const pod of pods) rowOf(pod, groups, priorityOf)?.pods.push(pod);
  return groups;
}

/** Returns the row of one pod; undefined if there are no rows. */
export function rowOf<Row extends PriorityGrace>(
  pod: Pod,
  rows: readonly Row[],
  priorityOf: PriorityOf,
): Row | undefined {
  const priority = priorityOf(pod) ?? 0;
  return rows.findLast((row) => row.priority <= priority) ?? rows[0];
}

/** Returns the grace period of a pod: its own, but at most that of its group (upstream: killPods). */
export function killGraceMs({ spec }: Pod, { graceMs }: PriorityGrace): number {
  const { terminationGracePeriodSeconds: own } = spec;
  return own === undefined ? graceMs : Math.min(Number(own) * 1000, graceMs);
}
