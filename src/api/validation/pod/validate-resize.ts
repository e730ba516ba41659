import type { Container } from '../../core/container.ts';
import type { Pod } from '../../core/pod.ts';
import type { ResourceList, ResourceRequirements } from '../../core/resource-requirements.ts';
import { isRestartableInit } from '../../pod.ts';
import { sameRequirements } from '../../pod-allocation.ts';
import { computePodQos, podQos } from '../../qos.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';

const resizableNames = ['cpu', 'memory'] as const;

/**
 * Validates a resize of an existing pod (upstream: core/validation ValidatePodResize). For a pod from a file
 * this is the only check of a resize. Both pods have the same containers.
 */
export function validateResize(before: Pod, after: Pod): readonly FieldError[] {
  const errors = new FieldErrors();
  const newClass = computePodQos(after);
  if (podQos(before) !== newClass)
    errors.invalid('spec', newClass, 'Pod QOS Class may not change as a result of resizing');
  validatePodLevel(errors, before.spec.resources, after.spec.resources);
  validateEach(errors, {
    field: 'spec.initContainers',
    before: before.spec.initContainers ?? [],
    after: after.spec.initContainers ?? [],
  });
  validateEach(errors, { field: 'spec.containers', before: before.spec.containers, after: after.spec.containers });
  return errors.list;
}

function validatePodLevel(
  errors: FieldErrors,
  before: ResourceRequirements | undefined,
  after: ResourceRequirements | undefined,
): void {
  if (before === undefined && after === undefined) return;
  if (before !== undefined && after === undefined)
    return errors.forbidden('spec.resources', 'pod-level resources cannot be removed');
  if (isAnyRemoved(before?.requests, after?.requests))
    errors.forbidden('spec.resources.requests', 'pod-level resource requests cannot be removed');
  if (isAnyRemoved(before?.limits, after?.limits))
    errors.forbidden('spec.resources.limits', 'pod-level resource limits cannot be removed');
  if (!sameRequirements(others(before), others(after)))
    errors.forbidden('spec', 'only cpu and memory resources are mutable at pod-level');
}

function validateEach(
  errors: FieldErrors,
  { field, before, after }: { field: string; before: readonly Container[]; after: readonly Container[] },
): void {
  for (const [index, old] of before.entries()) {
    const now = after[index];
    if (now === undefined || sameRequirements(old.resources, now.resources)) continue;
    const path = `${field}[${index}]`;
    if (isAnyRemoved(old.resources?.requests, now.resources?.requests))
      errors.forbidden(`${path}.resources.requests`, 'resource requests cannot be removed');
    if (isAnyRemoved(old.resources?.limits, now.resources?.limits))
      errors.forbidden(`${path}.resources.limits`, 'resource limits cannot be removed');
    const isInit = field === 'spec.initContainers';
    if (!sameRequirements(others(old.resources), others(now.resources))) {
      if (isInit) errors.forbidden(path, 'only cpu and memory resources for init or sidecar containers are mutable');
      else errors.forbidden('spec', 'only cpu and memory resources are mutable');
    }
    if (
      isInit &&
      !isRestartableInit(now) &&
      now.resizePolicy?.some((policy) => policy.restartPolicy === 'RestartContainer') === true
    ) {
      errors.forbidden(path, 'non-sidecar init containers with a resize policy of RestartContainer cannot be resized');
    }
  }
}

function isAnyRemoved(before: ResourceList = {}, after: ResourceList = {}): boolean {
  return Object.keys(before).some((name) => !Object.hasOwn(after, name));
}

/** All resources except CPU and memory. */
function others(resources: ResourceRequirements | undefined): ResourceRequirements {
  const without = (list: ResourceList = {}): ResourceList =>
    Object.fromEntries(Object.entries(list).filter(([name]) => !resizableNames.some((own) => own === name)));
  return { requests: without(resources?.requests), limits: without(resources?.limits) };
}
