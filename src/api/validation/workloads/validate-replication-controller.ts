import type { PodTemplate } from '../../core/pod-template.ts';
import type {
  ReplicationController,
  ReplicationControllerSpec,
  ReplicationControllerStatus,
} from '../../core/replication-controller.ts';
import { matchesLabelSelector } from '../../selectors.ts';
import type { ClusterPolicy } from '../cluster-policy.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { createTemplateContext } from '../pod/old-faults.ts';
import { sorted, validatePodTemplate } from '../pod/pod-template.ts';
import type { PodValidationContext } from '../pod/pod-validation-context.ts';
import { validateAlwaysRunningTemplate, validateCounts, validateShares } from './replicas.ts';

/** Validates a defaulted one, except its metadata (upstream: core/validation ValidateReplicationController). */
export function validateReplicationController({ spec }: ReplicationController, policy: ClusterPolicy): FieldError[] {
  const errors = new FieldErrors();
  validateSpec(errors, spec, createTemplateContext(policy));
  return errors.list;
}

export function validateReplicationControllerUpdate(
  controller: ReplicationController,
  old: ReplicationController,
  policy: ClusterPolicy,
): FieldError[] {
  const errors = new FieldErrors();
  const { template } = old.spec;
  validateSpec(
    errors,
    controller.spec,
    createTemplateContext(policy, template === undefined ? undefined : { template }),
  );
  return errors.list;
}

function validateSpec(errors: FieldErrors, spec: ReplicationControllerSpec, context: PodValidationContext): void {
  const { selector = {}, template } = spec;
  const isEmpty = Object.keys(selector).length === 0;
  errors.nonNegative('spec.minReadySeconds', spec.minReadySeconds);
  if (isEmpty) errors.required('spec.selector');
  errors.nonNegative('spec.replicas', spec.replicas);
  if (template === undefined) return errors.required('spec.template');
  if (!isEmpty && !matchesLabelSelector({ matchLabels: selector }, template.metadata.labels ?? {}))
    errors.invalid(
      'spec.template.metadata.labels',
      sorted(template.metadata.labels),
      '`selector` does not match template `labels`',
    );
  validateAlwaysRunningTemplate(errors, template, { controller: 'ReplicationController', context });
}

export function validateReplicationControllerStatus({ status = { replicas: 0 } }: ReplicationController): FieldError[] {
  const errors = new FieldErrors();
  validateCounts<ReplicationControllerStatus>(errors, status, [
    'replicas',
    'fullyLabeledReplicas',
    'readyReplicas',
    'availableReplicas',
    'observedGeneration',
  ]);
  validateShares(errors, status, 'fullyLabeledReplicas');
  return errors.list;
}

/** Validates a defaulted PodTemplate object, except its metadata. `old`: the object it replaces. */
export function validateStoredPodTemplate(
  { template }: PodTemplate,
  old: PodTemplate | undefined,
  policy: ClusterPolicy,
): FieldError[] {
  const errors = new FieldErrors();
  validatePodTemplate(errors, 'template', template, createTemplateContext(policy, old));
  return errors.list;
}
