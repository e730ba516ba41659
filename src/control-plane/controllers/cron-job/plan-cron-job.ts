import type { CronJob, CronJobStatus } from '../../../api/batch/cron-job.ts';
import type { Job } from '../../../api/batch/job.ts';
import { isConditionTrue } from '../../../api/conditions.ts';
import { parseSchedule } from '../../../api/cron/parse-schedule.ts';
import type { Schedule } from '../../../api/cron/parse-schedule.ts';
import { lastTime, nextTime } from '../../../api/cron/schedule-times.ts';
import { isTimeZone } from '../../../api/cron/time-zone.ts';
import type { ObjectReference } from '../../../api/core/meta.ts';
import { goQuote } from '../../../api/go-quote.ts';
import { parseTime } from '../../../api/time.ts';

const SECOND_MS = 1_000;
/** The delay of the next check after the scheduled time, because clocks differ (upstream: nextScheduleDelta). */
const MARGIN_MS = 100;
/** The number of missed starts above which a warning is recorded. */
const MANY_MISSED = 100;
/** The controller's time zone, for a CronJob without one. */
const DEFAULT_ZONE = 'UTC';

export interface CronFacts {
  readonly cronJob: CronJob;
  /** The Jobs that the CronJob controls. */
  readonly jobs: readonly Job[];
  /** The UIDs of active Jobs that the API server does not have. */
  readonly missing: ReadonlySet<string>;
  /** The running Jobs that an earlier run started and that are not in the status. */
  readonly unlisted?: readonly ObjectReference[];
  readonly nowMs: number;
}

export interface CronEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

export interface CronPlan {
  readonly events: readonly CronEvent[];
  /** The finished Jobs beyond the history limits. */
  readonly forget: readonly Job[];
  /** The Job to start: its scheduled time, and the Jobs that it replaces. */
  readonly start: { readonly scheduledMs: number; readonly replaces: readonly ObjectReference[] } | undefined;
  /** The status to write before Jobs are started and deleted. */
  readonly status: CronJobStatus;
  /** The time of the next check. Undefined means at the next change. */
  readonly nextMs: number | undefined;
}

export const jobName = ({ metadata }: CronJob, scheduledMs: number): string =>
  `${metadata.name}-${Math.floor(scheduledMs / (60 * SECOND_MS))}`;

export const zoneOf = ({ spec }: CronJob): string => spec.timeZone ?? DEFAULT_ZONE;

/** Plans the next steps (upstream: syncCronJob, cleanupFinishedJobs). */
export function planCronJob(facts: CronFacts): CronPlan {
  const { cronJob, jobs, nowMs } = facts;
  const events: CronEvent[] = [];
  const plan = {
    events,
    forget: selectForgotten(cronJob, jobs),
    status: computeStatus(facts, events),
    start: undefined,
    nextMs: undefined,
  };
  if (cronJob.metadata.deletionTimestamp !== undefined) return plan;
  const schedule = readSchedule(cronJob, events);
  if (schedule === undefined || cronJob.spec.suspend === true) return plan;
  const zone = zoneOf(cronJob);
  const due = findDue(cronJob, schedule, nowMs);
  if (due.kind === 'never') {
    const message = `invalid schedule: ${cronJob.spec.schedule} : time difference between two schedules is less than 1 second`;
    events.push({ type: 'Warning', reason: 'InvalidSchedule', message });
    return plan;
  }
  const nextMs = nextLook(schedule, zone, due, nowMs);
  if (due.kind === 'later') return { ...plan, nextMs };
  if (due.tooMany)
    events.push({
      type: 'Warning',
      reason: 'TooManyMissedTimes',
      message: 'too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew',
    });
  return { ...plan, start: decideStart(cronJob, plan.status, due.scheduledMs, events), nextMs };
}

function readSchedule({ spec }: CronJob, events: CronEvent[]): Schedule | undefined {
  if (spec.timeZone !== undefined && !isTimeZone(spec.timeZone)) {
    const message = `invalid timeZone: ${goQuote(spec.timeZone)}: unknown time zone ${spec.timeZone}`;
    events.push({ type: 'Warning', reason: 'UnknownTimeZone', message });
    return undefined;
  }
  const { schedule, error } = parseSchedule(spec.schedule);
  if (error !== undefined)
    events.push({
      type: 'Warning',
      reason: 'UnparseableSchedule',
      message: `unparseable schedule: ${goQuote(spec.schedule)} : ${error}`,
    });
  return schedule;
}

type Due =
  | { readonly kind: 'now'; readonly scheduledMs: number; readonly tooMany: boolean }
  | { readonly kind: 'later'; readonly sinceMs: number }
  | { readonly kind: 'never' };

