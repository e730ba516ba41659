import { ownValue } from '../../../base/lookup.ts';
import { annotations } from '../../annotations.ts';
import type { Pod } from '../../core/pod.ts';
import type { PodResourceClaim, PodSpec } from '../../core/pod-spec.ts';
import { allContainers } from '../../pod.ts';
import { compareQuantities } from '../../quantity.ts';
import { aggregateContainers, isHugePageResource } from '../../resources.ts';
import type { ClusterPolicy } from '../cluster-policy.ts';
import { validateAllContainers, validateImagePadding } from './containers.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { validateLabels, validateObjectMeta } from '../metadata.ts';
import { checkDnsLabel, checkDnsSubdomain, INT32_MAX, rangeError } from '../names.ts';
import {
  validateDns,
  validateHostAliases,
  validateHostnameOverride,
  validateHostnames,
  validateHostUsers,
} from './pod-host.ts';
import { createPodContext } from './old-faults.ts';
import { validatePodAnnotations } from './pod-annotations.ts';
import type { PodValidationContext } from './pod-validation-context.ts';
import { validateResourceRequirements } from './resource-requirements.ts';
import type { ResourceScope } from './resource-requirements.ts';
import { validateAffinity, validateTolerations, validateTopologySpread } from './scheduling.ts';
import { matchProfileAnnotations, validatePodSecurityContext } from './security-context.ts';
import { validateGates, validatePolicies, validatePreemption } from './pod-policies.ts';
import { validateVolumes } from './volumes.ts';
import { validateHostProcess, validateOs } from './windows.ts';

/**
 * Validates a new pod as the API server does, with upstream's messages in its order. The pod must be defaulted. The
 * rules are those of v1.36 with default feature gates (upstream: core/validation ValidatePodCreate).
 */
export function validatePod(pod: Pod, policy: ClusterPolicy): FieldError[] {
  const errors = new FieldErrors();
  validateLivingPod(errors, pod, createPodContext(policy));
  if ((pod.spec.ephemeralContainers ?? []).length > 0)
    errors.forbidden('spec.ephemeralContainers', 'cannot be set on create');
  if (pod.spec.nodeName && (pod.spec.schedulingGates ?? []).length > 0)
    errors.forbidden('spec.nodeName', 'cannot be set until all schedulingGates have been cleared');
  matchProfileAnnotations(errors, pod);
  return errors.list;
}

/** The rules for a pod at any time, not only when it is created (upstream: validatePodMetadataAndSpec). */
export function validateLivingPod(errors: FieldErrors, pod: Pod, context: PodValidationContext): void {
  validateObjectMeta(errors, 'metadata', pod.metadata);
  validatePodAnnotations(errors, pod, context);
  validatePodSpec(errors, pod, context);
  validateTokensHaveAccount(errors, pod.spec);
  for (const { kind, container, path } of allContainers(pod))
    if (kind !== 'ephemeral') validateImagePadding(errors, path, container);
}

/** The rules for pods and templates. Paths begin with `spec`. */
export function validatePodSpec(errors: FieldErrors, pod: Pod, context: PodValidationContext): void {
  const { spec } = pod;
  const path = 'spec';
  if (spec.terminationGracePeriodSeconds === undefined) errors.required(`${path}.terminationGracePeriodSeconds`);
  const volumes = validateVolumes(errors, `${path}.volumes`, pod, context);
  const claimNames = new Set((spec.resourceClaims ?? []).map((claim) => claim.name).filter((name) => name !== ''));
  const anyHugePages = context.hadBefore('indivisibleHugePages');
  validateResourceClaims(errors, `${path}.resourceClaims`, pod, context);
  validateAllContainers(errors, path, { pod: context, spec, volumes, claimNames });
  validatePodResources(errors, `${path}.resources`, pod, { level: 'pod', claimNames, anyHugePages });
  validateHostPorts(errors, path, spec, context);
  validatePolicies(errors, path, spec);
  validateLabels(errors, `${path}.nodeSelector`, spec.nodeSelector);
  validatePodSecurityContext(errors, `${path}.securityContext`, spec, context);
  validateAffinity(errors, `${path}.affinity`, spec.affinity, context);
  validateDns(errors, `${path}.dnsConfig`, spec.dnsConfig, spec.dnsPolicy);
  validateGates(errors, path, spec);
  validateTopologySpread(errors, `${path}.topologySpreadConstraints`, spec.topologySpreadConstraints ?? [], context);
  validateHostProcess(errors, path, spec, context.policy);
  validateHostUsers(errors, path, pod, context);
  validateHostnameOverride(errors, `${path}.hostnameOverride`, spec);
  validateNames(errors, path, spec, context);
  validatePreemption(errors, `${path}.preemptionPolicy`, spec.preemptionPolicy);
  if (spec.overhead !== undefined)
    validateResourceRequirements(
      errors,
      `${path}.overhead`,
      { limits: spec.overhead },
      { level: 'container', claimNames: new Set(), anyHugePages },
    );
  validateOs(errors, path, spec);
  validateSchedulingGroup(errors, `${path}.schedulingGroup`, spec.schedulingGroup);
  validateFileKeyVolumes(errors, pod);
}

