import type { Labels } from '../../../api/label-requirement.ts';
import { noLabels } from '../framework/label-matcher.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import { termMatches } from '../framework/pod-info.ts';
import type { AffinityTerm, PodInfo, WeightedAffinityTerm } from '../framework/pod-info.ts';
import { MAX_NODE_SCORE } from '../framework/plugin.ts';
import type { PodScorer } from '../framework/plugin.ts';
import type { Snapshot } from '../framework/snapshot.ts';
import { resolveNamespaces } from './affinity-namespaces.ts';

interface ScoreOptions {
  readonly hardPodAffinityWeight: number;
  readonly ignorePreferredTermsOfExistingPods: boolean;
}

/** The scores: topology key → value → sum of weights. */
type TopologyScores = Map<string, Map<string, number>>;

/**
 * Scores the preferred terms of the pod and of existing pods (upstream: interpodaffinity/scoring.go). Returns undefined
 * if no term matches.
 */
export function createAffinityScorer(pod: PodInfo, snapshot: Snapshot, options: ScoreOptions): PodScorer | undefined {
  const hasOwn = pod.preferredAffinity.length > 0 || pod.preferredAntiAffinity.length > 0;
  if (options.ignorePreferredTermsOfExistingPods && !hasOwn) return undefined;
  const namespaceLabels = snapshot.objects.namespaceLabels(pod.namespace) ?? noLabels;
  const own = {
    affinity: resolveNamespaces(pod.preferredAffinity, snapshot.objects),
    antiAffinity: resolveNamespaces(pod.preferredAntiAffinity, snapshot.objects),
  };
  const scores: TopologyScores = new Map();
  for (const node of hasOwn ? snapshot.nodes() : snapshot.nodesWithAffinity()) {
    for (const other of (hasOwn ? node.pods : node.podsWithAffinity).values()) {
      addTerms(scores, own.affinity, { other, namespaceLabels: noLabels, node, sign: 1 });
      addTerms(scores, own.antiAffinity, { other, namespaceLabels: noLabels, node, sign: -1 });
      const seen = { other: pod, namespaceLabels, node };
      if (options.hardPodAffinityWeight > 0)
        for (const term of other.requiredAffinity)
          addTerm(scores, term, options.hardPodAffinityWeight, { ...seen, sign: 1 });
      addTerms(scores, other.preferredAffinity, { ...seen, sign: 1 });
      addTerms(scores, other.preferredAntiAffinity, { ...seen, sign: -1 });
    }
  }
  return scores.size === 0 ? undefined : { score: (node) => scoreOf(scores, node), normalize };
}

interface Meeting {
  /** The pod that the term may select. */
  readonly other: PodInfo;
  readonly namespaceLabels: Labels;
  /** The node whose topology domain the two pods would share. */
  readonly node: NodeInfo;
  readonly sign: 1 | -1;
}

function addTerms(scores: TopologyScores, terms: readonly WeightedAffinityTerm[], meeting: Meeting): void {
  for (const term of terms) addTerm(scores, term, term.weight, meeting);
}

function addTerm(
  scores: TopologyScores,
  term: AffinityTerm,
  weight: number,
  { other, namespaceLabels, node, sign }: Meeting,
): void {
  if (!termMatches(term, other, namespaceLabels)) return;
  const value = node.labels[term.topologyKey];
  if (value === undefined) return;
  const values = scores.get(term.topologyKey) ?? new Map<string, number>();
  values.set(value, (values.get(value) ?? 0) + sign * weight);
  scores.set(term.topologyKey, values);
}

function scoreOf(scores: TopologyScores, { labels }: NodeInfo): number {
  let sum = 0;
  for (const [key, values] of scores) {
    const value = labels[key];
    if (value !== undefined) sum += values.get(value) ?? 0;
  }
  return sum;
}

/** Scales the scores: the worst becomes 0, the best 100. If all are equal, all become 0. */
function normalize(scores: number[]): void {
  let min = Infinity;
  let max = -Infinity;
  for (const score of scores) {
    min = Math.min(min, score);
    max = Math.max(max, score);
  }
  for (const [index, score] of scores.entries())
    scores[index] = max > min ? Math.trunc(MAX_NODE_SCORE * ((score - min) / (max - min))) : 0;
}
