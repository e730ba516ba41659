import { MAX_NODE_SCORE, checkWith } from '../framework/plugin.ts';
import type { Plugin } from '../framework/plugin.ts';
import { unresolvable } from '../framework/rejection.ts';
import type { Labels } from '../../../api/label-requirement.ts';

const hasLabel = (labels: Labels, label: string): boolean => Object.hasOwn(labels, label);

export interface LabelsPresence {
  readonly labels: readonly string[];
  readonly presence: boolean;
}

/**
 * Filters nodes: they must have all of the labels, or none of them (upstream up to 1.22: NodeLabel,
 * CheckNodeLabelPresence).
 */
export function createNodeLabelFilter(name: string, { labels, presence }: LabelsPresence): Plugin {
  const rejection = unresolvable(name, "node(s) didn't have the requested labels");
  return {
    name,
    hints: { Node: [{ actions: ['Add', 'UpdateNodeLabel'] }] },
    preFilter: () =>
      checkWith((node) => (labels.every((label) => hasLabel(node.labels, label) === presence) ? undefined : rejection)),
  };
}

/** Prefers nodes that have the label, or nodes that do not. */
export function createNodeLabelScore(name: string, label: string, presence: boolean): Plugin {
  return {
    name,
    preScore: () => ({ score: (node) => (hasLabel(node.labels, label) === presence ? MAX_NODE_SCORE : 0) }),
  };
}
