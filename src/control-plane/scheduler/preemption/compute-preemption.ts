import type { Random } from '../../../base/random.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { DISRUPTION_TARGET } from '../../../api/reasons.ts';
import { formatDiagnosis } from '../decide/diagnosis.ts';
import { cloneChecks } from '../decide/filter-state.ts';
import type { Checks } from '../decide/filter-state.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import type { PreemptionArgs } from '../framework/profile.ts';
import { unresolvable } from '../framework/rejection.ts';
import type { Rejection } from '../framework/rejection.ts';
import type { Snapshot } from '../framework/snapshot.ts';
import { pickCandidate } from './pick-candidate.ts';
import { isVictim, selectVictims } from './victims.ts';
import type { Candidate } from './victims.ts';

const notHelpful = unresolvable('DefaultPreemption', 'Preemption is not helpful for scheduling');

export type PreemptionOutcome =
  /** The best candidate; `candidates` are all that were found. */
  | ({ readonly kind: 'preempt'; readonly candidates: readonly Candidate[] } & Candidate)
  /** The pod may not preempt, or must wait for earlier victims. An existing nomination stays. */
  | { readonly kind: 'notEligible'; readonly message: string }
  /** No eviction would help. An existing nomination is removed. */
  | { readonly kind: 'noCandidates'; readonly message: string };

export interface PreemptionQuestion {
  readonly snapshot: Snapshot;
  readonly pod: PodInfo;
  readonly random: Random;
  readonly args: PreemptionArgs;
  /** The checks with the state that the filters left. */
  readonly checks: Checks;
  readonly rejections: ReadonlyMap<string, Rejection>;
  readonly absent: Rejection;
}

/** Decides which pods must be evicted from which node (upstream: DefaultPreemption). It is pure and evicts no pod. */
export function computePreemption(question: PreemptionQuestion): PreemptionOutcome {
  const { snapshot, rejections, absent } = question;
  const message = whyNotEligible(question);
  if (message !== undefined) return { kind: 'notEligible', message };
  const nodes = snapshot.nodes();
  const hopeful = nodes.filter((node) => (rejections.get(node.name) ?? absent).code === 'Unschedulable');
  const { candidates, refusals } = findCandidates(question, hopeful);
  const [first] = candidates;
  if (first === undefined) {
    return {
      kind: 'noCandidates',
      message: formatDiagnosis({
        nodeCount: nodes.length,
        rejections: refusals,
        absent: notHelpful,
        preFilterReasons: [],
        postFilterMessage: '',
      }),
    };
  }
  return { kind: 'preempt', ...pickCandidate(candidates), candidates };
}

/**
 * Returns why the pod may not preempt. A pod whose victims are still terminating on its nominated node waits for them.
 */
function whyNotEligible({ snapshot, pod, rejections, absent }: PreemptionQuestion): string | undefined {
  if (pod.pod.spec.preemptionPolicy === 'Never') return 'not eligible due to preemptionPolicy=Never.';
  const nominated = pod.pod.status?.nominatedNodeName ?? '';
  if (nominated === '' || (rejections.get(nominated) ?? absent).code === 'UnschedulableAndUnresolvable')
    return undefined;
  for (const other of snapshot.node(nominated)?.pods.values() ?? []) {
    if (isVictim(other, pod) && isLeavingForPreemption(other.pod))
      return 'not eligible due to a terminating pod on the nominated node.';
  }
  return undefined;
}

function isLeavingForPreemption({ metadata, status }: Pod): boolean {
  if (metadata.deletionTimestamp === undefined) return false;
  const condition = status?.conditions?.find(({ type }) => type === DISRUPTION_TARGET);
  return condition?.status === 'True' && condition.reason === 'PreemptionByScheduler';
}

/**
 * Tries nodes, starting at a random one, until it has enough candidates and at least one of them violates no budget.
 */
function findCandidates(
  question: PreemptionQuestion,
  nodes: readonly NodeInfo[],
): { readonly candidates: readonly Candidate[]; readonly refusals: ReadonlyMap<string, Rejection> } {
  const { snapshot, pod, random, checks } = question;
  const refusals = new Map<string, Rejection>();
  const candidates: { readonly clean: Candidate[]; readonly violating: Candidate[] } = { clean: [], violating: [] };
  const wanted = candidatesToFind(nodes.length, question.args);
  const offset = Math.floor(random.next() * nodes.length);
  const budgets = nodes.length === 0 ? [] : [...snapshot.objects.podDisruptionBudgets()];
  for (let index = 0; index < nodes.length; index++) {
    const node = (nodes[(offset + index) % nodes.length] as NodeInfo).clone();
    const found = selectVictims({ snapshot, pod, checks: cloneChecks(checks), node, budgets });
    if ('code' in found) refusals.set(node.name, found);
    else if (found.victims.length === 0) continue;
    else if (found.budgetViolations === 0) candidates.clean.push(found);
    else candidates.violating.push(found);
    if (candidates.clean.length > 0 && candidates.clean.length + candidates.violating.length >= wanted) break;
  }
  return { candidates: [...candidates.clean, ...candidates.violating], refusals };
}

export function candidatesToFind(
  nodeCount: number,
  { minCandidateNodesPercentage, minCandidateNodesAbsolute }: PreemptionArgs,
): number {
  return Math.min(
    nodeCount,
    Math.max(minCandidateNodesAbsolute, Math.trunc((nodeCount * minCandidateNodesPercentage) / 100)),
  );
}
