import type { DaemonSet, DaemonSetSpec, DaemonSetStatus, DaemonSetUpdateStrategy } from '../../apps/daemon-set.ts';
import type { ClusterPolicy } from '../cluster-policy.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { validateImmutable } from '../immutable.ts';
import { plainNumber, validateAtMostAll, validateIntOrPercent } from '../int-or-percent.ts';
import { createTemplateContext } from '../pod/old-faults.ts';
import { validateSelectorAndLabels } from '../pod/pod-template.ts';
import type { PodValidationContext } from '../pod/pod-validation-context.ts';
import { validateAlwaysRunningTemplate, validateCollisions, validateCounts } from './replicas.ts';
import { rollingForm } from './validate-deployment.ts';

/** Validates a defaulted set, except its metadata (upstream: apps/validation ValidateDaemonSet). */
export function validateDaemonSet({ spec }: DaemonSet, policy: ClusterPolicy): FieldError[] {
  const errors = new FieldErrors();
  validateSpec(errors, spec, createTemplateContext(policy));
  return errors.list;
}

function validateSpec(errors: FieldErrors, spec: DaemonSetSpec, context: PodValidationContext): void {
  const { selector, template } = spec;
  validateSelectorAndLabels(errors, selector, template, {
    mandatory: false,
    empty: 'empty selector is invalid for daemonset',
    anyValue: context.hadBefore('labelValueInSelector'),
  });
  validateAlwaysRunningTemplate(errors, template, { controller: 'DaemonSet', context });
  errors.nonNegative('spec.minReadySeconds', spec.minReadySeconds);
  validateStrategy(errors, spec.updateStrategy);
  errors.nonNegative('spec.revisionHistoryLimit', spec.revisionHistoryLimit);
}

export function validateDaemonSetUpdate(set: DaemonSet, old: DaemonSet, policy: ClusterPolicy): FieldError[] {
  const errors = new FieldErrors();
  validateImmutable(errors, 'spec.selector', set.spec.selector, old.spec.selector);
  validateSpec(errors, set.spec, createTemplateContext(policy, old.spec));
  return errors.list;
}

export function validateDaemonSetStatus({ status }: DaemonSet, old: DaemonSet): FieldError[] {
  const errors = new FieldErrors();
  const counts = [
    'currentNumberScheduled',
    'numberMisscheduled',
    'desiredNumberScheduled',
    'numberReady',
    'observedGeneration',
    'updatedNumberScheduled',
    'numberAvailable',
    'numberUnavailable',
    'collisionCount',
  ] as const;
  if (status !== undefined) validateCounts<DaemonSetStatus>(errors, status, counts);
  validateCollisions(errors, status?.collisionCount, old.status?.collisionCount);
  return errors.list;
}

function validateStrategy(errors: FieldErrors, strategy: DaemonSetUpdateStrategy | undefined): void {
  const { type, rollingUpdate } = strategy ?? {};
  if (type === 'OnDelete') return;
  if (type !== 'RollingUpdate')
    return errors.notSupported('spec.updateStrategy', { Type: type, RollingUpdate: rollingForm(rollingUpdate) }, [
      'RollingUpdate',
      'OnDelete',
    ]);
  const at = 'spec.updateStrategy.rollingUpdate';
  if (rollingUpdate === undefined) return errors.required(at);
  const { maxUnavailable = 0, maxSurge = 0 } = rollingUpdate;
  validateIntOrPercent(errors, `${at}.maxUnavailable`, maxUnavailable);
  validateIntOrPercent(errors, `${at}.maxSurge`, maxSurge);
  validateAtMostAll(errors, `${at}.maxUnavailable`, maxUnavailable);
  validateAtMostAll(errors, `${at}.maxSurge`, maxSurge);
  const unavailable = plainNumber(maxUnavailable) !== 0;
  const surge = plainNumber(maxSurge) !== 0;
  if (unavailable && surge)
    errors.invalid(`${at}.maxSurge`, maxSurge, 'may not be set when maxUnavailable is non-zero');
  else if (!unavailable && !surge) errors.required(`${at}.maxUnavailable`, 'cannot be 0 when maxSurge is 0');
}
