import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import type { CronJob, CronJobSpec } from '../../../api/batch/cron-job.ts';
import type { Job } from '../../../api/batch/job.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import { cronJobs, jobs } from '../../../api/client/resource-types.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { formatTime } from '../../../api/time.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import type { WorldOptions } from '../../controller-runtime/testing/controller-world.ts';
import { endingOf } from './plan-cron-job.ts';
import { createCronJobController } from './cron-job-controller.ts';

const tick = { namespace: 'default', name: 'tick' };
const MINUTE_MS = 60_000;

async function setUp(more: Partial<CronJobSpec> = {}, options: Partial<WorldOptions> = {}): Promise<ControllerWorld> {
  const world = new ControllerWorld({
    make: (each) => [createCronJobController(each)],
    owners: [cronJobs],
    ...options,
  });
  const template = { metadata: { labels: { app: 'tick' } }, spec: buildPod().spec };
  const cronJob: CronJob = {
    metadata: { ...tick, uid: 'cj-1', creationTimestamp: formatTime(world.clock.nowMs()) },
    spec: {
      schedule: '* * * * *',
      concurrencyPolicy: 'Allow',
      successfulJobsHistoryLimit: 3,
      failedJobsHistoryLimit: 1,
      jobTemplate: { metadata: { labels: { app: 'tick' } }, spec: { template } },
      ...more,
    },
  };
  world.api.seed(cronJobs, cronJob);
  world.start();
  await world.clock.settle();
  return world;
}

const all = (world: ControllerWorld): readonly Job[] => world.api.all(jobs);
const running = (world: ControllerWorld): Job[] =>
  all(world).filter((job) => endingOf(job) === undefined && job.metadata.deletionTimestamp === undefined);
const status = (world: ControllerWorld): CronJob['status'] => world.api.peek(cronJobs, tick)?.status;
const created = (world: ControllerWorld): string[] => world.api.writes.filter((each) => each.startsWith('create jobs'));

function finish(world: ControllerWorld, job: Job, type: 'Complete' | 'Failed' = 'Complete'): void {
  const nowText = formatTime(world.clock.nowMs());
  world.api.change(jobs, keyOf(job), (each) => ({
    ...each,
    status: {
      startTime: nowText,
      ...(type === 'Complete' && { completionTime: nowText }),
      conditions: [{ type, status: 'True' as const }],
    },
  }));
}

it('starts a Job each minute, names it after its time, and keeps as many Jobs as the history limits', async () => {
  const world = await setUp({ timeZone: 'Europe/Berlin' });
  await world.run(MINUTE_MS + 1_000);
  const [job] = all(world) as [Job];
  const scheduledMs = Math.floor(world.clock.nowMs() / MINUTE_MS) * MINUTE_MS;
  assert.equal(job.metadata.name, `tick-${scheduledMs / MINUTE_MS}`);
  assert.match(
    job.metadata.annotations?.['batch.kubernetes.io/cronjob-scheduled-timestamp'] ?? '',
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:00\+0[12]:00$/,
  );
  assert.deepEqual(
    [status(world)?.active?.map(({ name }) => name), status(world)?.lastScheduleTime],
    [[job.metadata.name], formatTime(scheduledMs)],
  );
  for (let round = 0; round < 6; round++) {
    for (const each of running(world)) finish(world, each, round % 2 === 0 ? 'Complete' : 'Failed');
    await world.run(MINUTE_MS);
  }
  const endings = all(world).map(endingOf);
  assert.deepEqual(
    [endings.filter((each) => each === 'Complete').length, endings.filter((each) => each === 'Failed').length],
    [3, 1],
  );
  assert.ok(status(world)?.lastSuccessfulTime !== undefined);
  for (const said of [
    `Normal SuccessfulCreate Created job ${job.metadata.name}`,
    `Normal SawCompletedJob Saw completed job: ${job.metadata.name}, condition: Complete`,
  ])
    assert.ok(world.events.includes(said), world.events.join('\n'));
  await world.stop();
});

