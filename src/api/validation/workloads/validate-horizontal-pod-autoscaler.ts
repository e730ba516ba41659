import type {
  CrossVersionObjectReference,
  HPAScalingPolicy,
  HPAScalingRules,
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerSpec,
} from '../../autoscaling/horizontal-pod-autoscaler.ts';
import { quantitySign } from '../../quantity.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { checkPathSegment } from '../names.ts';
import { validateMetricSpec } from './validate-metric-spec.ts';

const LONGEST_PERIOD_SECONDS = 1800;
const LONGEST_WINDOW_SECONDS = 3600;

/** Which API versions may be missing or invalid in references. */
interface ReferenceRules {
  readonly mayBeWrong?: boolean;
  readonly mayLackGroup?: boolean;
}

/**
 * Validates a new autoscaler after defaulting, except its metadata (upstream: autoscaling/validation
 * ValidateHorizontalPodAutoscaler).
 */
export function validateHorizontalPodAutoscaler({ spec }: HorizontalPodAutoscaler): FieldError[] {
  return validateSpec(spec, undefined);
}

/**
 * An invalid reference that an older API server accepted may stay (upstream:
 * validationOptionsForHorizontalPodAutoscaler).
 */
export function validateHorizontalPodAutoscalerUpdate(
  { spec }: HorizontalPodAutoscaler,
  { spec: old }: HorizontalPodAutoscaler,
): FieldError[] {
  return validateSpec(spec, old);
}

/** Upstream: ValidateHorizontalPodAutoscalerStatusUpdate. */
export function validateHorizontalPodAutoscalerStatus({ status }: HorizontalPodAutoscaler): FieldError[] {
  const errors = new FieldErrors();
  errors.nonNegative('status.currentReplicas', status?.currentReplicas);
  errors.nonNegative('status.desiredReplicas', status?.desiredReplicas);
  return errors.list;
}

function validateSpec(spec: HorizontalPodAutoscalerSpec, old: HorizontalPodAutoscalerSpec | undefined): FieldError[] {
  const errors = new FieldErrors();
  validateReplicas(errors, spec, old);
  validateReference(errors, 'spec.scaleTargetRef', spec.scaleTargetRef, targetRules(spec, old));
  const objectRules = { mayLackGroup: true, mayBeWrong: hasWrongObject(old) };
  for (const [index, metric] of (spec.metrics ?? []).entries())
    validateMetricSpec(errors, `spec.metrics[${index}]`, metric, (field, reference) =>
      validateReference(errors, field, reference, objectRules),
    );
  if (spec.minReplicas === 0 && !spec.metrics?.some(({ type }) => type === 'Object' || type === 'External'))
    errors.forbidden(
      'spec.metrics',
      'must specify at least one Object or External metric to support scaling to zero replicas',
    );
  validateRules(errors, 'spec.behavior.scaleUp', spec.behavior?.scaleUp);
  validateRules(errors, 'spec.behavior.scaleDown', spec.behavior?.scaleDown);
  return errors.list;
}

function validateReplicas(
  errors: FieldErrors,
  { minReplicas, maxReplicas }: HorizontalPodAutoscalerSpec,
  old: HorizontalPodAutoscalerSpec | undefined,
): void {
  // Zero needs the feature gate HPAScaleToZero, which is off; an object that has it may keep it.
  const least = old?.minReplicas === 0 ? 0 : 1;
  if (minReplicas !== undefined && minReplicas < least)
    errors.invalid('spec.minReplicas', minReplicas, `must be greater than or equal to ${least}`);
  if (maxReplicas === 0) errors.required('spec.maxReplicas', 'must be set and greater than 0');
  else if (maxReplicas < 0) errors.invalid('spec.maxReplicas', maxReplicas, 'must be greater than or equal to 1');
  if (minReplicas !== undefined && maxReplicas < minReplicas)
    errors.invalid('spec.maxReplicas', maxReplicas, 'must be greater than or equal to `minReplicas`');
}

