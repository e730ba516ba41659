import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CronJob, CronJobSpec, CronJobStatus } from '../../../api/batch/cron-job.ts';
import type { Job } from '../../../api/batch/job.ts';
import type { ObjectReference } from '../../../api/core/meta.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { planCronJob } from './plan-cron-job.ts';
import type { CronFacts, CronPlan } from './plan-cron-job.ts';

const CREATED = '2026-01-01T12:00:00Z';
const template = { metadata: {}, spec: { template: { metadata: {}, spec: buildPod().spec } } };

interface Given extends Partial<Omit<CronFacts, 'cronJob' | 'nowMs'>> {
  readonly spec?: Partial<CronJobSpec>;
  readonly status?: CronJobStatus;
  readonly deleted?: boolean;
  /** The time on the day when the object was created at 12:00:00. */
  readonly at: string;
}

function plan({ spec, status, deleted, at, ...facts }: Given): CronPlan {
  const cronJob: CronJob = {
    metadata: {
      ...{ name: 'tick', namespace: 'default', uid: 'cj', creationTimestamp: CREATED },
      ...(deleted === true && { deletionTimestamp: CREATED }),
    },
    spec: { schedule: '0 * * * *', concurrencyPolicy: 'Allow', jobTemplate: template, ...spec },
    ...(status !== undefined && { status }),
  };
  return planCronJob({ cronJob, jobs: [], missing: new Set(), nowMs: Date.parse(`2026-01-01T${at}Z`), ...facts });
}

const clock = (ms: number | undefined): string | undefined =>
  ms === undefined ? undefined : new Date(ms).toISOString().slice(11, -1).replace('.000', '');
const reasons = ({ events }: CronPlan): string[] => events.map(({ type, reason }) => `${type} ${reason}`);

/** Formats a plan as `start 13:00:00 next 14:00:00.100`, with the reasons of events. */
function shown(result: CronPlan): string {
  const { start, nextMs } = result;
  return [
    ...(start === undefined ? [] : [`start ${clock(start.scheduledMs)}`]),
    ...(nextMs === undefined ? [] : [`next ${clock(nextMs)}`]),
    ...reasons(result),
  ].join(' ');
}

const active = (...names: string[]): ObjectReference[] => names.map((name) => ({ kind: 'Job', name, uid: name }));

interface JobTimes {
  readonly start?: string;
  readonly end?: string;
  readonly deleted?: boolean;
}

function job(name: string, ending?: 'Complete' | 'Failed', { start, end, deleted }: JobTimes = {}): Job {
  return {
    metadata: { name, namespace: 'default', uid: name, ...(deleted === true && { deletionTimestamp: CREATED }) },
    spec: template.spec,
    ...((ending !== undefined || start !== undefined) && {
      status: {
        ...(start !== undefined && { startTime: `2026-01-01T${start}Z` }),
        ...(end !== undefined && { completionTime: `2026-01-01T${end}Z` }),
        ...(ending !== undefined && { conditions: [{ type: ending, status: 'True' as const }] }),
      },
    }),
  };
}

describe('an hourly CronJob that was created at noon', () => {
  for (const [name, given, expected] of [
    ['waits for its first hour, and a little longer because clocks differ', { at: '12:30:00' }, 'next 13:00:00.100'],
    ['starts on the hour', { at: '13:00:00' }, 'start 13:00:00 next 14:00:00.100'],
    ['starts what it missed by some minutes', { at: '13:20:00' }, 'start 13:00:00 next 14:00:00.100'],
    ['starts only the last of several that it missed', { at: '15:00:00' }, 'start 15:00:00 next 16:00:00.100'],
    [
      'does not start an hour again that its status names',
      { at: '15:20:00', status: { lastScheduleTime: '2026-01-01T15:00:00Z' } },
      'next 16:00:00.100',
    ],
    [
      'counts its hours in its zone',
      { at: '12:30:00', spec: { timeZone: 'Asia/Kolkata' } },
      'start 12:30:00 next 13:30:00.100',
    ],
    ['does nothing while it is suspended', { at: '15:00:00', spec: { suspend: true } }, ''],
    ['does nothing while it is deleted', { at: '15:00:00', deleted: true }, ''],
    [
      'reports a zone that there is not',
      { at: '15:00:00', spec: { timeZone: 'Mars/Base' } },
      'Warning UnknownTimeZone',
    ],
    [
      'reports a schedule that says nothing',
      { at: '15:00:00', spec: { schedule: 'soon' } },
      'Warning UnparseableSchedule',
    ],
    ['reports a day that never comes', { at: '15:00:00', spec: { schedule: '0 0 30 2 *' } }, 'Warning InvalidSchedule'],
    [
      'gives up what was due as long ago as its deadline',
      { at: '13:10:00', spec: { startingDeadlineSeconds: 600n } },
      'next 14:00:00.100',
    ],
    [
      'starts what was due less long ago than its deadline',
      { at: '13:09:59', spec: { startingDeadlineSeconds: 600n } },
      'start 13:00:00 next 14:00:00.100',
    ],
  ] as const)
    it(name, () => assert.equal(shown(plan(given)), expected));

  it('reports an unreadable schedule or time zone with its value', () => {
    const messageFor = (spec: Partial<CronJobSpec>): string | undefined =>
      plan({ at: '13:00:00', spec }).events[0]?.message;
    assert.equal(messageFor({ timeZone: 'Mars/Base' }), 'invalid timeZone: "Mars/Base": unknown time zone Mars/Base');
    assert.match(messageFor({ schedule: 'soon' }) ?? '', /^unparseable schedule: "soon" : ./);
    assert.equal(
      messageFor({ schedule: '0 0 30 2 *' }),
      'invalid schedule: 0 0 30 2 * : time difference between two schedules is less than 1 second',
    );
  });
});