function validateNames(errors: FieldErrors, path: string, spec: PodSpec, context: PodValidationContext): void {
  const subdomain = (field: string, name: string | undefined): void => {
    if (name) errors.invalidEach(`${path}.${field}`, name, checkDnsSubdomain(name));
  };
  subdomain('serviceAccountName', spec.serviceAccountName);
  subdomain('nodeName', spec.nodeName);
  const deadline = spec.activeDeadlineSeconds;
  if (deadline !== undefined && (deadline < 1 || deadline > INT32_MAX))
    errors.invalid(`${path}.activeDeadlineSeconds`, deadline, rangeError(1, INT32_MAX));
  validateHostnames(errors, path, spec);
  if (spec.tolerations !== undefined)
    validateTolerations(errors, `${path}.tolerations`, spec.tolerations, {
      mayCompare: context.hadBefore('comparingToleration'),
    });
  validateHostAliases(errors, `${path}.hostAliases`, spec.hostAliases ?? []);
  subdomain('priorityClassName', spec.priorityClassName);
  if (spec.runtimeClassName !== undefined)
    errors.invalidEach(`${path}.runtimeClassName`, spec.runtimeClassName, checkDnsSubdomain(spec.runtimeClassName));
}

function validateSchedulingGroup(errors: FieldErrors, path: string, group: PodSpec['schedulingGroup']): void {
  if (group === undefined) return;
  const field = `${path}.podGroupName`;
  if (group.podGroupName === undefined) errors.invalid(field, null, 'must specify one of: `podGroupName`');
  else errors.invalidEach(field, group.podGroupName, checkDnsSubdomain(group.podGroupName));
}

function validateResourceClaims(errors: FieldErrors, path: string, pod: Pod, { subject }: PodValidationContext): void {
  const names = new Set<string>();
  for (const [index, claim] of (pod.spec.resourceClaims ?? []).entries()) {
    if (subject === 'pod' && pod.metadata.annotations?.[annotations.configMirror] !== undefined)
      errors.forbidden('[]', 'static pods do not support resource claims');
    else validateResourceClaim(errors, `${path}[${index}]`, claim, names);
  }
}

function validateResourceClaim(errors: FieldErrors, path: string, claim: PodResourceClaim, names: Set<string>): void {
  const { name, resourceClaimName, resourceClaimTemplateName } = claim;
  if (name === '') errors.required(`${path}.name`);
  else if (names.has(name)) errors.duplicate(`${path}.name`, name);
  else errors.invalidEach(`${path}.name`, name, checkDnsLabel(name));
  names.add(name);
  // Upstream prints its internal type here, whose field names start with a capital and which prints absent ones as
  // null.
  const shown = {
    Name: name,
    ResourceClaimName: resourceClaimName ?? null,
    ResourceClaimTemplateName: resourceClaimTemplateName ?? null,
  };
  if (resourceClaimName !== undefined && resourceClaimTemplateName !== undefined)
    errors.invalid(path, shown, 'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified');
  if (resourceClaimName === undefined && resourceClaimTemplateName === undefined)
    errors.invalid(path, shown, 'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`');
  if (resourceClaimName !== undefined)
    errors.invalidEach(`${path}.resourceClaimName`, resourceClaimName, checkDnsSubdomain(resourceClaimName));
  if (resourceClaimTemplateName !== undefined)
    errors.invalidEach(
      `${path}.resourceClaimTemplateName`,
      resourceClaimTemplateName,
      checkDnsSubdomain(resourceClaimTemplateName),
    );
}

