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
 * How each fault shows in a pod (upstream: pkg/api/pod GetValidationOptionsFromPodSpecAndMeta, as of v1.36 with its
 * default gates). Options for gates that are on have no line here, nor has OldPodViolatesMatchLabelKeysValidation: what
 * today's check of label keys refuses, the one it falls back to refuses too.
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

/** Of a write of a pod; without `old` of its creation. */
export function createPodContext(policy: ClusterPolicy, old?: Pod): PodValidationContext {
  return {
    subject: 'pod',
    policy,
    hadBefore: old === undefined ? () => false : memoized((fault) => faults[fault](old)),
  };
}

export interface OldTemplate {
  readonly template: PodTemplateSpec;
  /** The owner's selector, where upstream tolerates old label values in it along with those of the template. */
  readonly selector?: LabelSelector;
}

/** Of a write of what has a template; without `old` of its creation. */
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

/** A template as the pod it would become, so that what is known of pods holds for it. */
export function podOfTemplate({ metadata, spec }: PodTemplateSpec): Pod {
  return {
    metadata: { ...metadata, name: metadata.name ?? '', namespace: metadata.namespace ?? '', uid: metadata.uid ?? '' },
    spec,
  };
}

/** Most faults are never asked for; one that is asked for at each container is looked for once. */
function memoized(look: (fault: OldFault) => boolean): (fault: OldFault) => boolean {
  const known = new Map<OldFault, boolean>();
  return (fault) => {
    const found = known.get(fault) ?? look(fault);
    known.set(fault, found);
    return found;
  };
}
