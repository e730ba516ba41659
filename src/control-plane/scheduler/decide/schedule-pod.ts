import type { ResourceClaim } from '../../../api/resource/resource-claim.ts';
import type { Random } from '../../../base/random.ts';
import type { Rejection } from '../framework/rejection.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import type { ClaimPlan, VolumePlan } from '../framework/plugin.ts';
import type { Profile } from '../framework/profile.ts';
import type { Snapshot } from '../framework/snapshot.ts';
import { computePreemption } from '../preemption/compute-preemption.ts';
import type { PreemptionOutcome } from '../preemption/compute-preemption.ts';
import {
  DEALLOCATED,
  NOT_PREPARED,
  NOTHING_TO_DEALLOCATE,
  STILL_NOT_SCHEDULABLE,
} from '../plugins/dynamic-resources.ts';
import { formatDiagnosis } from './diagnosis.ts';
import type { Diagnosis } from './diagnosis.ts';
import { findNodes, preFilter } from './find-nodes.ts';
import type { FoundNodes } from './find-nodes.ts';
import type { Checks } from './filter-state.ts';
import { scoreNodes, selectBest } from './score-nodes.ts';
import type { NodeScores } from './score-nodes.ts';

export const NO_NODES_MESSAGE = 'no nodes available to schedule pods';

/** The decision about a pod with its reasons, as data. */
export type Decision =
  | {
      readonly kind: 'placed';
      readonly nodeName: string;
      /** The scores. They are absent if only one node passed the filters. */
      readonly scores?: NodeScores;
      readonly rejections: ReadonlyMap<string, Rejection>;
      readonly volumes: VolumePlan | undefined;
      /** The resource claims to allocate or reserve. */
      readonly claims: ClaimPlan;
      readonly nextStart: number;
    }
  | {
      readonly kind: 'unschedulable';
      readonly diagnosis: Diagnosis;
      /** The text for events and for the condition `PodScheduled`. */
      readonly message: string;
      /** The pods to evict, and the node that this would free. */
      readonly preemption: Extract<PreemptionOutcome, { kind: 'preempt' }> | undefined;
      /** A claim of the pod to deallocate, because its devices exclude the remaining nodes. */
      readonly deallocate: ResourceClaim | undefined;
      /** The new value of `status.nominatedNodeName`; undefined does not change it. */
      readonly nominate: string | undefined;
      readonly nextStart: number;
    }
  | { readonly kind: 'noNodes' };

export interface DecideOptions {
  /** The index where the last search through the nodes ended. */
  readonly start: number;
  readonly random: Random;
}

/** The result of the filters, before nodes are scored. */
export type Search =
  | { readonly kind: 'settled'; readonly decision: Decision }
  | { readonly kind: 'found'; readonly found: FoundNodes; readonly checks: Checks };

/**
 * Decides for one pod. Pure: it reads only the snapshot and changes nothing; the same input gives the same decision.
 */
export function schedulePod(
  snapshot: Snapshot,
  pod: PodInfo,
  profile: Profile,
  { start, random }: DecideOptions,
): Decision {
  const search = searchNodes({ snapshot, pod, profile, random }, { start });
  if (search.kind === 'settled') return search.decision;
  const { feasible } = search.found;
  const [first] = feasible as readonly [NodeInfo, ...NodeInfo[]];
  const scores = feasible.length === 1 ? undefined : scoreNodes(profile, pod, snapshot, feasible);
  const chosen = scores === undefined ? first : selectBest(scores, random);
  return placeOn(chosen, search, scores);
}

/** Runs the filters and returns the nodes that passed, or the rejections. */
export function searchNodes(
  question: Question,
  { start, skipNominated = false }: { readonly start: number; readonly skipNominated?: boolean },
): Search {
  const { snapshot, pod, profile } = question;
  const settled = (decision: Decision): Search => ({ kind: 'settled', decision });
  const nodeCount = snapshot.nodes().length;
  if (nodeCount === 0) return settled({ kind: 'noNodes' });
  const outcome = preFilter(profile, pod, snapshot);
  if (outcome.kind === 'rejected') {
    const { rejection } = outcome;
    const found = {
      nodeCount,
      rejections: new Map<string, Rejection>(),
      absent: rejection,
      preFilterReasons: rejection.reasons,
    };
    const more = { checks: [], rejectors: new Set([rejection.plugin]), nextStart: start };
    return settled(afterFilters(question, found, more));
  }
  const found = findNodes({ profile, pod, snapshot, outcome, start, skipNominated });
  if (found.feasible.length > 0) return { kind: 'found', found, checks: outcome.checks };
  return settled(rejectAll(question, found, { checks: outcome.checks, narrowedBy: outcome.narrowedBy }));
}