function targetRules(
  { scaleTargetRef }: HorizontalPodAutoscalerSpec,
  old: HorizontalPodAutoscalerSpec | undefined,
): ReferenceRules {
  const isSame =
    old?.scaleTargetRef.kind === scaleTargetRef.kind &&
    (old.scaleTargetRef.apiVersion ?? '') === (scaleTargetRef.apiVersion ?? '');
  return isSame ? { mayBeWrong: true } : { mayLackGroup: scaleTargetRef.kind === 'ReplicationController' };
}

function hasWrongObject(old: HorizontalPodAutoscalerSpec | undefined): boolean {
  return (old?.metrics ?? []).some(
    ({ type, object }) =>
      type === 'Object' &&
      object !== undefined &&
      apiVersionFault(object.describedObject, { mayLackGroup: true }) !== undefined,
  );
}

function validateReference(
  errors: FieldErrors,
  field: string,
  reference: CrossVersionObjectReference,
  rules: ReferenceRules,
): void {
  const { kind, name, apiVersion = '' } = reference;
  if (kind === '') errors.required(`${field}.kind`);
  else errors.invalidEach(`${field}.kind`, kind, checkPathSegment(kind));
  if (name === '') errors.required(`${field}.name`);
  else errors.invalidEach(`${field}.name`, name, checkPathSegment(name));
  const fault = apiVersionFault(reference, rules);
  if (fault !== undefined) errors.invalid(`${field}.apiVersion`, apiVersion, fault);
}

/** Upstream: ValidateAPIVersion. */
function apiVersionFault(
  { apiVersion = '' }: CrossVersionObjectReference,
  { mayBeWrong = false, mayLackGroup = false }: ReferenceRules,
): string | undefined {
  if (mayBeWrong) return undefined;
  const slashes = apiVersion.split('/').length - 1;
  if (apiVersion !== '/' && slashes > 1) return `unexpected GroupVersion string: ${apiVersion}`;
  const group = slashes === 0 ? '' : apiVersion.slice(0, apiVersion.indexOf('/'));
  return group === '' && !mayLackGroup ? 'apiVersion must specify API group' : undefined;
}

function validateRules(errors: FieldErrors, field: string, rules: HPAScalingRules | undefined): void {
  if (rules === undefined) return;
  const { stabilizationWindowSeconds: window, selectPolicy, policies = [], tolerance } = rules;
  if (window !== undefined && window < 0)
    errors.invalid(`${field}.stabilizationWindowSeconds`, window, 'must be greater than or equal to zero');
  if (window !== undefined && window > LONGEST_WINDOW_SECONDS)
    errors.invalid(
      `${field}.stabilizationWindowSeconds`,
      window,
      `must be less than or equal to ${LONGEST_WINDOW_SECONDS}`,
    );
  if (selectPolicy !== undefined) errors.oneOf(`${field}.selectPolicy`, selectPolicy, ['Disabled', 'Max', 'Min']);
  if (policies.length === 0) errors.required(`${field}.policies`, 'must specify at least one Policy');
  for (const [index, policy] of policies.entries()) validatePolicy(errors, `${field}.policies[${index}]`, policy);
  if (tolerance !== undefined && quantitySign(tolerance) < 0)
    errors.invalid(`${field}.tolerance`, tolerance, 'must be greater than or equal to 0');
}

function validatePolicy(errors: FieldErrors, field: string, { type, value, periodSeconds }: HPAScalingPolicy): void {
  errors.oneOf(`${field}.type`, type, ['Percent', 'Pods']);
  if (value <= 0) errors.invalid(`${field}.value`, value, 'must be greater than zero');
  if (periodSeconds <= 0) errors.invalid(`${field}.periodSeconds`, periodSeconds, 'must be greater than zero');
  if (periodSeconds > LONGEST_PERIOD_SECONDS)
    errors.invalid(`${field}.periodSeconds`, periodSeconds, `must be less than or equal to ${LONGEST_PERIOD_SECONDS}`);
}