describe('a CronJob by the minute', () => {
  const everyMinute = { schedule: '* * * * *' };

  it('reports more than a hundred missed starts, and starts the last one', () => {
    assert.equal(shown(plan({ at: '13:40:59', spec: everyMinute })), 'start 13:40:00 next 13:41:00.100');
    assert.equal(
      shown(plan({ at: '13:41:00', spec: everyMinute })),
      'start 13:41:00 next 13:42:00.100 Warning TooManyMissedTimes',
    );
  });

  it('a CronJob that runs each minute does not count starts before its deadline', () => {
    const spec = { ...everyMinute, startingDeadlineSeconds: 200n };
    assert.equal(shown(plan({ at: '20:00:30', spec })), 'start 20:00:00 next 20:01:00.100');
  });
});

it('an interval is counted from the creation, and in whole steps', () => {
  const spec = { schedule: '@every 7m' };
  assert.equal(shown(plan({ at: '12:07:00', spec })), 'start 12:07:00 next 12:14:00.100');
  assert.equal(shown(plan({ at: '12:36:00', spec })), 'start 12:35:00 next 12:42:00.100');
});

it('an interval counts only past times as missed', () => {
  const spec = { schedule: '@every 1h', startingDeadlineSeconds: 10n };
  // The deadline resets the interval each second, so the first start is due in an hour.
  assert.equal(shown(plan({ at: '14:00:00', spec })), 'next 14:59:50.100');
});

describe('a start that is due while an earlier Job runs', () => {
  const status = { active: active('tick-old') };
  const replaced = (concurrencyPolicy: CronJobSpec['concurrencyPolicy']): (string | undefined)[] | undefined =>
    plan({ at: '13:00:00', spec: { concurrencyPolicy }, status }).start?.replaces.map(({ name }) => name);

  it('is made beside the running Job, or replaces it', () => {
    assert.deepEqual(replaced('Allow'), []);
    assert.deepEqual(replaced('Replace'), ['tick-old']);
  });

  it('is rejected by the policy Forbid, which waits only for running Jobs', () => {
    const spec = { concurrencyPolicy: 'Forbid' as const };
    const refused = plan({ at: '13:00:00', spec, status });
    assert.equal(shown(refused), 'next 14:00:00.100 Normal JobAlreadyActive');
    assert.equal(
      refused.events[0]?.message,
      'Not starting job because prior execution is running and concurrency policy is Forbid',
    );
    assert.equal(shown(plan({ at: '13:00:00', spec })), 'start 13:00:00 next 14:00:00.100');
  });

  it('is not made again if the status lists its Job already', () => {
    const minutes = Date.parse('2026-01-01T13:00:00Z') / 60_000;
    assert.equal(shown(plan({ at: '13:00:00', status: { active: active(`tick-${minutes}`) } })), 'next 14:00:00.100');
  });
});