/** Finds the latest missed start since the last one, or since the creation of the object. */
function findDue({ metadata, spec, status }: CronJob, schedule: Schedule, nowMs: number): Due {
  const zone = spec.timeZone ?? DEFAULT_ZONE;
  const doneMs = parseTime(status?.lastScheduleTime) ?? parseTime(metadata.creationTimestamp) ?? nowMs;
  const deadlineMs =
    spec.startingDeadlineSeconds === undefined ? -Infinity : nowMs - Number(spec.startingDeadlineSeconds) * SECOND_MS;
  const sinceMs = Math.max(doneMs, deadlineMs);
  const firstMs = nextTime(schedule, zone, sinceMs);
  if (firstMs === undefined) return { kind: 'never' };
  if (firstMs > nowMs) return { kind: 'later', sinceMs };
  const secondMs = nextTime(schedule, zone, firstMs);
  if (secondMs === undefined || secondMs > nowMs) return { kind: 'now', scheduledMs: firstMs, tooMany: false };
  const periodMs = secondMs - firstMs;
  const passed = Math.floor((nowMs - firstMs) / periodMs);
  const scheduledMs =
    schedule.kind === 'every' ? firstMs + passed * periodMs : (lastTime(schedule, zone, nowMs) ?? firstMs);
  return { kind: 'now', scheduledMs, tooMany: passed + 1 > MANY_MISSED };
}

function nextLook(schedule: Schedule, zone: string, due: Exclude<Due, { kind: 'never' }>, nowMs: number): number {
  const fromMs = due.kind === 'now' ? due.scheduledMs : due.sinceMs;
  const next = nextTime(schedule, zone, fromMs) ?? nowMs;
  return Math.max(next, nowMs) + MARGIN_MS;
}

/** Decides whether the due Job is started, and which Jobs it replaces. */
function decideStart(
  cronJob: CronJob,
  status: CronJobStatus,
  scheduledMs: number,
  events: CronEvent[],
): CronPlan['start'] {
  const { concurrencyPolicy } = cronJob.spec;
  const active = status.active ?? [];
  const name = jobName(cronJob, scheduledMs);
  if (active.some((each) => each.name === name)) return undefined;
  if (concurrencyPolicy === 'Forbid' && active.length > 0) {
    const message = 'Not starting job because prior execution is running and concurrency policy is Forbid';
    events.push({ type: 'Normal', reason: 'JobAlreadyActive', message });
    return undefined;
  }
  return { scheduledMs, replaces: concurrencyPolicy === 'Replace' ? active : [] };
}

type Ending = 'Complete' | 'Failed';

export function endingOf({ status }: Job): Ending | undefined {
  return (['Complete', 'Failed'] as const).find((type) => isConditionTrue(status?.conditions, type));
}

function computeStatus({ cronJob, jobs, missing, unlisted = [] }: CronFacts, events: CronEvent[]): CronJobStatus {
  const { active: listed = [], ...rest } = cronJob.status ?? {};
  const expected = [...listed, ...unlisted];
  const known = new Set(expected.map(({ uid }) => uid));
  const gone = new Set<string | undefined>();
  let successMs = parseTime(rest.lastSuccessfulTime);
  let success = rest.lastSuccessfulTime;
  for (const job of jobs) {
    const { name, uid } = job.metadata;
    const ending = endingOf(job);
    if (ending === undefined) {
      if (!known.has(uid))
        events.push({
          type: 'Warning',
          reason: 'UnexpectedJob',
          message: `Saw a job that the controller did not create or forgot: ${name}`,
        });
      continue;
    }
    if (known.has(uid)) {
      gone.add(uid);
      const message = `Saw completed job: ${name}, condition: ${ending}`;
      events.push({ type: 'Normal', reason: 'SawCompletedJob', message });
    }
    const endMs = ending === 'Complete' ? parseTime(job.status?.completionTime) : undefined;
    if (endMs !== undefined && endMs > (successMs ?? -Infinity)) {
      successMs = endMs;
      success = job.status?.completionTime;
    }
  }
  for (const { uid = '', name } of expected) {
    if (!missing.has(uid)) continue;
    gone.add(uid);
    events.push({ type: 'Normal', reason: 'MissingJob', message: `Active job went missing: ${name ?? ''}` });
  }
  const active = expected.filter(({ uid }) => !gone.has(uid));
  return {
    ...rest,
    ...(active.length > 0 && { active }),
    ...(success !== undefined && { lastSuccessfulTime: success }),
  };
}

/** Selects the finished Jobs beyond the limits for succeeded and failed ones, oldest first. */
function selectForgotten({ spec }: CronJob, jobs: readonly Job[]): Job[] {
  const limits = [
    ['Complete', spec.successfulJobsHistoryLimit],
    ['Failed', spec.failedJobsHistoryLimit],
  ] as const;
  return limits.flatMap(([ending, limit]) => {
    if (limit === undefined) return [];
    const ended = jobs.filter((job) => endingOf(job) === ending && job.metadata.deletionTimestamp === undefined);
    const startMs = ({ status }: Job): number => parseTime(status?.startTime) ?? Infinity;
    ended.sort((left, right) => {
      const [one, other] = [startMs(left), startMs(right)];
      if (one !== other) return one - other;
      return left.metadata.name < right.metadata.name ? -1 : 1;
    });
    return ended.slice(0, Math.max(0, ended.length - limit));
  });
}
