import type { Job, JobSpec } from '../../batch/job.ts';
import { jobLabels } from '../../batch/job-labels.ts';
import type { Container } from '../../core/container.ts';
import type { PodSpec } from '../../core/pod-spec.ts';
import type { PodTemplateSpec } from '../../core/pod-template.ts';
import { matchesLabelSelector } from '../../selectors.ts';
import type { ClusterPolicy } from '../cluster-policy.ts';
import { validateDomainPath } from '../domain-path.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { validateImmutable } from '../immutable.ts';
import { validateFailurePolicy, validateSuccessPolicy } from './job-policies.ts';
import { hasInvalidLabelValue, validateLabelSelector } from '../metadata.ts';
import { byteLength, checkDnsLabel } from '../names.ts';
import { createTemplateContext } from '../pod/old-faults.ts';
import { sorted, validatePodTemplate } from '../pod/pod-template.ts';
import type { PodValidationContext } from '../pod/pod-validation-context.ts';

const MAX_PARALLELISM = 100_000;
const MAX_FAILED = 100_000;
/** Above this number of completions, failures per index are limited. */
const MANY_COMPLETIONS = 100_000;
const LIMIT_FOR_MANY = 10_000;
const MAX_MANAGED_BY_BYTES = 63;

/**
 * Validates a defaulted job with its generated selector, except its metadata (upstream: batch/validation ValidateJob).
 */
export function validateJob(job: Job, policy: ClusterPolicy): FieldError[] {
  return validate(job, { hasPrefixedLabels: true, context: createTemplateContext(policy) });
}

interface JobContext {
  readonly hasPrefixedLabels: boolean;
  readonly context: PodValidationContext;
}

function validate(job: Job, { hasPrefixedLabels, context }: JobContext): FieldError[] {
  const errors = new FieldErrors();
  const { spec, metadata } = job;
  validateGenerated(errors, job, hasPrefixedLabels);
  validateJobSpec(errors, spec, context);
  validateSelector(errors, spec, context.hadBefore('labelValueInSelector'));
  if (spec.completionMode === 'Indexed' && (spec.completions ?? 0) > 0) {
    const longest = `${metadata.name}-${(spec.completions ?? 0) - 1}`;
    if (checkDnsLabel(longest).length > 0)
      errors.invalid('metadata.name', metadata.name, `will not able to create pod with invalid DNS label: ${longest}`);
  }
  return errors.list;
}

function validateGenerated(errors: FieldErrors, { metadata, spec }: Job, hasPrefixedLabels: boolean): void {
  const { selector, template } = spec;
  if (spec.manualSelector === true || selector === undefined) return;
  if (metadata.uid === '') errors.required('metadata.uid');
  const expected: Record<string, string> = {
    [jobLabels.oldControllerUid]: metadata.uid,
    [jobLabels.oldJobName]: metadata.name,
  };
  if (hasPrefixedLabels)
    Object.assign(expected, { [jobLabels.controllerUid]: metadata.uid, [jobLabels.jobName]: metadata.name });
  const labels = template.metadata.labels ?? {};
  for (const [key, value] of Object.entries(expected)) {
    const field = `spec.template.metadata.labels[${key}]`;
    if (labels[key] === undefined) errors.required(field, `must be '${value}'`);
    else if (labels[key] !== value) errors.invalid(field, sorted(labels), `must be '${value}'`);
  }
  const found = new FieldErrors();
  validateLabelSelector(found, 'spec.selector', selector);
  if (found.list.length === 0 && !matchesLabelSelector(selector, expected))
    errors.invalid('spec.selector', selector, '`selector` not auto-generated');
}

function validateSelector(errors: FieldErrors, { selector, template }: JobSpec, anyValue: boolean): void {
  const before = errors.list.length;
  if (selector === undefined) errors.required('spec.selector');
  else validateLabelSelector(errors, 'spec.selector', selector, { anyValue });
  const broken = selector !== undefined && (errors.list.length > before || hasInvalidLabelValue(selector));
  if (!broken && !matchesLabelSelector(selector, template.metadata.labels ?? {}))
    errors.invalid(
      'spec.template.metadata.labels',
      sorted(template.metadata.labels),
      '`selector` does not match template `labels`',
    );
}

