import type { Job, JobStatus } from '../../batch/job.ts';
import { semanticEqual } from '../../semantic-equal.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { IMMUTABLE_MESSAGE } from '../immutable.ts';
import { countIndexes, firstCommonIndex } from './index-intervals.ts';

const CONDITIONS = 'status.conditions';

/** Facts that follow from the status of a job alone. */
interface Facts {
  readonly complete: boolean;
  readonly failed: boolean;
  readonly failureTarget: boolean;
  readonly criteriaMet: boolean;
  readonly finished: boolean;
}

function factsOf({ status }: Job): Facts {
  const holds = (wanted: string): boolean =>
    (status?.conditions ?? []).some(({ type, status: value }) => type === wanted && value === 'True');
  const [complete, failed] = [holds('Complete'), holds('Failed')];
  return {
    complete,
    failed,
    failureTarget: holds('FailureTarget'),
    criteriaMet: holds('SuccessCriteriaMet'),
    finished: complete || failed,
  };
}

/**
 * Validates a new status. Faults that existed before and are unchanged are accepted, so that old jobs are not blocked
 * (upstream: batch/validation ValidateJobStatusUpdate with the options of registry/batch/job
 * getStatusValidationOptions).
 */
export function validateJobStatus(job: Job, old: Job): FieldError[] {
  const errors = new FieldErrors();
  const status = job.status ?? {};
  const before = old.status ?? {};
  const now = factsOf(job);
  const was = factsOf(old);
  const changed = (...fields: readonly (keyof JobStatus)[]): boolean =>
    fields.some((field) => !semanticEqual(status[field], before[field]));
  for (const field of ['active', 'succeeded', 'failed', 'ready', 'terminating'] as const)
    errors.nonNegative(`status.${field}`, status[field]);
  validateUncounted(errors, status);
  validateOutcome(errors, { status, now, was, changed });
  validateFinish(errors, job, { now, was, changed, old: before });
  validateIndexes(errors, job, changed);
  if (now.finished && (status.terminating ?? 0) > 0 && (now.finished !== was.finished || changed('terminating')))
    errors.invalid('status.terminating', status.terminating, 'terminating>0 is invalid for finished job');
  if (changed('ready', 'active') && status.ready !== undefined && status.ready > (status.active ?? 0))
    errors.invalid('status.ready', status.ready, 'cannot set more ready pods than active');
  validateCriteria(errors, job, now);
  validateNoReturn(errors, job, { before, now, was });
  return errors.list;
}

/** Each pod may be counted only once. */
function validateUncounted(errors: FieldErrors, { uncountedTerminatedPods }: JobStatus): void {
  const seen = new Set<string>();
  for (const kind of ['succeeded', 'failed'] as const) {
    for (const [index, uid] of (uncountedTerminatedPods?.[kind] ?? []).entries()) {
      const field = `status.uncountedTerminatedPods.${kind}[${index}]`;
      if (uid === '') errors.invalid(field, uid, 'must not be empty');
      else if (seen.has(uid)) errors.duplicate(field, uid);
      seen.add(uid);
    }
  }
}

interface Change {
  readonly now: Facts;
  readonly was: Facts;
  readonly changed: (...fields: readonly (keyof JobStatus)[]) => boolean;
}

/** A job cannot both succeed and fail, and each must be announced before it is final. */
function validateOutcome(
  errors: FieldErrors,
  { status, now, was, changed }: Change & { readonly status: JobStatus },
): void {
  const completeChanged = now.complete !== was.complete;
  const failedChanged = now.failed !== was.failed;
  const { startTime, completionTime } = status;
  if ((completeChanged || failedChanged) && now.complete && now.failed)
    errors.invalidHidden(CONDITIONS, 'cannot set Complete=True and Failed=true conditions');
  if ((completeChanged || now.failureTarget !== was.failureTarget) && now.complete && now.failureTarget)
    errors.invalidHidden(CONDITIONS, 'cannot set Complete=True and FailureTarget=true conditions');
  if (completeChanged || changed('completionTime')) {
    if (completionTime !== undefined && !now.complete)
      errors.invalid(
        'status.completionTime',
        completionTime,
        'cannot set completionTime when there is no Complete=True condition',
      );
    if (completionTime === undefined && now.complete)
      errors.required('status.completionTime', 'completionTime is required for Complete jobs');
  }
  if (
    changed('startTime', 'completionTime') &&
    startTime !== undefined &&
    completionTime !== undefined &&
    Date.parse(completionTime) < Date.parse(startTime)
  ) {
    errors.invalid('status.completionTime', completionTime, 'must be equal to or after `startTime`');
  }
  if ((failedChanged || changed('failedIndexes')) && now.failed && !now.failureTarget)
    errors.invalidHidden(CONDITIONS, 'cannot set Failed=True condition without the FailureTarget=true condition');
  if ((completeChanged || now.criteriaMet !== was.criteriaMet) && now.complete && !now.criteriaMet)
    errors.invalidHidden(
      CONDITIONS,
      'cannot set Complete=True condition without the SuccessCriteriaMet=true condition',
    );
}

