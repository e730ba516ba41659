import type { ReplicaSet, ReplicaSetStatus } from '../../apps/replica-set.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { validateImmutable } from '../immutable.ts';
import { validateSelectorAndLabels } from '../pod/pod-template.ts';
import { validateAlwaysRunningTemplate, validateCounts, validateShares } from './replicas.ts';

/** A defaulted set without its metadata (upstream: apps/validation ValidateReplicaSet). */
export function validateReplicaSet({ spec }: ReplicaSet): FieldError[] {
  const errors = new FieldErrors();
  errors.nonNegative('spec.replicas', spec.replicas);
  errors.nonNegative('spec.minReadySeconds', spec.minReadySeconds);
  // Upstream's text names the deployment here, too.
  const look = validateSelectorAndLabels(errors, spec.selector, spec.template, {
    mandatory: true,
    empty: 'empty selector is invalid for deployment',
  });
  if (look) validateAlwaysRunningTemplate(errors, spec.template, 'ReplicaSet');
  return errors.list;
}

export function validateReplicaSetUpdate(set: ReplicaSet, old: ReplicaSet): FieldError[] {
  const errors = new FieldErrors();
  errors.list.push(...validateReplicaSet(set));
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