/** Pod-level resources must cover the requests of the containers. */
function validatePodResources(errors: FieldErrors, path: string, pod: Pod, scope: ResourceScope): void {
  const { resources } = pod.spec;
  if (resources === undefined) return;
  if (pod.spec.os?.name === 'windows') return errors.forbidden(path, 'may not be set for a windows pod');
  if (resources.claims !== undefined)
    errors.forbidden(`${path}.claims`, 'claims may not be set for Resources at pod-level');
  validateResourceRequirements(errors, path, resources, scope);
  for (const [name, sum] of Object.entries(aggregateContainers(pod, 'requests'))) {
    const own = ownValue(resources.requests, name);
    if (own !== undefined && compareQuantities(sum, own) > 0)
      errors.invalid(
        `${path}.requests[${name}]`,
        own,
        `must be greater than or equal to aggregate container requests of ${sum}`,
      );
  }
  for (const [name, sum] of Object.entries(aggregateContainers(pod, 'limits'))) {
    const own = ownValue(resources.limits, name);
    if (isHugePageResource(name) && own !== undefined && compareQuantities(sum, own) > 0)
      errors.invalid(
        `${path}.limits[${name}]`,
        own,
        `must be greater than or equal to aggregate container limits of ${sum}`,
      );
  }
  for (const [index, container] of pod.spec.containers.entries()) {
    for (const [name, limit] of Object.entries(container.resources?.limits ?? {})) {
      const own = ownValue(resources.limits, name);
      if (own !== undefined && compareQuantities(limit, own) > 0)
        errors.invalid(
          `${path}.containers[${index}][${name}].limits`,
          limit,
          `must be less than or equal to pod limits of ${own}`,
        );
    }
  }
}

/**
 * In templates, host ports may be missing: they are set when a pod is created (upstream: validatePodHostNetworkDeps).
 */
function validateHostPorts(errors: FieldErrors, path: string, spec: PodSpec, { subject }: PodValidationContext): void {
  if (spec.hostNetwork !== true) return;
  for (const [index, container] of spec.containers.entries()) {
    for (const [position, { hostPort = 0, containerPort }] of (container.ports ?? []).entries()) {
      if (hostPort === containerPort || (hostPort === 0 && subject === 'template')) continue;
      errors.invalid(
        `${path}.containers[${index}].ports[${position}].hostPort`,
        hostPort,
        'must match `containerPort` when `hostNetwork` is true',
      );
    }
  }
}

function validateFileKeyVolumes(errors: FieldErrors, pod: Pod): void {
  const volumes = new Map((pod.spec.volumes ?? []).map((volume) => [volume.name, volume]));
  for (const { container, path } of allContainers(pod)) {
    for (const [index, { valueFrom }] of (container.env ?? []).entries()) {
      const name = valueFrom?.fileKeyRef?.volumeName;
      if (name === undefined) continue;
      const field = `${path}.env[${index}].valueFrom.fileKeyRef.volumeName`;
      const volume = volumes.get(name);
      if (volume === undefined) errors.notFound(field, name);
      else if (volume.emptyDir === undefined) errors.invalid(field, name, 'referenced volume must be of type emptyDir');
    }
  }
}

function validateTokensHaveAccount(errors: FieldErrors, spec: PodSpec): void {
  if (spec.serviceAccountName) return;
  for (const [index, { projected }] of (spec.volumes ?? []).entries()) {
    for (const [position, source] of (projected?.sources ?? []).entries()) {
      if (source.serviceAccountToken !== undefined) {
        errors.forbidden(
          `spec.volumes[${index}].projected.sources[${position}].serviceAccountToken`,
          'must not be specified when serviceAccountName is not set',
        );
      }
    }
  }
}
