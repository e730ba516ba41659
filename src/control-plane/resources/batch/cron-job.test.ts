import assert from 'node:assert/strict';
import test from 'node:test';
import type { CronJob } from '../../../api/batch/cron-job.ts';
import { RulesFixture } from '../testing/rules-fixture.ts';

const template = { spec: { restartPolicy: 'OnFailure', containers: [{ name: 'main', image: 'busybox:1' }] } };
const spec = { schedule: '*/5 * * * *', jobTemplate: { spec: { template } } };
const crons = new RulesFixture<CronJob>('batch/v1', 'CronJob', { spec });

test('a cron job gets the policies it does not name, and leaves those of its Jobs to them', () => {
  const { concurrencyPolicy, suspend, successfulJobsHistoryLimit, failedJobsHistoryLimit, jobTemplate } =
    crons.created().spec;
  assert.deepEqual(
    [concurrencyPolicy, suspend, successfulJobsHistoryLimit, failedJobsHistoryLimit, jobTemplate.spec.backoffLimit],
    ['Allow', false, 3, 1, undefined],
  );
  assert.equal(jobTemplate.spec.template.spec.dnsPolicy, 'ClusterFirst');
});

test('an invalid CronJob gets upstream’s error messages', () => {
  const cases: readonly [Record<string, unknown>, string[]][] = [
    [{}, []],
    [{ 'spec.timeZone': 'Europe/Berlin' }, []],
    [{ 'spec.schedule': '' }, ['spec.schedule: Required value']],
    [
      { 'spec.schedule': '* * *' },
      ['spec.schedule: Invalid value: "* * *": expected exactly 5 fields, found 3: [* * *]'],
    ],
    [
      { 'spec.schedule': 'TZ=UTC 0 * * * *' },
      [
        'spec.schedule: Invalid value: "TZ=UTC 0 * * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field instead',
      ],
    ],
    [{ 'spec.timeZone': 'Nowhere' }, ['spec.timeZone: Invalid value: "Nowhere": unknown time zone Nowhere']],
    [{ 'spec.timeZone': '../etc' }, ['spec.timeZone: Invalid value: "../etc": unknown time zone ../etc']],
    [{ 'spec.timeZone': '' }, ['spec.timeZone: Invalid value: "": timeZone must be nil or non-empty string']],
    [
      { 'spec.concurrencyPolicy': 'Never' },
      ['spec.concurrencyPolicy: Unsupported value: "Never": supported values: "Allow", "Forbid", "Replace"'],
    ],
    [
      { 'spec.failedJobsHistoryLimit': -1 },
      ['spec.failedJobsHistoryLimit: Invalid value: -1: must be greater than or equal to 0'],
    ],
    [
      { 'spec.jobTemplate.spec.backoffLimit': -1 },
      ['spec.jobTemplate.spec.backoffLimit: Invalid value: -1: must be greater than or equal to 0'],
    ],
    [
      { 'spec.jobTemplate.spec.manualSelector': true },
      ['spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", "false"'],
    ],
    [
      { 'metadata.name': 'x'.repeat(53) },
      [`metadata.name: Invalid value: "${'x'.repeat(53)}": must be no more than 52 characters`],
    ],
  ];
  for (const [changes, expected] of cases) assert.deepEqual(crons.refusals(changes), expected, JSON.stringify(changes));
  assert.deepEqual(crons.updateRefusals({ 'spec.schedule': '@daily', 'spec.suspend': true }), []);
});

test('the table shows schedule, zone and what runs', () => {
  const cells = crons.cells({ 'spec.suspend': true, 'status.lastScheduleTime': '2026-01-01T11:55:00Z' });
  assert.deepEqual(
    [cells['Schedule'], cells['Timezone'], cells['Suspend'], cells['Active'], cells['Last Schedule'], cells['Images']],
    ['*/5 * * * *', '<none>', 'True', 0, '5m', 'busybox:1'],
  );
});
