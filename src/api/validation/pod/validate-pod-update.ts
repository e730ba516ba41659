import { ownValue } from '../../../base/lookup.ts';
import { annotations } from '../../annotations.ts';
import type { Container } from '../../core/container.ts';
import type { Pod } from '../../core/pod.ts';
import type { PodSpec } from '../../core/pod-spec.ts';
import type { NodeAffinity, NodeSelectorTerm, Toleration } from '../../core/scheduling.ts';
import { semanticEqual } from '../../semantic-equal.ts';
import { unifiedDiff } from '../../unified-diff.ts';
import type { ClusterPolicy } from '../cluster-policy.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { INT32_MAX, rangeError } from '../names.ts';
import { createPodContext } from './old-faults.ts';
import { validateResize } from './validate-resize.ts';
import { validateLivingPod } from './validate-pod.ts';

const APP_ARMOR_PREFIX = 'container.apparmor.security.beta.kubernetes.io/';
const mutableFields = [
  '`spec.containers[*].image`',
  '`spec.initContainers[*].image`',
  '`spec.activeDeadlineSeconds`',
  '`spec.tolerations` (only additions to existing tolerations)',
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
];

/**
 * Validates an update of a pod by a user (upstream: core/validation ValidatePodUpdate). Both pods have their defaults.
 */
export function validatePodUpdate(pod: Pod, old: Pod, policy: ClusterPolicy): readonly FieldError[] {
  const errors = new FieldErrors();
  validateLivingPod(errors, pod, createPodContext(policy, old));
  validateAnnotationChanges(errors, pod, old);
  for (const field of ['containers', 'initContainers'] as const)
    if (!validateImages(errors, `spec.${field}`, pod.spec[field] ?? [], old.spec[field] ?? [])) return errors.list;
  if (!validateDeadline(errors, pod.spec.activeDeadlineSeconds, old.spec.activeDeadlineSeconds)) return errors.list;
  validateTolerationChanges(errors, pod.spec, old.spec);
  validateGateChanges(errors, pod.spec, old.spec);
  if (semanticEqual(pod.spec, old.spec)) return errors.list;
  const rest = withoutMutable(errors, pod.spec, old.spec);
  if (!semanticEqual(rest, old.spec))
    errors.forbidden(
      'spec',
      `pod updates may not change fields other than ${mutableFields.join(',')}\n${unifiedDiff(old.spec, rest)}`,
    );
  return errors.list;
}

/**
 * Validates a write to `ephemeralcontainers`; everything else is unchanged (upstream:
 * ValidatePodEphemeralContainersUpdate).
 */
export function validateEphemeralContainersUpdate(pod: Pod, old: Pod, policy: ClusterPolicy): readonly FieldError[] {
  const errors = new FieldErrors();
  const field = 'spec.ephemeralContainers';
  if (old.metadata.annotations?.[annotations.configMirror] !== undefined) {
    errors.forbidden('[]', 'static pods do not support ephemeral containers');
    return errors.list;
  }
  validateLivingPod(errors, pod, createPodContext(policy, old));
  validateAnnotationChanges(errors, pod, old);
  const now = new Map((pod.spec.ephemeralContainers ?? []).map((container) => [container.name, container]));
  for (const container of old.spec.ephemeralContainers ?? []) {
    const kept = now.get(container.name);
    const name = JSON.stringify(container.name);
    if (kept === undefined) errors.forbidden(field, `existing ephemeral containers ${name} may not be removed\n`);
    else if (!semanticEqual(container, kept))
      errors.forbidden(
        field,
        `existing ephemeral containers ${name} may not be changed\n${unifiedDiff(container, kept)}`,
      );
  }
  return errors.list;
}

