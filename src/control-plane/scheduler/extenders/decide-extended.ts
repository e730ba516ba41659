import type { Logger } from '../../../base/log.ts';
import { errorMessage } from '../../../base/errors.ts';
import { runChecksWithNominated } from '../decide/filter-state.ts';
import { preFilter } from '../decide/find-nodes.ts';
import { placeOn, rejectAll, searchNodes } from '../decide/schedule-pod.ts';
import type { Decision, DecideOptions, Question, Search } from '../decide/schedule-pod.ts';
import { formatDiagnosis } from '../decide/diagnosis.ts';
import { scoreNodes } from '../decide/score-nodes.ts';
import type { NodeScores } from '../decide/score-nodes.ts';
import { EXTENDER_PLUGIN } from '../framework/extender.ts';
import type { Extender } from '../framework/extender.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import { unschedulable } from '../framework/rejection.ts';
import type { Rejection } from '../framework/rejection.ts';
import { pickCandidate } from '../preemption/pick-candidate.ts';
import type { Candidate } from '../preemption/victims.ts';

export interface ExtendedQuestion extends Question, DecideOptions {
  /** The extenders that apply to the pod, in configuration order. There is at least one. */
  readonly extenders: readonly Extender[];
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** Returns the newest version of the pod, or undefined if it was deleted. */
  readonly latest: () => PodInfo | undefined;
}

type Found = Extract<Search, { kind: 'found' }>;

/**
 * Decides with extenders (upstream: schedulePod, findNodesThatPassExtenders, prioritizeNodes, callExtenders). The
 * cluster may change during a call to an extender. So the nodes that it returns are checked again in one synchronous
 * turn. The promise rejects if an extender fails that is not ignorable.
 */
export async function decideExtended(question: ExtendedQuestion): Promise<Decision> {
  let search = searchNodes(question, question);
  while (search.kind === 'found') {
    const { kept, rejections } = await askFilters(question, search);
    if (kept.length > 0) return confirm(question, search, await rank(question, kept));
    if (search.found.isNominated) {
      search = searchNodes(question, { start: question.start, skipNominated: true });
      continue;
    }
    return preemptExtended(question, rejectedByExtenders(question, search, rejections));
  }
  return preemptExtended(question, search.decision);
}

/** Calls the filters one after another. Each receives the nodes that passed the previous ones. */
async function askFilters(
  { extenders, pod, signal, log }: ExtendedQuestion,
  { found }: Found,
): Promise<{ readonly kept: readonly NodeInfo[]; readonly rejections: ReadonlyMap<string, Rejection> }> {
  let kept = found.feasible;
  const rejections = new Map(found.rejections);
  for (const extender of extenders) {
    if (kept.length === 0) break;
    if (!extender.filters) continue;
    const before = kept;
    try {
      const verdict = await extender.filter(pod.pod, kept, signal);
      kept = verdict.kept;
      const left = new Set(kept);
      for (const node of before) {
        if (left.has(node)) continue;
        const said = verdict.rejections.get(node.name);
        // The extender dropped the node without a reason. The node counts as rejected, with an empty text.
        rejections.set(node.name, said ?? unschedulable(EXTENDER_PLUGIN));
      }
    } catch (error) {
      if (!extender.ignorable || signal.aborted) throw failure(extender, error);
      log.warn('Skipping an extender that failed and is ignorable', {
        extender: extender.name,
        error: errorMessage(error),
      });
    }
  }
  return { kept, rejections };
}

const failure = ({ name }: Extender, error: unknown): Error =>
  new Error(`extender ${name}: ${errorMessage(error)}`, { cause: error });

/** Builds the decision from the extenders' rejections. It reads the nodes again, because they may have changed. */
function rejectedByExtenders(
  question: ExtendedQuestion,
  { found }: Found,
  rejections: ReadonlyMap<string, Rejection>,
): Decision {
  const { profile, pod, snapshot } = question;
  const outcome = preFilter(profile, pod, snapshot);
  return rejectAll(
    question,
    { ...found, rejections },
    { checks: outcome.kind === 'checks' ? outcome.checks : [], narrowedBy: [EXTENDER_PLUGIN] },
  );
}

/** Sorts the nodes by score, best first. If an extender fails, its points are omitted. */
async function rank(
  { extenders, pod, profile, snapshot, random, signal, log }: ExtendedQuestion,
  nodes: readonly NodeInfo[],
): Promise<{ readonly order: readonly NodeInfo[]; readonly scores: NodeScores | undefined }> {
  if (nodes.length === 1) return { order: nodes, scores: undefined };
  const scores = scoreNodes(profile, pod, snapshot, nodes);
  const totals = new Map(nodes.map((node, index) => [node.name, scores.totals[index] ?? 0]));
  const points = await Promise.all(
    extenders
      .filter(({ prioritizes }) => prioritizes)
      .map((extender) =>
        extender.prioritize(pod.pod, nodes, signal).catch((error: unknown) => {
          log.warn('An extender gave no priorities', { extender: extender.name, error: errorMessage(error) });
          return new Map<string, number>();
        }),
      ),
  );
  for (const each of points)
    for (const [name, value] of each) {
      const total = totals.get(name);
      if (total !== undefined) totals.set(name, total + value);
    }
  const order = nodes
    .map((node) => ({ node, total: totals.get(node.name) ?? 0, lot: random.next() }))
    .sort((left, right) => right.total - left.total || left.lot - right.lot)
    .map(({ node }) => node);
  return { order, scores: { ...scores, totals: nodes.map(({ name }) => totals.get(name) ?? 0) } };
}

/** Returns the best node that still fits the current pod in the current state of the cluster. */
function confirm(
  { snapshot, profile, pod: asked, latest }: ExtendedQuestion,
  { found }: Found,
  { order, scores }: { readonly order: readonly NodeInfo[]; readonly scores: NodeScores | undefined },
): Decision {
  const pod = latest() ?? asked;
  const outcome = preFilter(profile, pod, snapshot);
  if (outcome.kind === 'checks') {
    for (const { name } of order) {
      const node = snapshot.node(name);
      if (node === undefined || outcome.nodeNames?.has(name) === false) continue;
      if (runChecksWithNominated(outcome.checks, pod, node, snapshot) === undefined)
        return placeOn(node, { found, checks: outcome.checks }, scores);
    }
  }
  throw new Error('the nodes that extenders left no longer fit: the cluster changed while extenders were asked');
}

/** Lets extenders remove victims and candidate nodes. */
async function preemptExtended(question: ExtendedQuestion, decision: Decision): Promise<Decision> {
  if (decision.kind !== 'unschedulable' || decision.preemption === undefined) return decision;
  const { extenders, pod, signal, log } = question;
  let candidates: readonly Candidate[] = decision.preemption.candidates;
  for (const extender of extenders) {
    if (!extender.preempts || candidates.length === 0) continue;
    try {
      candidates = await extender.preempt(pod.pod, candidates, signal);
    } catch (error) {
      if (!extender.ignorable || signal.aborted) throw failure(extender, error);
      log.warn('Skipping an extender that failed and is ignorable', {
        extender: extender.name,
        error: errorMessage(error),
      });
    }
  }
  if (candidates.length > 0) {
    const best = pickCandidate(candidates);
    return { ...decision, preemption: { kind: 'preempt', ...best, candidates }, nominate: best.nodeName };
  }
  const diagnosis = { ...decision.diagnosis, postFilterMessage: 'preemption: extenders left no node to preempt on' };
  return { ...decision, diagnosis, message: formatDiagnosis(diagnosis), preemption: undefined, nominate: '' };
}