it('Forbid waits for the running Job and then makes up for the start; Replace deletes the running Job first', async () => {
  const forbid = await setUp({ concurrencyPolicy: 'Forbid' });
  await forbid.run(3 * MINUTE_MS);
  assert.equal(created(forbid).length, 1);
  finish(forbid, running(forbid)[0] as Job);
  await forbid.run(2_000);
  assert.deepEqual([created(forbid).length, running(forbid).length], [2, 1]);
  await forbid.stop();
  const replace = await setUp({ concurrencyPolicy: 'Replace' });
  await replace.run(3 * MINUTE_MS + 1_000);
  assert.deepEqual([created(replace).length, all(replace).length, status(replace)?.active?.length], [3, 1, 1]);
  await replace.stop();
});

it('makes up for one missed start after an outage, within its deadline, and for none while it is suspended', async () => {
  const world = await setUp();
  await world.run(MINUTE_MS + 1_000);
  await world.stop();
  await world.clock.advance(10 * MINUTE_MS);
  world.restart();
  await world.run(1_000);
  assert.equal(created(world).length, 2);
  world.api.change(cronJobs, tick, (each) => ({ ...each, spec: { ...each.spec, suspend: true } }));
  await world.run(5 * MINUTE_MS);
  assert.equal(created(world).length, 2);
  await world.stop();
  const strict = await setUp({ schedule: '0 * * * *', startingDeadlineSeconds: 60 });
  await strict.stop();
  await strict.clock.advance(90 * MINUTE_MS);
  strict.restart();
  await strict.run(1_000);
  assert.equal(created(strict).length, 0);
  await strict.stop();
});

it('removes a deleted Job from the active ones, and reports invalid schedules and time zones', async () => {
  const world = await setUp();
  await world.run(MINUTE_MS + 1_000);
  const [job] = all(world) as [Job];
  world.api.remove(jobs, keyOf(job));
  await world.run(2_000);
  assert.equal(status(world)?.active, undefined);
  for (const spec of [{ schedule: 'soon' }, { schedule: '0 0 31 2 *' }, { timeZone: 'Nowhere/Land' }]) {
    world.api.change(cronJobs, tick, (each) => ({ ...each, spec: { ...each.spec, ...spec } }));
    await world.run(2_000);
  }
  const reasons = new Set(world.events.map((each) => each.split(' ')[1]));
  for (const reason of ['MissingJob', 'UnparseableSchedule', 'InvalidSchedule', 'UnknownTimeZone'])
    assert.ok(reasons.has(reason), reason);
  await world.stop();
});

it('despite crashes each start happens once, and the status lists all running Jobs', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 150 }), fc.boolean()), {
        maxLength: 8,
      }),
      fc.constantFrom('Allow' as const, 'Forbid' as const, 'Replace' as const),
      fc.nat(1_000),
      async (steps, concurrencyPolicy, seed) => {
        const world = await setUp({ concurrencyPolicy }, { seed, lagMs: 800 });
        const seen = new Map<string, Set<string>>();
        world.check = () => {
          for (const { metadata } of all(world))
            seen.set(metadata.name, (seen.get(metadata.name) ?? new Set()).add(metadata.uid));
        };
        for (const [writes, seconds, ends] of steps) {
          world.restartAtWrite(writes);
          await world.run(seconds * 1_000);
          if (ends) for (const job of running(world)) finish(world, job);
        }
        await world.run(20_000);
        for (const [name, uids] of seen) assert.equal(uids.size, 1, name);
        if (concurrencyPolicy !== 'Allow') assert.ok(running(world).length <= 1);
        assert.deepEqual(
          (status(world)?.active ?? []).map(({ name }) => name).toSorted(),
          running(world)
            .map(({ metadata }) => metadata.name)
            .toSorted(),
        );
        await world.stop();
      },
    ),
    {
      numRuns: 40,
      // The controller was killed between the creation of the Job and the write of the status. The next start must
      // consider that Job.
      examples: [
        [
          [
            [1, 118, false],
            [1, 9, false],
            [1, 112, true],
            [1, 1, false],
          ],
          'Forbid',
          175,
        ],
      ],
    },
  ));