/** Validates a write to `resize` (upstream: ValidatePodResize). */
export function validateResizeUpdate(pod: Pod, old: Pod, policy: ClusterPolicy): readonly FieldError[] {
  const errors = new FieldErrors();
  const never =
    old.metadata.annotations?.[annotations.configMirror] !== undefined
      ? 'static'
      : old.spec.os?.name === 'windows'
        ? 'windows'
        : undefined;
  if (never !== undefined) {
    errors.forbidden('[]', `${never} pods cannot be resized`);
    return errors.list;
  }
  validateLivingPod(errors, pod, createPodContext(policy, old));
  const running = (old.status?.containerStatuses ?? []).find(({ state }) => state?.running !== undefined);
  if (running !== undefined && running.resources === undefined)
    errors.forbidden('spec', 'Pod running on node without support for resize');
  if (!validateOrder(errors, pod.spec, old.spec)) return errors.list;
  errors.list.push(...validateResize(old, pod));
  if (errors.list.length > 0) return errors.list;
  const rest: PodSpec = { ...pod.spec, ...withResourcesOf(pod.spec, old.spec), resources: old.spec.resources };
  if (!semanticEqual(rest, old.spec)) errors.forbidden('spec', 'only cpu and memory resources are mutable');
  return errors.list;
}

function validateOrder(errors: FieldErrors, spec: PodSpec, old: PodSpec): boolean {
  const before = errors.list.length;
  for (const field of ['containers', 'initContainers'] as const) {
    const containers = spec[field] ?? [];
    const was = old[field] ?? [];
    if (containers.length !== was.length)
      errors.forbidden(`spec.${field}`, `${field} may not be added or removed on resize`);
    else
      for (const [index, { name }] of containers.entries())
        if (name !== was[index]?.name)
          errors.forbidden(`spec.${field}[${index}].name`, `${field} may not be renamed or reordered on resize`);
  }
  return errors.list.length === before;
}

function withResourcesOf(spec: PodSpec, old: PodSpec): Pick<PodSpec, 'containers' | 'initContainers'> {
  const each = (containers: readonly Container[], before: readonly Container[]): Container[] =>
    containers.map((container, index) => ({
      ...container,
      resources: before[index]?.resources,
      resizePolicy: before[index]?.resizePolicy,
    }));
  return {
    containers: each(spec.containers, old.containers),
    ...(spec.initContainers !== undefined && { initContainers: each(spec.initContainers, old.initContainers ?? []) }),
  };
}

/** Upstream: ValidatePodSpecificAnnotationUpdates. */
export function validateAnnotationChanges(errors: FieldErrors, pod: Pod, old: Pod): void {
  const now = pod.metadata.annotations ?? {};
  const before = old.metadata.annotations ?? {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(now)])) {
    if (ownValue(before, key) === ownValue(now, key)) continue;
    const verb = !Object.hasOwn(before, key) ? 'add' : 'remove or update';
    if (key.startsWith(APP_ARMOR_PREFIX))
      errors.forbidden(`metadata.annotations[${key}]`, `may not ${verb} AppArmor annotations`);
    if (key === annotations.configMirror)
      errors.forbidden(`metadata.annotations[${key}]`, `may not ${verb} mirror pod annotation`);
  }
}

/** Returns false if nothing more can be compared. */
function validateImages(
  errors: FieldErrors,
  field: string,
  containers: readonly Container[],
  old: readonly Container[],
): boolean {
  if (containers.length !== old.length) {
    errors.forbidden(field, 'pod updates may not add or remove containers');
    return false;
  }
  for (const [index, { image = '' }] of containers.entries()) {
    if (image === '') errors.required(`${field}[${index}].image`);
    if (image.trim() !== image)
      errors.invalid(`${field}[${index}].image`, image, 'must not have leading or trailing whitespace');
  }
  return true;
}

function validateDeadline(
  errors: FieldErrors,
  seconds: number | bigint | undefined,
  before: number | bigint | undefined,
): boolean {
  const field = 'spec.activeDeadlineSeconds';
  if (seconds === undefined) {
    if (before !== undefined) errors.invalid(field, null, 'must not update from a positive integer to nil value');
    return true;
  }
  if (seconds < 0 || seconds > INT32_MAX) errors.invalid(field, seconds, rangeError(0, INT32_MAX));
  else if (before !== undefined && before < seconds)
    errors.invalid(field, seconds, 'must be less than or equal to previous value');
  else return true;
  return false;
}

