import type { PodDisruptionBudget, PodDisruptionBudgetSpec } from '../../policy/pod-disruption-budget.ts';
import { validateConditions } from '../conditions.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { validateAtMostAll, validateIntOrPercent } from '../int-or-percent.ts';
import { isInvalidSelector, validateLabelSelector } from '../metadata.ts';

/** Validates a PodDisruptionBudget, except its metadata (upstream: policy/validation ValidatePodDisruptionBudget). */
export function validatePodDisruptionBudget(budget: PodDisruptionBudget): FieldError[] {
  return validate(budget, false);
}

/** Invalid label values in a selector may stay. */
export function validatePodDisruptionBudgetUpdate(budget: PodDisruptionBudget, old: PodDisruptionBudget): FieldError[] {
  return validate(budget, isInvalidSelector(old.spec.selector));
}

function validate({ spec }: PodDisruptionBudget, anyValue: boolean): FieldError[] {
  const errors = new FieldErrors();
  if (spec.minAvailable !== undefined && spec.maxUnavailable !== undefined)
    errors.invalid('spec', specForm(spec), 'minAvailable and maxUnavailable cannot be both set');
  for (const field of ['minAvailable', 'maxUnavailable'] as const) {
    const value = spec[field];
    if (value === undefined) continue;
    validateIntOrPercent(errors, `spec.${field}`, value);
    validateAtMostAll(errors, `spec.${field}`, value);
  }
  validateLabelSelector(errors, 'spec.selector', spec.selector, { anyValue });
  const { unhealthyPodEvictionPolicy: policy } = spec;
  if (policy !== undefined) errors.oneOf('spec.unhealthyPodEvictionPolicy', policy, ['AlwaysAllow', 'IfHealthyBudget']);
  return errors.list;
}

/** Upstream prints its internal type, whose field names start with a capital. */
function specForm(spec: PodDisruptionBudgetSpec): object {
  return {
    MinAvailable: spec.minAvailable ?? null,
    Selector: spec.selector ?? null,
    MaxUnavailable: spec.maxUnavailable ?? null,
    UnhealthyPodEvictionPolicy: spec.unhealthyPodEvictionPolicy ?? null,
  };
}

export function validatePodDisruptionBudgetStatus({ status }: PodDisruptionBudget): FieldError[] {
  const errors = new FieldErrors();
  if (status === undefined) return errors.list;
  validateConditions(errors, 'status.conditions', status.conditions ?? []);
  for (const field of ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods'] as const)
    errors.nonNegative(`status.${field}`, status[field]);
  return errors.list;
}