/** Paths are those of a Job: `spec.x`. */
export function validateJobSpec(errors: FieldErrors, spec: JobSpec, context: PodValidationContext): void {
  for (const field of [
    'parallelism',
    'completions',
    'activeDeadlineSeconds',
    'backoffLimit',
    'ttlSecondsAfterFinished',
    'backoffLimitPerIndex',
    'maxFailedIndexes',
  ] as const)
    errors.nonNegative(`spec.${field}`, spec[field]);
  if (spec.maxFailedIndexes !== undefined && spec.backoffLimitPerIndex === undefined)
    errors.required('spec.backoffLimitPerIndex', 'when maxFailedIndexes is specified');
  if (spec.managedBy !== undefined) validateManager(errors, spec.managedBy);
  validateMode(errors, spec);
  if (spec.podFailurePolicy !== undefined) validateFailurePolicy(errors, 'spec.podFailurePolicy', spec);
  if (spec.successPolicy !== undefined) {
    if (spec.completionMode === 'Indexed') validateSuccessPolicy(errors, 'spec.successPolicy', spec);
    else
      errors.invalid(
        'spec.successPolicy',
        {
          Rules: spec.successPolicy.rules.map((rule) => ({
            SucceededIndexes: rule.succeededIndexes ?? null,
            SucceededCount: rule.succeededCount ?? null,
          })),
        },
        'requires indexed completion mode',
      );
  }
  const { podReplacementPolicy } = spec;
  if (podReplacementPolicy !== undefined)
    errors.oneOf(
      'spec.podReplacementPolicy',
      podReplacementPolicy,
      spec.podFailurePolicy === undefined ? ['Failed', 'TerminatingOrFailed'] : ['Failed'],
    );
  validatePodTemplate(errors, 'spec.template', spec.template, context);
  validateRestartPolicy(errors, spec);
}

function validateManager(errors: FieldErrors, managedBy: string): void {
  validateDomainPath(errors, 'spec.managedBy', managedBy);
  if (byteLength(managedBy) > MAX_MANAGED_BY_BYTES) errors.tooLong('spec.managedBy', MAX_MANAGED_BY_BYTES);
}

function validateMode(errors: FieldErrors, spec: JobSpec): void {
  const { completionMode = 'NonIndexed', backoffLimitPerIndex, maxFailedIndexes } = spec;
  errors.oneOf('spec.completionMode', completionMode, ['NonIndexed', 'Indexed']);
  if (completionMode === 'Indexed') return validateIndexed(errors, spec);
  if (completionMode !== 'NonIndexed') return;
  if (backoffLimitPerIndex !== undefined)
    errors.invalid('spec.backoffLimitPerIndex', backoffLimitPerIndex, 'requires indexed completion mode');
  if (maxFailedIndexes !== undefined)
    errors.invalid('spec.maxFailedIndexes', maxFailedIndexes, 'requires indexed completion mode');
}

function validateIndexed(
  errors: FieldErrors,
  { completions, parallelism = 0, maxFailedIndexes, backoffLimitPerIndex }: JobSpec,
): void {
  if (completions === undefined) errors.required('spec.completions', 'when completion mode is Indexed');
  if (parallelism > MAX_PARALLELISM)
    errors.invalid(
      'spec.parallelism',
      parallelism,
      `must be less than or equal to ${MAX_PARALLELISM} when completion mode is Indexed`,
    );
  if (completions !== undefined && maxFailedIndexes !== undefined && maxFailedIndexes > completions)
    errors.invalid('spec.maxFailedIndexes', maxFailedIndexes, 'must be less than or equal to completions');
  if (maxFailedIndexes !== undefined && maxFailedIndexes > MAX_FAILED)
    errors.invalid('spec.maxFailedIndexes', maxFailedIndexes, `must be less than or equal to ${MAX_FAILED}`);
  if ((completions ?? 0) <= MANY_COMPLETIONS || backoffLimitPerIndex === undefined) return;
  const detail = `must be less than or equal to ${LIMIT_FOR_MANY} when completions are above ${MANY_COMPLETIONS} and used with backoff limit per index`;
  if (maxFailedIndexes === undefined)
    errors.required('spec.maxFailedIndexes', `must be specified when completions is above ${MANY_COMPLETIONS}`);
  if (parallelism > LIMIT_FOR_MANY) errors.invalid('spec.parallelism', parallelism, detail);
  if (maxFailedIndexes !== undefined && maxFailedIndexes > LIMIT_FOR_MANY)
    errors.invalid('spec.maxFailedIndexes', maxFailedIndexes, detail);
}

