import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type {
  NodeSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PreferredSchedulingTerm,
} from '../../../api/core/scheduling.ts';
import { compileRequirements } from '../../../api/label-requirement.ts';
import type { Requirement } from '../../../api/label-requirement.ts';
import { noLabels } from './label-matcher.ts';

export type NodeMatcher = (node: Node) => boolean;

const toRequirement = ({ key, operator, values }: NodeSelectorRequirement): Requirement => ({
  key,
  operator,
  values: values ?? [],
});

/** Compiles one term. An empty term matches nothing (core/v1 NodeSelectorTerm). */
function compileTerm(term: NodeSelectorTerm): NodeMatcher {
  const expressions = term.matchExpressions ?? [];
  const fields = term.matchFields ?? [];
  if (expressions.length === 0 && fields.length === 0) return () => false;
  const labels = compileRequirements(expressions.map(toRequirement));
  const named = compileRequirements(fields.map(toRequirement));
  return (node) =>
    labels.matches(node.metadata.labels ?? noLabels) &&
    (named.empty || named.matches({ 'metadata.name': node.metadata.name }));
}

/** Compiles a node selector. A node must match at least one term. */
export function compileNodeSelector(selector: NodeSelector): NodeMatcher {
  const terms = selector.nodeSelectorTerms.map(compileTerm);
  return (node) => terms.some((term) => term(node));
}

/** Combines `nodeSelector` and required node affinity. Returns undefined if the pod has neither. */
export function requiredNodeMatcher(pod: Pod): NodeMatcher | undefined {
  const wanted = Object.entries(pod.spec.nodeSelector ?? {});
  const affinity = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (wanted.length === 0 && affinity === undefined) return undefined;
  const labels = compileRequirements(
    wanted.map(([key, value]): Requirement => ({ key, operator: 'In', values: [value] })),
  );
  const selector = affinity === undefined ? undefined : compileNodeSelector(affinity);
  return (node) => labels.matches(node.metadata.labels ?? noLabels) && (selector === undefined || selector(node));
}

/** Compiles preferred terms into the sum of the weights of matching terms. Empty terms are ignored. */
export function compilePreferredTerms(terms: readonly PreferredSchedulingTerm[]): (node: Node) => number {
  const compiled = terms
    .filter((term) => term.weight !== 0)
    .map((term) => ({ weight: term.weight, matches: compileTerm(term.preference) }));
  return (node) => compiled.reduce((sum, term) => (term.matches(node) ? sum + term.weight : sum), 0);
}
