import type { Node, Taint } from './core/node.ts';
import type { Pod } from './core/pod.ts';
import type { NodeSelectorRequirement, NodeSelectorTerm, Toleration } from './core/scheduling.ts';
import type { Labels } from './label-requirement.ts';
import { matchesRequirement } from './label-requirement.ts';

/**
 * Whether the pod's node selector and required node affinity match this node (upstream: component-helpers
 * scheduling/corev1/nodeaffinity).
 */
export function matchesNodeAffinity(pod: Pick<Pod, 'spec'>, node: Node): boolean {
  const labels = node.metadata.labels ?? {};
  for (const [key, value] of Object.entries(pod.spec.nodeSelector ?? {}))
    if (!matchesRequirement({ key, operator: 'In', values: [value] }, labels)) return false;
  const required = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return (
    required === undefined || required.nodeSelectorTerms.some((term) => matchesTerm(term, node.metadata.name, labels))
  );
}

/** A term without conditions matches no node. */
function matchesTerm(term: NodeSelectorTerm, name: string, labels: Labels): boolean {
  const { matchExpressions = [], matchFields = [] } = term;
  if (matchExpressions.length === 0 && matchFields.length === 0) return false;
  return (
    matchExpressions.every((expression) => holds(expression, labels)) &&
    matchFields.every((field) => holds(field, { 'metadata.name': name }))
  );
}

const holds = ({ key, operator, values = [] }: NodeSelectorRequirement, among: Labels): boolean =>
  matchesRequirement({ key, operator, values }, among);

/**
 * The first taint with one of these effects that the pod does not tolerate; by default, the effects that evict a pod.
 */
export function untoleratedTaint(
  pod: Pick<Pod, 'spec'>,
  taints: readonly Taint[],
  comparisons: boolean,
  effects: readonly Taint['effect'][] = ['NoExecute'],
): Taint | undefined {
  const tolerations = pod.spec.tolerations ?? [];
  return taints.find(
    (taint) =>
      effects.includes(taint.effect) && !tolerations.some((toleration) => tolerates(toleration, taint, comparisons)),
  );
}

/**
 * An empty key tolerates all keys, and an empty effect all effects (core/v1 Toleration.ToleratesTaint). `Lt` and `Gt`
 * need an alpha feature gate.
 */
export function tolerates(
  { key = '', operator = 'Equal', value = '', effect }: Toleration,
  taint: Taint,
  comparisons: boolean,
): boolean {
  if (effect !== undefined && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  switch (operator) {
    case 'Exists':
      return true;
    case 'Equal':
      return value === (taint.value ?? '');
    case 'Lt':
    case 'Gt':
      return comparisons && compares(operator, taint.value ?? '', value);
  }
}

function compares(operator: 'Lt' | 'Gt', taint: string, toleration: string): boolean {
  if (!/^-?[0-9]+$/.test(taint) || !/^-?[0-9]+$/.test(toleration)) return false;
  return operator === 'Lt' ? BigInt(taint) < BigInt(toleration) : BigInt(taint) > BigInt(toleration);
}