/** A finished job must have no active pods. */
function validateFinish(
  errors: FieldErrors,
  { spec, status = {} }: Job,
  { now, was, changed, old }: Change & { readonly old: JobStatus },
): void {
  if (now.finished) {
    const finishedChanged = !was.finished;
    const neverStarted = spec.suspend === true && spec.completions === 0;
    const { active = 0, startTime, uncountedTerminatedPods: uncounted } = status;
    if ((finishedChanged || changed('active')) && active > 0)
      errors.invalid('status.active', active, 'active>0 is invalid for finished job');
    if ((finishedChanged || changed('startTime')) && !neverStarted && startTime === undefined)
      errors.required('status.startTime', 'startTime is required for finished job');
    const left = (uncounted?.failed ?? []).length + (uncounted?.succeeded ?? []).length;
    if (left > 0 && (finishedChanged || changed('uncountedTerminatedPods'))) {
      errors.invalid(
        'status.uncountedTerminatedPods',
        { Succeeded: uncounted?.succeeded ?? null, Failed: uncounted?.failed ?? null },
        'must be empty for finished job',
      );
    }
  }
  const condition = (list: JobStatus, wanted: string): boolean =>
    (list.conditions ?? []).some(({ type, status: value }) => type === 'Suspended' && value === wanted);
  const resumes = condition(old, 'True') && condition(status, 'False');
  if (changed('startTime') && !resumes && old.startTime !== undefined && spec.suspend !== true)
    errors.invalid('status.startTime', status.startTime ?? null, 'field is immutable for unsuspended job once set');
}

function validateIndexes(errors: FieldErrors, { spec, status = {} }: Job, changed: Change['changed']): void {
  const { completions, backoffLimitPerIndex, completionMode } = spec;
  const { completedIndexes = '', failedIndexes } = status;
  if (changed('completedIndexes')) {
    const counted = completions === undefined ? 0 : countIndexes(completedIndexes, completions);
    if (typeof counted === 'string')
      errors.invalid('status.completedIndexes', completedIndexes, `error parsing completedIndexes: ${counted}`);
  }
  if (changed('failedIndexes') && failedIndexes !== undefined) {
    const counted =
      completions === undefined || backoffLimitPerIndex === undefined ? 0 : countIndexes(failedIndexes, completions);
    if (typeof counted === 'string')
      errors.invalid('status.failedIndexes', failedIndexes, `error parsing failedIndexes: ${counted}`);
  }
  if (changed('completedIndexes') && completedIndexes !== '' && completionMode !== 'Indexed')
    errors.invalid(
      'status.completedIndexes',
      completedIndexes,
      'cannot set non-empty completedIndexes when non-indexed completion mode',
    );
  if (failedIndexes === undefined) return;
  if (changed('failedIndexes') && backoffLimitPerIndex === undefined)
    errors.invalid(
      'status.failedIndexes',
      failedIndexes,
      'cannot set non-null failedIndexes when backoffLimitPerIndex is null',
    );
  if (completions === undefined || !changed('failedIndexes', 'completedIndexes')) return;
  const common = firstCommonIndex(completedIndexes, failedIndexes, completions);
  if (common !== undefined)
    errors.invalid(
      'status.failedIndexes',
      failedIndexes,
      `failedIndexes and completedIndexes overlap at index: ${common}`,
    );
}

function validateCriteria(errors: FieldErrors, { spec }: Job, now: Facts): void {
  if (now.criteriaMet && now.failed)
    errors.invalidHidden(CONDITIONS, 'cannot set SuccessCriteriaMet=True and Failed=true conditions');
  if (now.criteriaMet && now.failureTarget)
    errors.invalidHidden(CONDITIONS, 'cannot set SuccessCriteriaMet=True and FailureTarget=true conditions');
  if (spec.successPolicy !== undefined && !now.criteriaMet && now.complete)
    errors.invalidHidden(
      CONDITIONS,
      'cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True',
    );
}

/** Final conditions do not change and counters do not decrease, except those of an elastic Indexed job that shrinks. */
function validateNoReturn(
  errors: FieldErrors,
  { spec, status = {} }: Job,
  { before, now, was }: { readonly before: JobStatus; readonly now: Facts; readonly was: Facts },
): void {
  const terminal = [
    ['Failed', 'failed'],
    ['Complete', 'complete'],
    ['FailureTarget', 'failureTarget'],
  ] as const;
  for (const [type, fact] of terminal)
    if (was[fact] && !now[fact]) errors.invalidHidden(CONDITIONS, `cannot disable the terminal ${type}=True condition`);
  const { failed = 0, succeeded = 0 } = status;
  if (failed < (before.failed ?? 0)) errors.invalid('status.failed', failed, 'cannot decrease the failed counter');
  const elastic = spec.completionMode === 'Indexed' && spec.completions === spec.parallelism;
  if (!elastic && succeeded < (before.succeeded ?? 0))
    errors.invalid('status.succeeded', succeeded, 'cannot decrease the succeeded counter');
  if (
    status.completionTime !== undefined &&
    before.completionTime !== undefined &&
    Date.parse(status.completionTime) !== Date.parse(before.completionTime)
  ) {
    errors.invalid('status.completionTime', status.completionTime, IMMUTABLE_MESSAGE);
  }
  if (was.criteriaMet && !now.criteriaMet)
    errors.invalidHidden(CONDITIONS, 'cannot disable the SuccessCriteriaMet=True condition');
  if (was.complete && !was.criteriaMet && now.criteriaMet)
    errors.invalidHidden(CONDITIONS, 'cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions');
}
