import { nodeLabels } from '../../../api/annotations.ts';
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isRestartableInit, isStaticPod } from '../../../api/pod.ts';
import { isPodLevelResource } from '../../../api/resources.ts';
import { outOfReason, podReasons } from '../../../api/reasons.ts';
import type { AdmissionCheck, AdmissionQuestion, Rejection } from './admission-check.ts';
import { hasPortConflict } from './host-ports.ts';
import { matchesNodeAffinity, untoleratedTaint } from '../../../api/node-selection.ts';
import type { Shortage } from './resource-fit.ts';
import { computeShortages, shortageMessage } from './resource-fit.ts';

export interface PredicateResult {
  readonly shortages: readonly Shortage[];
  /** Failures that preemption cannot resolve, in upstream's order. */
  readonly misfits: readonly Rejection[];
}

/**
 * A rejection with the text of the scheduler's plugin, which upstream's kubelet uses too (lifecycle/predicate.go,
 * scheduler AdmissionCheck).
 */
const misfit = (name: string, description: string): Rejection => ({
  reason: name,
  message: `Predicate ${name} failed: ${description}`,
});

/**
 * Returns all reasons why the pod cannot run on this node. Upstream reports the first; shortages come before
 * mismatches.
 */
export function computePredicates(
  { pod, node, others }: AdmissionQuestion,
  options: { taintComparisons: boolean },
): PredicateResult {
  const misfits: Rejection[] = [];
  if (!matchesNodeAffinity(pod, node))
    misfits.push(misfit(podReasons.nodeAffinity, "node(s) didn't match Pod's node affinity/selector"));
  const { nodeName = '' } = pod.spec;
  if (nodeName !== '' && nodeName !== node.metadata.name)
    misfits.push(misfit(podReasons.nodeName, "node(s) didn't match the requested node name"));
  if (hasPortConflict(pod, others))
    misfits.push(misfit(podReasons.nodePorts, "node(s) didn't have free ports for the requested pod ports"));
  if (!isStaticPod(pod) && untoleratedTaint(pod, node.spec?.taints ?? [], options.taintComparisons) !== undefined) {
    misfits.push(misfit(podReasons.taintToleration, "node(s) had taints that the pod didn't tolerate"));
  }
  return { shortages: computeShortages(pod, others, node.status?.allocatable ?? {}), misfits };
}

export function rejectionOf(shortage: Shortage): Rejection {
  return { reason: outOfReason(shortage.resource), message: shortageMessage(shortage) };
}

/**
 * Rejects a pod for another operating system. The check runs before the predicates, because preemption cannot resolve a
 * mismatch (upstream: predicateAdmitHandler). As upstream, it reads the pod's own label.
 */
export const checkOsLabel: AdmissionCheck = ({ pod }) => {
  const asked = pod.metadata.labels?.[nodeLabels.os];
  if (asked === undefined || asked === 'linux') return undefined;
  return {
    reason: podReasons.podOSSelectorNodeLabelDoesNotMatch,
    message: "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
  };
};

export const checkOsField: AdmissionCheck = ({ pod }) => {
  if (pod.spec.os === undefined || pod.spec.os.name === 'linux') return undefined;
  return { reason: podReasons.podOSNotSupported, message: "Failed to admit pod as the OS field doesn't match node OS" };
};

export const checkSupplementalGroupsPolicy: AdmissionCheck = ({ pod, node }) => {
  if (
    pod.spec.securityContext?.supplementalGroupsPolicy !== 'Strict' ||
    node.status?.features?.supplementalGroupsPolicy === true
  )
    return undefined;
  return {
    reason: podReasons.supplementalGroupsPolicyNotSupported,
    message: 'SupplementalGroupsPolicy=Strict is not supported in this node',
  };
};

/** Rejects pod-level resources if their gate is off (upstream: lifecycle/features_linux.go). */
export const checkNoPodLevelResources: AdmissionCheck = ({ pod }) => {
  const { requests = {}, limits = {} } = pod.spec.resources ?? {};
  if (![...Object.keys(requests), ...Object.keys(limits)].some(isPodLevelResource)) return undefined;
  return { reason: podReasons.podLevelResourcesNotSupported, message: 'PodLevelResources feature gate is disabled' };
};

/**
 * Rejects a pod that needs features the node does not declare (upstream: declaredFeaturesAdmitHandler,
 * component-helpers/nodedeclaredfeatures).
 */
export const checkDeclaredFeatures: AdmissionCheck = ({ pod, node }) => {
  const declared = node.status?.declaredFeatures ?? [];
  const missing = requiredFeatures(pod).filter((name) => !declared.includes(name));
  if (missing.length === 0) return undefined;
  return {
    reason: podReasons.podFeatureUnsupported,
    message: `Pod requires node features that are not available: ${missing.join(', ')}`,
  };
};

/** Returns the features that an update of a pod needs and the node does not declare (upstream: InferForPodUpdate). */
export function missingForUpdate(before: Pod, after: Pod, node: Node): string[] {
  const same = (left: unknown, right: unknown): boolean => JSON.stringify(left) === JSON.stringify(right);
  const initContainers = (pod: Pod) =>
    (pod.spec.initContainers ?? [])
      .filter((container) => !isRestartableInit(container))
      .map(({ name, resources }) => ({ name, resources }));
  const needed = [
    ...(same(before.spec.resources, after.spec.resources) ? [] : ['InPlacePodLevelResourcesVerticalScaling']),
    ...(same(initContainers(before), initContainers(after)) ? [] : ['InPlacePodVerticalScalingInitContainers']),
  ];
  return needed.filter((name) => !(node.status?.declaredFeatures ?? []).includes(name));
}

/** Returns the names of the features that the pod needs at admission, without those that only updates need. */
function requiredFeatures({ spec }: Pod): string[] {
  const restartsAll = [...spec.containers, ...(spec.initContainers ?? [])].some(({ restartPolicyRules = [] }) =>
    restartPolicyRules.some((rule) => rule.action === 'RestartAllContainers'),
  );
  const ownUsersOnHostNetwork = spec.hostNetwork === true && spec.hostUsers === false;
  return [
    ...(restartsAll ? ['RestartAllContainersOnContainerExits'] : []),
    ...(ownUsersOnHostNetwork ? ['UserNamespacesHostNetworkSupport'] : []),
  ];
}
