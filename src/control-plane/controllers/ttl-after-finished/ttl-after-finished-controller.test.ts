import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Job } from '../../../api/batch/job.ts';
import { jobs } from '../../../api/client/resource-types.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { createTtlAfterFinishedController } from './ttl-after-finished-controller.ts';

const work = { namespace: 'default', name: 'work' };
const finishedAt = '2026-01-01T00:00:00Z';

function build(ttlSecondsAfterFinished: number | undefined, finished: boolean): Job {
  const conditions = finished ? [{ type: 'Complete', status: 'True' as const, lastTransitionTime: finishedAt }] : [];
  return {
    metadata: { ...work, uid: 'job-1' },
    spec: {
      template: { metadata: {}, spec: buildPod().spec },
      ...(ttlSecondsAfterFinished !== undefined && { ttlSecondsAfterFinished }),
    },
    status: { conditions },
  };
}

async function setUp(job: Job): Promise<ControllerWorld> {
  const world = new ControllerWorld({ make: (each) => [createTtlAfterFinishedController(each)] });
  world.api.seed(jobs, job);
  world.start();
  await world.clock.settle();
  return world;
}

const deletions = (world: ControllerWorld): unknown[] =>
  world.api.calls.filter(({ verb }) => verb === 'delete').map(({ body }) => body);

it('a finished job is deleted with its pods after its TTL, which may be extended', async () => {
  const world = await setUp(build(10, true));
  await world.run(5_000);
  world.api.change(jobs, work, (job) => ({ ...job, spec: { ...job.spec, ttlSecondsAfterFinished: 20 } }));
  await world.run(13_000);
  assert.deepEqual(deletions(world), []);
  await world.run(4_000);
  assert.deepEqual(deletions(world), [{ propagationPolicy: 'Foreground', preconditions: { uid: 'job-1' } }]);
  await world.stop();
});

it('reads from the server before the deletion, because the cache may be outdated', async () => {
  const world = await setUp(build(10, true));
  world.api.muteWatches();
  world.api.change(jobs, work, (job) => ({ ...job, spec: { ...job.spec, ttlSecondsAfterFinished: 3_600 } }));
  await world.run(20_000);
  assert.deepEqual(deletions(world), []);
  await world.stop();
});

it('unfinished jobs, and jobs without a TTL, stay', async () => {
  for (const job of [build(1, false), build(undefined, true)]) {
    const world = await setUp(job);
    await world.run(10_000);
    assert.deepEqual(world.api.writes, []);
    await world.stop();
  }
});
