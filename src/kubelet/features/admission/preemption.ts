import { isCriticalPod } from '../../../api/pod.ts';
import { podQos } from '../../../api/qos.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PriorityOf } from '../../../api/pod-priority.ts';
import type { Shortage } from './resource-fit.ts';
import { requestedOf } from './resource-fit.ts';

interface Need {
  readonly resource: string;
  readonly amount: number;
}

/**
 * Selects the pods to stop so that a critical pod fits (upstream: preemption/preemption.go). It selects as few as
 * possible, best-effort before burstable before guaranteed pods, and the pod with the smaller request if two free the
 * same amount. If there is no such set, it returns the resources that would still be missing.
 */
export function selectVictims(
  critical: Pod,
  others: readonly Pod[],
  facts: { shortages: readonly Shortage[]; priorityOf: PriorityOf },
): { victims: Pod[] } | { missing: readonly Need[] } {
  const { shortages, priorityOf } = facts;
  const needs = shortages.map(({ resource, requested, used, capacity }) => ({
    resource,
    amount: requested - (capacity - used),
  }));
  const candidates = others.filter((other) => mayPreempt(critical, other, priorityOf));
  const missing = remaining(needs, candidates);
  if (missing.length > 0) return { missing };
  const ofClass = (qos: string): Pod[] => candidates.filter((pod) => podQos(pod) === qos);
  const [bestEffort, burstable, guaranteed] = [ofClass('BestEffort'), ofClass('Burstable'), ofClass('Guaranteed')];
  const guaranteedVictims = selectFewest(guaranteed, remaining(needs, [...bestEffort, ...burstable]));
  const burstableVictims = selectFewest(burstable, remaining(needs, [...bestEffort, ...guaranteedVictims]));
  const bestEffortVictims = selectFewest(bestEffort, remaining(needs, [...burstableVictims, ...guaranteedVictims]));
  return { victims: [...bestEffortVictims, ...burstableVictims, ...guaranteedVictims] };
}

/** Whether the critical pod may preempt the other pod (upstream: types.Preemptable). */
function mayPreempt(critical: Pod, other: Pod, priorityOf: PriorityOf): boolean {
  if (isCriticalPod(critical) && !isCriticalPod(other)) return true;
  const [own, others] = [priorityOf(critical), priorityOf(other)];
  return own !== undefined && others !== undefined && own > others;
}

/** Returns what the pod still needs after these pods are stopped. */
function remaining(needs: readonly Need[], gone: readonly Pod[]): Need[] {
  return needs
    .map(({ resource, amount }) => ({
      resource,
      amount: gone.reduce((left, pod) => left - requestedOf(pod, resource), amount),
    }))
    .filter(({ amount }) => amount > 0);
}

/**
 * Picks one pod after another, each time the one that leaves the smallest need. The caller has checked that all of them
 * together suffice.
 */
function selectFewest(pods: readonly Pod[], needs: readonly Need[]): Pod[] {
  const left = [...pods];
  const chosen: Pod[] = [];
  let open = [...needs];
  while (open.length > 0 && left.length > 0) {
    const best = left.reduce((winner, pod) => (isBetter(pod, winner, open) ? pod : winner));
    left.splice(left.indexOf(best), 1);
    chosen.push(best);
    open = remaining(open, [best]);
  }
  return chosen;
}

function isBetter(pod: Pod, than: Pod, needs: readonly Need[]): boolean {
  const [own, other] = [distance(pod, needs), distance(than, needs)];
  return own === other ? asksForLess(pod, than) : own < other;
}

/**
 * Returns the distance from the goal: the sum of the squares of the remaining fraction of each need, so that all needs
 * have the same weight.
 */
function distance(pod: Pod, needs: readonly Need[]): number {
  return needs.reduce(
    (sum, { resource, amount }) => sum + (Math.max(0, amount - requestedOf(pod, resource)) / amount) ** 2,
    0,
  );
}

function asksForLess(pod: Pod, than: Pod): boolean {
  for (const resource of ['memory', 'cpu']) {
    const difference = requestedOf(pod, resource) - requestedOf(than, resource);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

/** Formats the needs as in upstream's error: `[(res: cpu, q: 500), ]`. */
export function needsText(needs: readonly Need[]): string {
  return `[${needs.map(({ resource, amount }) => `(res: ${resource}, q: ${amount}), `).join('')}]`;
}
