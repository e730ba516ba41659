import type { ReplicaSet, ReplicaSetSpec, ReplicaSetStatus } from '../../apps/replica-set.ts';
import type { ClusterPolicy } from '../cluster-policy.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { validateImmutable } from '../immutable.ts';
import { createTemplateContext } from '../pod/old-faults.ts';
import { validateSelectorAndLabels } from '../pod/pod-template.ts';
import type { PodValidationContext } from '../pod/pod-validation-context.ts';
import { validateAlwaysRunningTemplate, validateCounts, validateShares } from './replicas.ts';

/** Validates a defaulted set, except its metadata (upstream: apps/validation ValidateReplicaSet). */
export function validateReplicaSet({ spec }: ReplicaSet, policy: ClusterPolicy): FieldError[] {
  const errors = new FieldErrors();
  validateSpec(errors, spec, createTemplateContext(policy));
  return errors.list;
}

function validateSpec(errors: FieldErrors, spec: ReplicaSetSpec, context: PodValidationContext): void {
  errors.nonNegative('spec.replicas', spec.replicas);
  errors.nonNegative('spec.minReadySeconds', spec.minReadySeconds);
  // Upstream's text names the deployment here, too.
  const look = validateSelectorAndLabels(errors, spec.selector, spec.template, {
    mandatory: true,
    empty: 'empty selector is invalid for deployment',
  });
  if (look) validateAlwaysRunningTemplate(errors, spec.template, { controller: 'ReplicaSet', context });
}

export function validateReplicaSetUpdate(set: ReplicaSet, old: ReplicaSet, policy: ClusterPolicy): FieldError[] {
  const errors = new FieldErrors();
  validateSpec(errors, set.spec, createTemplateContext(policy, { template: old.spec.template }));
  validateImmutable(errors, 'spec.selector', set.spec.selector, old.spec.selector);
  return errors.list;
}

export function validateReplicaSetStatus({ status = { replicas: 0 } }: ReplicaSet): FieldError[] {
  const errors = new FieldErrors();
  validateCounts<ReplicaSetStatus>(errors, status, [
    'replicas',
    'fullyLabeledReplicas',
    'readyReplicas',
    'availableReplicas',
    'observedGeneration',
    'terminatingReplicas',
  ]);
  validateShares(errors, status, 'fullyLabeledReplicas');
  return errors.list;
}
