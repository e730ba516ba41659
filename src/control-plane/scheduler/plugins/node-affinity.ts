import type { Pod } from '../../../api/core/pod.ts';
import type { NodeAffinity, NodeSelectorTerm } from '../../../api/core/scheduling.ts';
import { compileNodeSelector, compilePreferredTerms } from '../framework/node-matcher.ts';
import type { NodeMatcher } from '../framework/node-matcher.ts';
import { podInfoOf } from '../framework/pod-info.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import { normalizeByMax, reject, skip } from '../framework/plugin.ts';
import type { Plugin, PodScorer, PreFilterResult } from '../framework/plugin.ts';
import type { EventOf } from '../framework/cluster-event.ts';
import { unresolvable } from '../framework/rejection.ts';

export interface NodeAffinityArgs {
  /** The affinity that the profile adds to that of every pod. */
  readonly addedAffinity?: NodeAffinity;
}

const NAME = 'NodeAffinity';
const enforced = unresolvable(NAME, "node(s) didn't match scheduler-enforced node affinity");
const mismatch = unresolvable(NAME, "node(s) didn't match Pod's node affinity/selector");
const conflict = unresolvable(NAME, 'pod affinity terms conflict');

/** Creates the plugin for `nodeSelector` and for required and preferred node affinity. */
export function createNodeAffinity({ addedAffinity }: NodeAffinityArgs = {}): Plugin {
  const required = addedAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const preferred = addedAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  const added = required === undefined ? undefined : compileNodeSelector(required);
  const addedScore = preferred.length === 0 ? undefined : compilePreferredTerms(preferred);
  return {
    name: NAME,
    hints: { Node: [{ actions: ['Add', 'UpdateNodeLabel'], mayHelp: (pod, event) => becameMatch(added, pod, event) }] },
    preFilter: (pod) => preFilter(added, pod),
    preScore: ({ pod }) => scorer(addedScore, pod),
  };
}

function becameMatch(added: NodeMatcher | undefined, pod: Pod, { before, after }: EventOf<'Node'>): boolean {
  if (after === undefined || (added !== undefined && !added(after))) return false;
  const matcher = podInfoOf(pod).nodeMatcher;
  const matches = (node: typeof after): boolean =>
    (matcher === undefined || matcher(node)) && (added === undefined || added(node));
  return matches(after) && (before === undefined || !matches(before));
}

function preFilter(added: NodeMatcher | undefined, pod: PodInfo): PreFilterResult {
  const matcher = pod.nodeMatcher;
  if (matcher === undefined && added === undefined) return skip;
  const terms =
    pod.pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const nodeNames = namedNodes(terms);
  if (nodeNames?.size === 0) return reject(conflict);
  const filter = ({ node }: { readonly node: Parameters<NodeMatcher>[0] }) => {
    if (added !== undefined && !added(node)) return enforced;
    return matcher !== undefined && !matcher(node) ? mismatch : undefined;
  };
  return { kind: 'check', check: { filter }, ...(nodeNames !== undefined && { nodeNames }) };
}

/**
 * Returns the nodes that the terms select by `metadata.name`, or undefined if a term selects by something else.
 * DaemonSet pods have such terms: they need one look-up instead of a scan.
 */
function namedNodes(terms: readonly NodeSelectorTerm[]): ReadonlySet<string> | undefined {
  if (terms.length === 0) return undefined;
  const all = new Set<string>();
  for (const term of terms) {
    let names: readonly string[] | undefined;
    for (const { key, operator, values } of term.matchFields ?? []) {
      if (key === 'metadata.name' && operator === 'In')
        names = names === undefined ? (values ?? []) : names.filter((one) => (values ?? []).includes(one));
    }
    if (names === undefined) return undefined;
    for (const one of names) all.add(one);
  }
  return all;
}

function scorer(
  addedScore: ((node: Parameters<NodeMatcher>[0]) => number) | undefined,
  { spec }: Pod,
): PodScorer | undefined {
  const terms = spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution;
  if (terms === undefined && addedScore === undefined) return undefined;
  const own = compilePreferredTerms(terms ?? []);
  return {
    score: ({ node }) => (addedScore?.(node) ?? 0) + own(node),
    normalize: (scores) => normalizeByMax(scores, false),
  };
}