function validateTolerationChanges(errors: FieldErrors, { tolerations = [] }: PodSpec, old: PodSpec): void {
  const textOf = ({ key, operator, value, effect }: Toleration): string =>
    JSON.stringify([key ?? '', operator ?? '', value ?? '', effect ?? '']);
  const now = new Set(tolerations.map(textOf));
  if (!(old.tolerations ?? []).every((before) => now.has(textOf(before))))
    errors.forbidden('spec.tolerations', 'existing toleration can not be modified except its tolerationSeconds');
}

function validateGateChanges(errors: FieldErrors, spec: PodSpec, old: PodSpec): void {
  const before = new Set((old.schedulingGates ?? []).map(({ name }) => name));
  for (const [index, { name }] of (spec.schedulingGates ?? []).entries()) {
    if (!before.has(name))
      errors.forbidden(
        `spec.schedulingGates[${index}].name`,
        `only deletion is allowed, but found new scheduling gate '${name}'`,
      );
  }
}

/** The spec with the old values in all fields that may change. Any remaining difference is a forbidden change. */
function withoutMutable(errors: FieldErrors, spec: PodSpec, old: PodSpec): PodSpec {
  const images = (containers: readonly Container[], before: readonly Container[]): Container[] =>
    containers.map((container, index) => ({ ...container, image: before[index]?.image }));
  const rest: PodSpec = {
    ...spec,
    containers: images(spec.containers, old.containers),
    ...(spec.initContainers !== undefined && { initContainers: images(spec.initContainers, old.initContainers ?? []) }),
    activeDeadlineSeconds: old.activeDeadlineSeconds,
    schedulingGates: old.schedulingGates,
    tolerations: old.tolerations,
  };
  if ((old.terminationGracePeriodSeconds ?? 0) < 0 && rest.terminationGracePeriodSeconds === 1)
    rest.terminationGracePeriodSeconds = old.terminationGracePeriodSeconds;
  if ((old.schedulingGates ?? []).length === 0) return rest;
  return withoutNarrowing(errors, rest, old);
}

/** While a pod has scheduling gates, its node selection may be restricted further. */
function withoutNarrowing(errors: FieldErrors, rest: PodSpec, old: PodSpec): PodSpec {
  const selector = rest.nodeSelector ?? {};
  const removed = Object.entries(old.nodeSelector ?? {}).some(([key, value]) => selector[key] !== value);
  if (removed)
    errors.invalid(
      'spec.nodeSelector',
      selector,
      'only additions to spec.nodeSelector are allowed (no mutations or deletions)',
    );
  const before = old.affinity?.nodeAffinity;
  if (!semanticEqual(rest.affinity?.nodeAffinity, before))
    validateNarrowing(errors, rest.affinity?.nodeAffinity, before);
  const { nodeAffinity: _, ...others } = rest.affinity ?? {};
  const affinity = { ...others, ...(before !== undefined && { nodeAffinity: before }) };
  return {
    ...rest,
    nodeSelector: old.nodeSelector,
    affinity: Object.keys(affinity).length === 0 && old.affinity === undefined ? undefined : affinity,
  };
}

function validateNarrowing(errors: FieldErrors, now: NodeAffinity | undefined, before: NodeAffinity | undefined): void {
  const field = 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms';
  const oldTerms = before?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const terms = now?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  if (oldTerms.length > 0 && oldTerms.length !== terms.length)
    return errors.invalid(field, terms, 'no additions/deletions to non-empty NodeSelectorTerms list are allowed');
  for (const [index, oldTerm] of oldTerms.entries()) {
    const term = terms[index] ?? {};
    if (!onlyAdds(term, oldTerm))
      errors.invalid(`${field}[${index}]`, term, 'only additions are allowed (no mutations or deletions)');
  }
}

/** A term without requirements matches nothing, so adding requirements to it would match more. */
function onlyAdds(term: NodeSelectorTerm, old: NodeSelectorTerm): boolean {
  const count = ({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm): number =>
    matchExpressions.length + matchFields.length;
  if (count(old) === 0) return count(term) === 0;
  return (['matchExpressions', 'matchFields'] as const).every((list) => {
    const before = old[list] ?? [];
    return semanticEqual((term[list] ?? []).slice(0, before.length), before);
  });
}
