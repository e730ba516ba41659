import type { Deployment, DeploymentSpec, DeploymentStatus, DeploymentStrategy } from '../../apps/deployment.ts';
import type { ClusterPolicy } from '../cluster-policy.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { validateImmutable } from '../immutable.ts';
import { plainNumber, validateAtMostAll, validateIntOrPercent } from '../int-or-percent.ts';
import { validateAlwaysRunningTemplate, validateCollisions, validateCounts, validateShares } from './replicas.ts';
import { createTemplateContext } from '../pod/old-faults.ts';
import { validateSelectorAndLabels } from '../pod/pod-template.ts';
import type { PodValidationContext } from '../pod/pod-validation-context.ts';

/** Validates a defaulted deployment, except its metadata (upstream: apps/validation ValidateDeployment). */
export function validateDeployment({ spec }: Deployment, policy: ClusterPolicy): FieldError[] {
  const errors = new FieldErrors();
  validateSpec(errors, spec, createTemplateContext(policy));
  return errors.list;
}

function validateSpec(errors: FieldErrors, spec: DeploymentSpec, context: PodValidationContext): void {
  errors.nonNegative('spec.replicas', spec.replicas);
  const look = validateSelectorAndLabels(errors, spec.selector, spec.template, {
    mandatory: true,
    empty: 'empty selector is invalid for deployment',
  });
  if (look) validateAlwaysRunningTemplate(errors, spec.template, { controller: 'ReplicaSet', context });
  validateStrategy(errors, spec.strategy);
  errors.nonNegative('spec.minReadySeconds', spec.minReadySeconds);
  errors.nonNegative('spec.revisionHistoryLimit', spec.revisionHistoryLimit);
  validateDeadline(errors, spec);
}

export function validateDeploymentUpdate(deployment: Deployment, old: Deployment, policy: ClusterPolicy): FieldError[] {
  const errors = new FieldErrors();
  validateSpec(errors, deployment.spec, createTemplateContext(policy, { template: old.spec.template }));
  validateImmutable(errors, 'spec.selector', deployment.spec.selector, old.spec.selector);
  return errors.list;
}

export function validateDeploymentStatus({ status = {} }: Deployment, old: Deployment): FieldError[] {
  const errors = new FieldErrors();
  validateCounts<DeploymentStatus>(errors, status, [
    'observedGeneration',
    'replicas',
    'updatedReplicas',
    'readyReplicas',
    'availableReplicas',
    'unavailableReplicas',
    'terminatingReplicas',
    'collisionCount',
  ]);
  validateShares(errors, status, 'updatedReplicas');
  validateCollisions(errors, status.collisionCount, old.status?.collisionCount);
  return errors.list;
}

function validateStrategy(errors: FieldErrors, strategy: DeploymentStrategy | undefined): void {
  const { type, rollingUpdate } = strategy ?? {};
  const at = 'spec.strategy.rollingUpdate';
  if (type === 'Recreate') {
    if (rollingUpdate !== undefined) errors.forbidden(at, "may not be specified when strategy `type` is 'Recreate'");
  } else if (type === 'RollingUpdate') {
    if (rollingUpdate === undefined) return errors.required(at, 'this should be defaulted and never be nil');
    const { maxUnavailable = 0, maxSurge = 0 } = rollingUpdate;
    validateIntOrPercent(errors, `${at}.maxUnavailable`, maxUnavailable);
    validateIntOrPercent(errors, `${at}.maxSurge`, maxSurge);
    if (plainNumber(maxUnavailable) === 0 && plainNumber(maxSurge) === 0)
      errors.invalid(`${at}.maxUnavailable`, maxUnavailable, 'may not be 0 when `maxSurge` is 0');
    validateAtMostAll(errors, `${at}.maxUnavailable`, maxUnavailable);
  } else
    errors.notSupported('spec.strategy', { Type: type, RollingUpdate: rollingForm(rollingUpdate) }, [
      'Recreate',
      'RollingUpdate',
    ]);
}

/** Upstream prints its internal type, whose field names start with a capital. */
export function rollingForm(
  rolling: { readonly maxUnavailable?: number | string; readonly maxSurge?: number | string } | undefined,
): object | null {
  return rolling === undefined
    ? null
    : { MaxUnavailable: rolling.maxUnavailable ?? 0, MaxSurge: rolling.maxSurge ?? 0 };
}

function validateDeadline(errors: FieldErrors, { progressDeadlineSeconds, minReadySeconds = 0 }: DeploymentSpec): void {
  if (progressDeadlineSeconds === undefined) return;
  errors.nonNegative('spec.progressDeadlineSeconds', progressDeadlineSeconds);
  if (progressDeadlineSeconds <= minReadySeconds)
    errors.invalid('spec.progressDeadlineSeconds', progressDeadlineSeconds, 'must be greater than minReadySeconds');
}