/** The pods of a job must end, so `Always` is rejected, which is also the default of templates. */
function validateRestartPolicy(errors: FieldErrors, { template, podFailurePolicy }: JobSpec): void {
  const field = 'spec.template.spec.restartPolicy';
  const policy: string = template.spec.restartPolicy ?? '';
  if (policy === 'Always' || policy === '') errors.required(field, 'valid values: "OnFailure", "Never"');
  else if (policy !== 'OnFailure' && policy !== 'Never') errors.notSupported(field, policy, ['OnFailure', 'Never']);
  else if (podFailurePolicy !== undefined && policy !== 'Never')
    errors.invalid(field, policy, 'only "Never" is supported when podFailurePolicy is specified');
}

/** Upstream checks the job as a new one, and its changes (ValidateJobUpdate). */
export function validateJobUpdate(job: Job, old: Job, policy: ClusterPolicy): FieldError[] {
  const errors = new FieldErrors();
  const labels = old.spec.template.metadata.labels ?? {};
  const hasPrefixedLabels = labels[jobLabels.jobName] !== undefined && labels[jobLabels.controllerUid] !== undefined;
  errors.list.push(...validate(job, { hasPrefixedLabels, context: createTemplateContext(policy, old.spec) }));
  const { spec } = job;
  validateCompletionsUpdate(errors, spec, old.spec);
  validateImmutable(errors, 'spec.selector', spec.selector, old.spec.selector);
  validateTemplateUpdate(errors, spec, old);
  for (const field of [
    'completionMode',
    'podFailurePolicy',
    'backoffLimitPerIndex',
    'managedBy',
    'successPolicy',
  ] as const)
    validateImmutable(errors, `spec.${field}`, spec[field], old.spec[field]);
  return errors.list;
}

/** The completions of an Indexed job may change only together with its parallelism. */
function validateCompletionsUpdate(errors: FieldErrors, spec: JobSpec, old: JobSpec): void {
  const field = 'spec.completions';
  if (spec.completionMode !== 'Indexed') validateImmutable(errors, field, spec.completions, old.completions);
  else if (
    spec.completions !== old.completions &&
    spec.completions !== undefined &&
    spec.completions !== spec.parallelism
  )
    errors.invalid(field, spec.completions, 'can only be modified in tandem with spec.parallelism');
}

/**
 * While a job is suspended and none of its pods runs, scheduling directives and resources of the template may change.
 */
function validateTemplateUpdate(errors: FieldErrors, spec: JobSpec, { spec: oldSpec, status }: Job): void {
  const suspended = oldSpec.suspend === true;
  const resting = (status?.conditions ?? []).some(
    ({ type, status: value }) => type === 'Suspended' && value === 'True',
  );
  const mutable = suspended && (status?.startTime === undefined || resting) && (status?.active ?? 0) === 0;
  const old = mutable ? withDirectivesOf(oldSpec.template, spec.template) : oldSpec.template;
  if (mutable)
    validateImmutable(errors, 'spec.template.spec', spec.template.spec, withResourcesOf(old.spec, spec.template.spec));
  else validateImmutable(errors, 'spec.template', spec.template, old);
}

function withDirectivesOf(old: PodTemplateSpec, template: PodTemplateSpec): PodTemplateSpec {
  const { nodeSelector, tolerations, schedulingGates, affinity } = template.spec;
  return {
    metadata: { ...old.metadata, labels: template.metadata.labels, annotations: template.metadata.annotations },
    spec: {
      ...old.spec,
      nodeSelector,
      tolerations,
      schedulingGates,
      affinity: { ...old.spec.affinity, nodeAffinity: affinity?.nodeAffinity },
    },
  };
}

function withResourcesOf(old: PodSpec, spec: PodSpec): PodSpec {
  return {
    ...old,
    containers: adoptResources(old.containers, spec.containers),
    initContainers: adoptResources(old.initContainers ?? [], spec.initContainers ?? []),
  };
}

function adoptResources(before: readonly Container[], after: readonly Container[]): Container[] {
  if (before.length !== after.length) return [...before];
  return before.map((container, index) =>
    container.name === after[index]?.name ? { ...container, resources: after[index].resources } : container,
  );
}