/** Builds the decision for a pod whose nodes were all rejected by plugins or extenders. */
export function rejectAll(
  question: Question,
  { rejections, absent, nextStart }: Omit<FoundNodes, 'feasible' | 'isNominated'>,
  { checks, narrowedBy }: { readonly checks: Checks; readonly narrowedBy: readonly string[] },
): Extract<Decision, { kind: 'unschedulable' }> {
  const rejectors = new Set([...rejections.values()].map(({ plugin }) => plugin));
  for (const plugin of narrowedBy) rejectors.add(plugin);
  const nodeCount = question.snapshot.nodes().length;
  return afterFilters(
    question,
    { nodeCount, rejections, absent, preFilterReasons: [] },
    { checks, rejectors, nextStart },
  );
}

/** Builds the decision for a chosen node, with the volume and claim plans of the checks. */
export function placeOn(
  chosen: NodeInfo,
  { found, checks }: Pick<Extract<Search, { kind: 'found' }>, 'found' | 'checks'>,
  scores: NodeScores | undefined,
): Extract<Decision, { kind: 'placed' }> {
  let volumes: VolumePlan | undefined;
  for (const check of checks) volumes ??= check.volumePlan?.(chosen);
  return {
    kind: 'placed',
    nodeName: chosen.name,
    ...(scores !== undefined && { scores }),
    rejections: found.rejections,
    volumes,
    claims: checks.flatMap((check) => check.claimPlan?.(chosen) ?? []),
    nextStart: found.nextStart,
  };
}

export interface Question {
  readonly snapshot: Snapshot;
  readonly pod: PodInfo;
  readonly profile: Profile;
  readonly random: Random;
}

type Rejected = Pick<Diagnosis, 'nodeCount' | 'rejections' | 'absent' | 'preFilterReasons'>;

/** Runs the postFilter plugins, because no node fits (upstream: RunPostFilterPlugins). */
function afterFilters(
  question: Question,
  found: Rejected,
  more: { readonly checks: Checks; readonly rejectors: ReadonlySet<string>; readonly nextStart: number },
): Extract<Decision, { kind: 'unschedulable' }> {
  const { reasons, ...outcome } = postFilter(question, found, more.checks);
  const diagnosis: Diagnosis = { ...found, postFilterMessage: reasons.join(', '), rejectors: more.rejectors };
  return {
    kind: 'unschedulable',
    diagnosis,
    message: formatDiagnosis(diagnosis),
    ...outcome,
    nextStart: more.nextStart,
  };
}

interface PostFilterOutcome
  extends Pick<Extract<Decision, { kind: 'unschedulable' }>, 'preemption' | 'deallocate' | 'nominate'> {
  readonly reasons: readonly string[];
}

function postFilter(question: Question, found: Rejected, checks: Checks): PostFilterOutcome {
  const reasons: string[] = [];
  let preemption: Extract<PreemptionOutcome, { kind: 'preempt' }> | undefined;
  let nominate: string | undefined;
  let deallocate: ResourceClaim | undefined;
  for (const step of question.profile.postFilters) {
    if (step.kind === 'dynamicResources') {
      // If preFilter was not run, upstream's plugin returns an error and preemption is skipped. Tools match the
      // resulting message, so it is kept.
      if (found.preFilterReasons.length > 0) {
        reasons.push(NOT_PREPARED);
        break;
      }
      const obstacle = checks.flatMap((check) => check.obstacle?.() ?? [])[0];
      deallocate = obstacle?.claim;
      reasons.push(
        obstacle === undefined ? NOTHING_TO_DEALLOCATE : deallocate === undefined ? STILL_NOT_SCHEDULABLE : DEALLOCATED,
      );
      continue;
    }
    if (step.kind === 'module') {
      const outcome = step.run(question.pod, question.snapshot, found.rejections);
      if (outcome.nominate !== undefined) {
        nominate = outcome.nominate;
        reasons.length = 0;
        break;
      }
      if (outcome.message !== undefined) reasons.push(outcome.message);
      continue;
    }
    const outcome = computePreemption({
      ...question,
      args: step.args,
      checks,
      rejections: found.rejections,
      absent: found.absent,
    });
    if (outcome.kind === 'preempt') {
      preemption = outcome;
      nominate = outcome.nodeName;
      // Preemption will free a node, so the messages of the other postFilter plugins are dropped.
      reasons.length = 0;
      break;
    }
    reasons.push(`preemption: ${outcome.message}`);
    if (outcome.kind === 'noCandidates') nominate = '';
  }
  return { reasons, preemption, deallocate, nominate };
}
