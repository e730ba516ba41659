import type {
  RollingUpdateStatefulSetStrategy,
  StatefulSet,
  StatefulSetSpec,
  StatefulSetStatus,
} from '../../apps/stateful-set.ts';
import type { PodTemplateSpec } from '../../core/pod-template.ts';
import { semanticEqual } from '../../semantic-equal.ts';
import type { ClusterPolicy } from '../cluster-policy.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { plainNumber, validateAtMostAll, validateIntOrPercent } from '../int-or-percent.ts';
import { checkDnsLabel } from '../names.ts';
import { createTemplateContext } from '../pod/old-faults.ts';
import { validateSelectorAndLabels } from '../pod/pod-template.ts';
import type { PodValidationContext } from '../pod/pod-validation-context.ts';
import { validateClaimSpec } from '../volumes/volume-claim.ts';
import { validateAlwaysRunningTemplate, validateCollisions, validateCounts } from './replicas.ts';

/** Checks that an update skips: the field is immutable, or the stored object already has the fault. */
interface Leniency {
  readonly isUpdate: boolean;
  readonly anyTemplate: boolean;
}

/** Validates a defaulted set, except its metadata (upstream: apps/validation ValidateStatefulSet). */
export function validateStatefulSet({ spec }: StatefulSet, policy: ClusterPolicy): FieldError[] {
  const errors = new FieldErrors();
  validateSpec(errors, spec, createTemplateContext(policy), { isUpdate: false, anyTemplate: false });
  return errors.list;
}

export function validateStatefulSetUpdate(set: StatefulSet, old: StatefulSet, policy: ClusterPolicy): FieldError[] {
  const context = createTemplateContext(policy, { template: old.spec.template });
  const before = new FieldErrors();
  validateSpec(before, old.spec, context, { isUpdate: true, anyTemplate: false });
  const errors = new FieldErrors();
  validateSpec(errors, set.spec, context, { isUpdate: true, anyTemplate: before.list.length > 0 });
  if (!semanticEqual(unchangeable(set.spec), unchangeable(old.spec)))
    errors.forbidden(
      'spec',
      "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
    );
  return errors.list;
}

function unchangeable(spec: StatefulSetSpec): object {
  const { selector, volumeClaimTemplates, serviceName, podManagementPolicy } = spec;
  return { selector, volumeClaimTemplates, serviceName, podManagementPolicy };
}

function validateSpec(
  errors: FieldErrors,
  spec: StatefulSetSpec,
  context: PodValidationContext,
  { isUpdate, anyTemplate }: Leniency,
): void {
  validatePolicies(errors, spec);
  if (!isUpdate)
    for (const [index, claim] of (spec.volumeClaimTemplates ?? []).entries())
      validateClaimSpec(errors, `spec.volumeClaimTemplates[${index}].spec`, claim.spec);
  errors.nonNegative('spec.replicas', spec.replicas);
  errors.nonNegative('spec.minReadySeconds', spec.minReadySeconds);
  errors.nonNegative('spec.ordinals.start', spec.ordinals?.start);
  if (!isUpdate && spec.serviceName !== '')
    errors.invalidEach('spec.serviceName', spec.serviceName, checkDnsLabel(spec.serviceName));
  const look = validateSelectorAndLabels(errors, spec.selector, spec.template, {
    mandatory: true,
    empty: 'empty selector is invalid for statefulset',
    broken: '',
  });
  const template = look && !anyTemplate ? podsTemplate(spec) : undefined;
  validateAlwaysRunningTemplate(errors, spec.template, { controller: 'StatefulSet', context, checked: template });
}

function validatePolicies(errors: FieldErrors, spec: StatefulSetSpec): void {
  const { podManagementPolicy, updateStrategy = {}, persistentVolumeClaimRetentionPolicy: retention } = spec;
  if (!podManagementPolicy) errors.required('spec.podManagementPolicy');
  else if (podManagementPolicy !== 'OrderedReady' && podManagementPolicy !== 'Parallel')
    errors.invalid('spec.podManagementPolicy', podManagementPolicy, "must be 'OrderedReady' or 'Parallel'");
  const at = 'spec.updateStrategy';
  const { type, rollingUpdate } = updateStrategy;
  if (!type) errors.required(at);
  else if (type === 'OnDelete') {
    if (rollingUpdate !== undefined)
      errors.invalid(
        `${at}.rollingUpdate`,
        rollingForm(rollingUpdate),
        "only allowed for updateStrategy 'RollingUpdate'",
      );
  } else if (type === 'RollingUpdate') validateRolling(errors, `${at}.rollingUpdate`, rollingUpdate);
  else
    errors.invalid(
      at,
      { Type: type, RollingUpdate: rollingForm(rollingUpdate) },
      "must be 'RollingUpdate' or 'OnDelete'",
    );
  for (const when of ['whenDeleted', 'whenScaled'] as const)
    if (retention !== undefined)
      errors.oneOf(`spec.persistentVolumeClaimRetentionPolicy.${when}`, retention[when] ?? '', ['Retain', 'Delete']);
}

/** Upstream prints its internal type, whose field names start with a capital. */
function rollingForm(rolling: RollingUpdateStatefulSetStrategy | undefined): object | null {
  if (rolling === undefined) return null;
  return { Partition: rolling.partition ?? 0, MaxUnavailable: rolling.maxUnavailable ?? null };
}

function validateRolling(errors: FieldErrors, at: string, rolling: RollingUpdateStatefulSetStrategy | undefined): void {
  errors.nonNegative(`${at}.partition`, rolling?.partition);
  const most = rolling?.maxUnavailable;
  if (most === undefined) return;
  validateIntOrPercent(errors, `${at}.maxUnavailable`, most);
  if (plainNumber(most) === 0) errors.invalid(`${at}.maxUnavailable`, most, 'cannot be 0');
  validateAtMostAll(errors, `${at}.maxUnavailable`, most);
}

/** The template as pods will have it, with host name, subdomain and claimed volumes from the controller. */
function podsTemplate({ template, volumeClaimTemplates = [] }: StatefulSetSpec): PodTemplateSpec {
  const { hostname: _hostname, subdomain: _subdomain, volumes = [], ...spec } = template.spec;
  const claimed = new Map(
    volumeClaimTemplates.map(({ metadata: { name } }) => [name, { name, persistentVolumeClaim: { claimName: name } }]),
  );
  const all = [...claimed.values(), ...volumes.filter(({ name }) => !claimed.has(name))];
  return { ...template, spec: { ...spec, ...(all.length > 0 && { volumes: all }) } };
}

export function validateStatefulSetStatus({ status }: StatefulSet, old: StatefulSet): FieldError[] {
  const errors = new FieldErrors();
  if (status !== undefined) {
    validateCounts<StatefulSetStatus>(errors, status, [
      'replicas',
      'readyReplicas',
      'currentReplicas',
      'updatedReplicas',
      'availableReplicas',
      'observedGeneration',
      'collisionCount',
    ]);
    const { replicas, readyReplicas = 0, availableReplicas } = status;
    for (const part of ['readyReplicas', 'currentReplicas', 'updatedReplicas', 'availableReplicas'] as const)
      if ((status[part] ?? 0) > replicas)
        errors.invalid(`status.${part}`, status[part], 'cannot be greater than status.replicas');
    if (availableReplicas > readyReplicas)
      errors.invalid('status.availableReplicas', availableReplicas, 'cannot be greater than status.readyReplicas');
  }
  validateCollisions(errors, status?.collisionCount, old.status?.collisionCount);
  return errors.list;
}
