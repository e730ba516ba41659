import type { PodDisruptionBudget } from '../../../api/policy/pod-disruption-budget.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { compileLabelSelector } from '../framework/label-matcher.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import { unresolvable } from '../framework/rejection.ts';
import type { Rejection } from '../framework/rejection.ts';
import type { Snapshot } from '../framework/snapshot.ts';
import { pretendAdded, pretendRemoved, runChecksWithNominated } from '../decide/filter-state.ts';
import type { Checks } from '../decide/filter-state.ts';

export interface Candidate {
  readonly nodeName: string;
  /** The pods to evict, in descending order of priority. There is at least one. */
  readonly victims: readonly PodInfo[];
  /** The number of victims that a disruption budget protects. */
  readonly budgetViolations: number;
}

export interface VictimQuestion {
  readonly snapshot: Snapshot;
  readonly pod: PodInfo;
  /** Copies of the checks, which this question may change. */
  readonly checks: Checks;
  readonly node: NodeInfo;
  readonly budgets: Iterable<PodDisruptionBudget>;
}

export const isVictim = (other: PodInfo, preemptor: PodInfo): boolean => other.priority < preemptor.priority;

/**
 * Selects the pods to evict from the node. A dry run removes all pods of lower priority. Then it adds back as many as
 * fit: first those that a budget protects, and within each group those of higher priority (upstream:
 * SelectVictimsOnNode).
 */
export function selectVictims({ snapshot, pod, checks, node, budgets }: VictimQuestion): Candidate | Rejection {
  const lower = [...node.pods.values()].filter((other) => isVictim(other, pod));
  if (lower.length === 0) return unresolvable('DefaultPreemption', 'No preemption victims found for incoming pod');
  for (const other of lower) pretendRemoved(checks, other, node);
  const fits = (): Rejection | undefined => runChecksWithNominated(checks, pod, node, snapshot);
  const stillRejected = fits();
  if (stillRejected !== undefined) return stillRejected;
  const { violating, others } = splitByBudgets([...lower].sort(byImportance), budgets);
  const victims: PodInfo[] = [];
  let budgetViolations = 0;
  for (const [index, other] of [...violating, ...others].entries()) {
    pretendAdded(checks, other, node);
    if (fits() === undefined) continue;
    pretendRemoved(checks, other, node);
    victims.push(other);
    if (index < violating.length) budgetViolations++;
  }
  return { nodeName: node.name, victims: victims.sort(byImportance), budgetViolations };
}

/** Sorts by priority, then by running time (upstream: util.MoreImportantPod). */
function byImportance(left: PodInfo, right: PodInfo): number {
  return right.priority - left.priority || startTimeMs(left.pod) - startTimeMs(right.pod);
}

/** Returns the start time. A pod that has not started counts as one that starts now. */
export function startTimeMs({ status }: Pod): number {
  return status?.startTime === undefined ? Infinity : Date.parse(status.startTime);
}

/** Splits the pods, in the given order, by whether the remaining budgets allow their eviction. */
function splitByBudgets(
  pods: readonly PodInfo[],
  budgets: Iterable<PodDisruptionBudget>,
): { readonly violating: readonly PodInfo[]; readonly others: readonly PodInfo[] } {
  const open = [...budgets].map(({ metadata, spec, status }) => ({
    namespace: metadata.namespace,
    selector: compileLabelSelector(spec.selector),
    disrupted: status?.disruptedPods ?? {},
    allowed: status?.disruptionsAllowed ?? 0,
  }));
  const violating: PodInfo[] = [];
  const others: PodInfo[] = [];
  for (const pod of pods) {
    let violates = false;
    for (const budget of Object.keys(pod.labels).length === 0 ? [] : open) {
      if (budget.namespace !== pod.namespace || budget.selector.empty || !budget.selector.matches(pod.labels)) continue;
      // The eviction of this pod was already allowed.
      if (Object.hasOwn(budget.disrupted, pod.pod.metadata.name)) continue;
      budget.allowed--;
      if (budget.allowed < 0) violates = true;
    }
    (violates ? violating : others).push(pod);
  }
  return { violating, others };
}
