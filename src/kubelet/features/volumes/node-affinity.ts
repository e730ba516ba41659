import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import type { NodeSelectorTerm } from '../../../api/core/scheduling.ts';
import type { Labels } from '../../../api/label-requirement.ts';
import { matchesRequirement } from '../../../api/label-requirement.ts';

export interface NodeIdentity {
  readonly name: string;
  readonly labels?: Labels;
}

/**
 * Whether this node may use the volume (upstream: storage/volume CheckNodeAffinity). Terms are alternatives; a term
 * without requirements never matches.
 */
export function mayBeUsedHere({ spec }: PersistentVolume, node: NodeIdentity): boolean {
  const terms = spec.nodeAffinity?.required?.nodeSelectorTerms;
  return terms === undefined || terms.some((term) => matchesTerm(term, node));
}

function matchesTerm({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, node: NodeIdentity): boolean {
  if (matchExpressions.length === 0 && matchFields.length === 0) return false;
  const holds = (list: typeof matchExpressions, labels: Labels): boolean =>
    list.every(({ key, operator, values = [] }) => matchesRequirement({ key, operator, values }, labels));
  return holds(matchExpressions, node.labels ?? {}) && holds(matchFields, { 'metadata.name': node.name });
}
