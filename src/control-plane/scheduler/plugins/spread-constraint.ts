import type { Pod } from '../../../api/core/pod.ts';
import type { NodeInclusionPolicy, TopologySpreadConstraint } from '../../../api/core/scheduling.ts';
import type { Labels, Requirement } from '../../../api/label-requirement.ts';
import { requirementsOf } from '../../../api/selectors.ts';
import { compileKeyed, compileKeyedSelector } from '../framework/label-matcher.ts';
import type { KeyedMatcher } from '../framework/label-matcher.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import type { ClusterObjects, Snapshot } from '../framework/snapshot.ts';
import { findUntoleratedTaint } from '../framework/taints.ts';

export interface SpreadConstraint {
  readonly maxSkew: number;
  readonly topologyKey: string;
  readonly selector: KeyedMatcher;
  readonly minDomains: number;
  readonly nodeAffinityPolicy: NodeInclusionPolicy;
  readonly nodeTaintsPolicy: NodeInclusionPolicy;
}

/** Compiles a constraint. `matchLabelKeys` adds the pod's own values of these labels to the selector. */
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
        ? compileKeyedSelector(labelSelector)
        : compileKeyed([...own, ...requirementsOf(labelSelector)]),
    minDomains: constraint.minDomains ?? 1,
    nodeAffinityPolicy: constraint.nodeAffinityPolicy ?? 'Honor',
    nodeTaintsPolicy: constraint.nodeTaintsPolicy ?? 'Ignore',
  };
}

/** Whether the constraint counts the pods of this node. */
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
 * Counts the matching pods of the pod's namespace by node. An empty selector counts no pods (upstream:
 * countPodsMatchSelector).
 */
export function matchingPods(
  { selector }: SpreadConstraint,
  pod: PodInfo,
  snapshot: Snapshot,
): ReadonlyMap<NodeInfo, number> {
  return selector.matcher.empty ? none : snapshot.matching(pod.namespace, selector);
}

const none: ReadonlyMap<NodeInfo, number> = new Map();

/**
 * Combines the selectors of the pod's services and of its ReplicaSet. Without any, it selects all pods (upstream:
 * helper.DefaultSelector).
 */
export function defaultSelector(pod: Pod, objects: ClusterObjects): KeyedMatcher {
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
  return compileKeyed(requirements);
}
