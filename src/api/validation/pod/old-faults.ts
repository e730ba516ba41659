import type { LabelSelector } from '../../core/meta.ts';
import type { Pod } from '../../core/pod.ts';
import type { PodTemplateSpec } from '../../core/pod-template.ts';
import { allContainers } from '../../pod.ts';
import type { ClusterPolicy } from '../cluster-policy.ts';
import { hasInvalidLabelValue } from '../metadata.ts';
import { hasRestartingInitContainer } from './containers.ts';
import { hasBadDeletionCost } from './pod-annotations.ts';
import { usesDevicesWithOwnUsers } from './pod-host.ts';
import type { OldFault, PodValidationContext } from './pod-validation-context.ts';
import { hasBrokenPages } from './resource-requirements.ts';
import {
  hasComparingToleration,
  hasInvalidNodeValue,
  hasInvalidSpreadSelector,
  hasInvalidTermSelector,
} from './scheduling.ts';
import { hasHostSysctl } from './security-context.ts';
import { hasStrayTokenPath } from './volume-projected.ts';

/**
 * Detects each fault in a pod (upstream: pkg/api/pod GetValidationOptionsFromPodSpecAndMeta of v1.36 with its default
 * gates). There are no entries for options whose gates are on, nor for OldPodViolatesMatchLabelKeysValidation: the
 * check that it falls back to rejects everything that the present check of label keys rejects.
 */
const faults: Readonly<Record<OldFault, (old: Pod) => boolean>> = {
  comparingToleration: ({ spec }) => hasComparingToleration(spec.tolerations ?? []),
  deletionCost: hasBadDeletionCost,
  hostSysctl: ({ spec }) => hasHostSysctl(spec),
  indivisibleHugePages: (old) =>
    hasBrokenPages(old.spec.overhead) ||
    [...allContainers(old)].some(
      ({ container: { resources } }) => hasBrokenPages(resources?.limits) || hasBrokenPages(resources?.requests),
    ),
  labelValueInSelector: ({ spec }) => hasInvalidTermSelector(spec.affinity),
  nodeAffinityValue: ({ spec }) =>
    hasInvalidNodeValue(spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution),
  restartingInitContainer: ({ spec }) => hasRestartingInitContainer(spec),
  seLinuxChangePolicy: ({ spec }) => spec.securityContext?.seLinuxChangePolicy !== undefined,
  spreadSelector: ({ spec }) => hasInvalidSpreadSelector(spec.topologySpreadConstraints ?? []),
  tokenPath: ({ spec }) => hasStrayTokenPath(spec.volumes ?? []),
  userNamespaceOnHostNetwork: ({ spec }) => spec.hostUsers === false && spec.hostNetwork === true,
  userNamespaceWithDevices: usesDevicesWithOwnUsers,
};

/** The context for writing a pod; without `old`, for creating it. */
export function createPodContext(policy: ClusterPolicy, old?: Pod): PodValidationContext {
  return {
    subject: 'pod',
    policy,
    hadBefore: old === undefined ? () => false : memoized((fault) => faults[fault](old)),
  };
}

export interface OldTemplate {
  readonly template: PodTemplateSpec;
  /** The owner's selector, if upstream accepts its old label values together with those of the template. */
  readonly selector?: LabelSelector;
}

/** The context for writing an object with a template; without `old`, for creating it. */
export function createTemplateContext(policy: ClusterPolicy, old?: OldTemplate): PodValidationContext {
  if (old === undefined) return { subject: 'template', policy, hadBefore: () => false };
  const pod = podOfTemplate(old.template);
  return {
    subject: 'template',
    policy,
    hadBefore: memoized(
      (fault) => faults[fault](pod) || (fault === 'labelValueInSelector' && hasInvalidLabelValue(old.selector)),
    ),
  };
}

/** The pod that would be created from the template, so that functions for pods can be used. */
export function podOfTemplate({ metadata, spec }: PodTemplateSpec): Pod {
  return {
    metadata: { ...metadata, name: metadata.name ?? '', namespace: metadata.namespace ?? '', uid: metadata.uid ?? '' },
    spec,
  };
}

/** Caches the result for each fault: most are never queried, and some for each container. */
function memoized(look: (fault: OldFault) => boolean): (fault: OldFault) => boolean {
  const known = new Map<OldFault, boolean>();
  return (fault) => {
    const found = known.get(fault) ?? look(fault);
    known.set(fault, found);
    return found;
  };
}
