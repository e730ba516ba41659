import type { PodSpec } from '../../core/pod-spec.ts';
import type { FieldErrors } from '../field-error.ts';
import { checkLabelKey } from '../names.ts';

/** Validates fields with a fixed set of values. */
export function validatePolicies(errors: FieldErrors, path: string, spec: PodSpec): void {
  validateChoice(errors, `${path}.restartPolicy`, spec.restartPolicy ?? '', ['Always', 'OnFailure', 'Never']);
  validateChoice(errors, `${path}.dnsPolicy`, spec.dnsPolicy ?? '', [
    'ClusterFirstWithHostNet',
    'ClusterFirst',
    'Default',
    'None',
  ]);
}

export function validatePreemption(errors: FieldErrors, field: string, policy: string | undefined): void {
  if (policy !== undefined) validateChoice(errors, field, policy, ['PreemptLowerPriority', 'Never']);
}

function validateChoice(errors: FieldErrors, field: string, value: string, supported: readonly string[]): void {
  if (value === '') errors.required(field);
  else errors.oneOf(field, value, supported);
}

/** Validates scheduling gates and readiness gates. */
export function validateGates(errors: FieldErrors, path: string, spec: PodSpec): void {
  for (const [index, { conditionType }] of (spec.readinessGates ?? []).entries()) {
    errors.invalidEach(`${path}.readinessGates[${index}].conditionType`, conditionType, checkLabelKey(conditionType));
  }
  const seen = new Set<string>();
  for (const [index, { name }] of (spec.schedulingGates ?? []).entries()) {
    const field = `${path}.schedulingGates[${index}]`;
    errors.invalidEach(field, name, checkLabelKey(name));
    if (seen.has(name)) errors.duplicate(field, name);
    seen.add(name);
  }
}
