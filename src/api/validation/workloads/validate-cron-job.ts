import type { CronJob, CronJobSpec } from '../../batch/cron-job.ts';
import { parseSchedule } from '../../cron/parse-schedule.ts';
import { isTimeZone } from '../../cron/time-zone.ts';
import type { ClusterPolicy } from '../cluster-policy.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { createTemplateContext } from '../pod/old-faults.ts';
import type { PodValidationContext } from '../pod/pod-validation-context.ts';
import { validateJobSpec } from './validate-job.ts';

/** The names of Jobs append a dash and ten digits. */
const LONGEST_NAME = 52;

/** Validates a defaulted one, except its metadata (upstream: batch/validation ValidateCronJobCreate). */
export function validateCronJob({ metadata, spec }: CronJob, policy: ClusterPolicy): FieldError[] {
  const errors = new FieldErrors();
  validateSpec(errors, spec, undefined, createTemplateContext(policy));
  if (metadata.name.length > LONGEST_NAME)
    errors.invalid('metadata.name', metadata.name, 'must be no more than 52 characters');
  return errors.list;
}

export function validateCronJobUpdate(cronJob: CronJob, old: CronJob, policy: ClusterPolicy): FieldError[] {
  const errors = new FieldErrors();
  const context = createTemplateContext(policy, { template: old.spec.jobTemplate.spec.template });
  validateSpec(errors, cronJob.spec, old.spec, context);
  return errors.list;
}

function validateSpec(
  errors: FieldErrors,
  spec: CronJobSpec,
  old: CronJobSpec | undefined,
  context: PodValidationContext,
): void {
  if (spec.schedule === '') errors.required('spec.schedule');
  else validateSchedule(errors, spec, old?.schedule.includes('TZ') ?? false);
  errors.nonNegative('spec.startingDeadlineSeconds', spec.startingDeadlineSeconds);
  if (spec.timeZone !== undefined && (old === undefined || old.timeZone !== spec.timeZone))
    validateTimeZone(errors, spec.timeZone);
  if (!spec.concurrencyPolicy) errors.required('spec.concurrencyPolicy');
  else errors.oneOf('spec.concurrencyPolicy', spec.concurrencyPolicy, ['Allow', 'Forbid', 'Replace']);
  validateTemplate(errors, spec, context);
  errors.nonNegative('spec.successfulJobsHistoryLimit', spec.successfulJobsHistoryLimit);
  errors.nonNegative('spec.failedJobsHistoryLimit', spec.failedJobsHistoryLimit);
}

function validateSchedule(errors: FieldErrors, { schedule, timeZone }: CronJobSpec, hadZone: boolean): void {
  const { error } = parseSchedule(schedule);
  if (error !== undefined) errors.invalid('spec.schedule', schedule, error);
  if (!schedule.includes('TZ')) return;
  if (!hadZone)
    errors.invalid('spec.schedule', schedule, 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead');
  else if (timeZone !== undefined)
    errors.invalid('spec.schedule', schedule, 'cannot use both timeZone field and TZ or CRON_TZ in schedule');
}

function validateTimeZone(errors: FieldErrors, zone: string): void {
  const field = 'spec.timeZone';
  if (zone === '') return errors.invalid(field, zone, 'timeZone must be nil or non-empty string');
  const isWellFormed = zone
    .split('/')
    .every((part) => part !== '.' && part !== '..' && /^(?!-)[A-Za-z.\-_0-9+]{1,14}$/.test(part));
  if (!isWellFormed) return errors.invalid(field, zone, `unknown time zone ${zone}`);
  if (zone.toLowerCase() === 'local')
    errors.invalid(field, zone, 'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones');
  if (zone !== 'Local' && !isTimeZone(zone)) errors.invalid(field, zone, `unknown time zone ${zone}`);
}

/** Upstream: ValidateJobTemplateSpec. */
function validateTemplate(
  errors: FieldErrors,
  { jobTemplate: { spec } }: CronJobSpec,
  context: PodValidationContext,
): void {
  const found = new FieldErrors();
  validateJobSpec(found, spec, context);
  for (const error of found.list)
    errors.list.push({
      ...error,
      field: error.field.startsWith('[') ? error.field : `spec.jobTemplate.${error.field}`,
    });
  if (spec.selector !== undefined)
    errors.invalid('spec.jobTemplate.spec.selector', spec.selector, '`selector` will be auto-generated');
  if (spec.manualSelector === true) errors.notSupported('spec.jobTemplate.spec.manualSelector', true, ['nil', 'false']);
}
