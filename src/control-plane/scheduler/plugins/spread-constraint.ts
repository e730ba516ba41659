import type { Pod } from '../../../api/core/pod.ts';
import type { NodeInclusionPolicy, TopologySpreadConstraint } from '../../../api/core/scheduling.ts';
import { compileRequirements } from '../../../api/label-requirement.ts';
import type { LabelMatcher, Labels, Requirement } from '../../../api/label-requirement.ts';
import { requirementsOf } from '../../../api/selectors.ts';
import { compileLabelSelector } from '../framework/label-matcher.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import type { ClusterObjects } from '../framework/snapshot.ts';
import { findUntoleratedTaint } from '../framework/taints.ts';

export interface SpreadConstraint {
  readonly maxSkew: number;
  readonly topologyKey: string;
  readonly selector: LabelMatcher;
  readonly minDomains: number;
  readonly nodeAffinityPolicy: NodeInclusionPolicy;
  readonly nodeTaintsPolicy: NodeInclusionPolicy;
}

/** `matchLabelKeys` adds the pod's own values of these labels to the selector. */
export function compileConstraint(constraint: TopologySpreadConstraint, podLabels: Labels): SpreadConstraint {
  const { labelSelector, matchLabelKeys = [] } = constraint;
  const own = matchLabelKeys.flatMap((key): Requirement[] => {
    const value = Object.hasOwn(podLabels, key) ? podLabels[key] : undefined;
    return value === undefined ? [] : [{ key, operator: 'In', values: [value] }];
  });
  return {
    maxSkew: constraint.maxSkew,
    topologyKey: constraint.topologyKey,
    selector:
      own.length === 0 || labelSelector === undefined
        ? compileLabelSelector(labelSelector)
        : compileRequirements([...own, ...requirementsOf(labelSelector)]),
    minDomains: constraint.minDomains ?? 1,
    nodeAffinityPolicy: constraint.nodeAffinityPolicy ?? 'Honor',
    nodeTaintsPolicy: constraint.nodeTaintsPolicy ?? 'Ignore',
  };
}

/** Whether the pods of this node are counted at all. */
export function isIncluded(constraint: SpreadConstraint, pod: PodInfo, node: NodeInfo): boolean {
  if (constraint.nodeAffinityPolicy === 'Honor' && pod.nodeMatcher !== undefined && !pod.nodeMatcher(node.node))
    return false;
  return constraint.nodeTaintsPolicy === 'Ignore' || findUntoleratedTaint(node.taints, pod.tolerations) === undefined;
}

export function hasAllKeys(labels: Labels, constraints: readonly SpreadConstraint[]): boolean {
  for (const { topologyKey } of constraints) if (!Object.hasOwn(labels, topologyKey)) return false;
  return true;
}

/**
 * Pods on their way out are not counted; a selector of everything counts nothing (upstream: countPodsMatchSelector).
 */
export function countMatching(node: NodeInfo, selector: LabelMatcher, namespace: string): number {
  if (selector.empty) return 0;
  let count = 0;
  for (const other of node.pods.values()) {
    if (
      other.namespace === namespace &&
      selector.matches(other.labels) &&
      other.pod.metadata.deletionTimestamp === undefined
    )
      count++;
  }
  return count;
}

/**
 * What the services of the pod and its ReplicaSet select; everything, when there are none (upstream:
 * helper.DefaultSelector).
 */
export function defaultSelector(pod: Pod, objects: ClusterObjects): LabelMatcher {
  const labels = pod.metadata.labels ?? {};
  const selected: Record<string, string> = {};
  for (const { spec } of objects.services(pod.metadata.namespace)) {
    const selector = spec?.selector;
    // A service without a selector selects no pods.
    if (
      selector !== undefined &&
      Object.keys(selector).length > 0 &&
      Object.entries(selector).every(([key, value]) => labels[key] === value)
    )
      Object.assign(selected, selector);
  }
  const requirements = Object.entries(selected).map(
    ([key, value]): Requirement => ({ key, operator: 'In', values: [value] }),
  );
  const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner?.kind === 'ReplicaSet' && owner.apiVersion === 'apps/v1') {
    const selector = objects.replicaSet(pod.metadata.namespace, owner.name)?.spec?.selector;
    if (selector !== undefined) requirements.push(...requirementsOf(selector));
  }
  return compileRequirements(requirements);
}