describe('the status', () => {
  const statusOf = (given: Omit<Given, 'at'>): [CronJobStatus, string[]] => {
    const { status, events } = plan({ at: '12:10:00', ...given });
    return [status, events.map(({ type, reason, message }) => `${type} ${reason}: ${message}`)];
  };

  it('drops ended Jobs, with an event for each, and keeps running ones', () => {
    const jobs = [job('a', 'Complete', { end: '12:05:00' }), job('b', 'Failed'), job('c')];
    assert.deepEqual(statusOf({ jobs, status: { active: active('a', 'b', 'c') } }), [
      { active: active('c'), lastSuccessfulTime: '2026-01-01T12:05:00Z' },
      [
        'Normal SawCompletedJob: Saw completed job: a, condition: Complete',
        'Normal SawCompletedJob: Saw completed job: b, condition: Failed',
      ],
    ]);
  });

  it('has no list of active Jobs once none is left', () => {
    assert.deepEqual(statusOf({ jobs: [job('a', 'Failed')], status: { active: active('a') } })[0], {});
  });

  it('drops deleted Jobs', () => {
    const [status, events] = statusOf({ missing: new Set(['a']), status: { active: active('a', 'b') } });
    assert.deepEqual(status, { active: active('b') });
    assert.deepEqual(events, ['Normal MissingJob: Active job went missing: a']);
  });

  it('lists Jobs that an earlier run started, and reports unknown ones', () => {
    const [status, events] = statusOf({ jobs: [job('a'), job('b')], unlisted: active('a') });
    assert.deepEqual(status, { active: active('a') });
    assert.deepEqual(events, ['Warning UnexpectedJob: Saw a job that the controller did not create or forgot: b']);
  });

  it('keeps the time of the last success, and ignores Jobs that ended earlier', () => {
    const last = (known: string | undefined, ...ends: (string | undefined)[]): string | undefined => {
      const jobs = ends.map((end, index) => job(`j${index}`, 'Complete', end === undefined ? {} : { end }));
      const status = known === undefined ? {} : { status: { lastSuccessfulTime: `2026-01-01T${known}Z` } };
      const [{ lastSuccessfulTime }, events] = statusOf({ jobs, ...status });
      assert.deepEqual(events, []);
      return lastSuccessfulTime?.slice(11, -1);
    };
    assert.equal(last(undefined), undefined);
    assert.equal(last('12:03:00'), '12:03:00');
    assert.equal(last(undefined, '12:01:00', '12:04:00', '12:02:00'), '12:04:00');
    assert.equal(last('12:03:00', '12:02:00', undefined), '12:03:00');
    assert.equal(last('12:03:00', '12:04:00'), '12:04:00');
    const failed = job('f', 'Failed', { end: '12:05:00' });
    assert.deepEqual(statusOf({ jobs: [failed] })[0], {});
  });
});

describe('the history', () => {
  const forgotten = (spec: Partial<CronJobSpec>, ...jobs: Job[]): string[] =>
    plan({ at: '12:10:00', spec, jobs }).forget.map(({ metadata }) => metadata.name);
  const ended = [
    job('c3', 'Complete', { start: '12:03:00' }),
    job('c1', 'Complete', { start: '12:01:00' }),
    job('f2', 'Failed', { start: '12:02:00' }),
    job('c2', 'Complete', { start: '12:02:00' }),
    job('f1', 'Failed', { start: '12:01:00' }),
    job('runs', undefined, { start: '12:00:00' }),
  ];

  it('keeps the configured number of succeeded and failed Jobs, and deletes the oldest', () => {
    assert.deepEqual(forgotten({ successfulJobsHistoryLimit: 1, failedJobsHistoryLimit: 1 }, ...ended), [
      'c1',
      'c2',
      'f1',
    ]);
    assert.deepEqual(forgotten({ successfulJobsHistoryLimit: 9, failedJobsHistoryLimit: 0 }, ...ended), ['f1', 'f2']);
    assert.deepEqual(forgotten({}, ...ended), []);
  });

  it('neither counts nor deletes jobs that are being deleted', () => {
    const leaving = job('c0', 'Complete', { start: '12:00:00', deleted: true });
    assert.deepEqual(forgotten({ successfulJobsHistoryLimit: 2 }, leaving, ...ended), ['c1']);
  });

  it('sorts Jobs with the same start by name, and Jobs that never started last', () => {
    const none = job('a', 'Complete');
    const unknown = {
      ...job('b', 'Complete'),
      status: { conditions: [{ type: 'Complete', status: 'True' as const }] },
    };
    const together = [job('z', 'Complete', { start: '12:01:00' }), job('y', 'Complete', { start: '12:01:00' })];
    assert.deepEqual(forgotten({ successfulJobsHistoryLimit: 0 }, unknown, none, ...together), ['y', 'z', 'a', 'b']);
  });
});
