import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Job, JobSpec } from '../../../api/batch/job.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import { jobs, pods } from '../../../api/client/resource-types.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import type { PodOutcome } from '../../controller-runtime/testing/controller-world.ts';
import { completionIndex, isFinished } from './job-facts.ts';
import {
  buildJob,
  endingAfter,
  startJobWorld,
  changeJob,
  statusOf,
  conditionsOf,
  countsOf,
  createdPods,
  activeIndexes,
  work,
} from './testing/job-world.ts';

describe('a job', () => {
  it('removes the finalizer of each pod once, however late the cache shows it', async () => {
    for (const seed of [1, 2, 3]) {
      const world = await startJobWorld(buildJob({ parallelism: 40, completions: 40 }), { seed, lagMs: 800 });
      await world.run(30_000);
      assert.equal(isFinished(world.api.peek(jobs, work) ?? buildJob()), true);
      const patches = world.api.writes.filter((each) => each.startsWith('patch pods'));
      assert.deepEqual([patches.length, new Set(patches).size], [40, 40], `seed ${seed}`);
      await world.stop();
    }
  });

  it('runs as many pods in parallel as allowed, until enough have succeeded', async () => {
    const world = await startJobWorld(buildJob({ parallelism: 2, completions: 5 }));
    let most = 0;
    world.check = () => (most = Math.max(most, world.activePods.length));
    await world.run(1_500);
    assert.deepEqual(
      [countsOf(world), statusOf(world).ready, statusOf(world).startTime],
      [[2, 0, 0], 2, '2026-01-01T00:00:00Z'],
    );
    await world.run(20_000);
    assert.deepEqual([countsOf(world), most, createdPods(world)], [[0, 5, 0], 2, 5]);
    assert.deepEqual(conditionsOf(world), [
      'SuccessCriteriaMet True CompletionsReached Reached expected number of succeeded pods',
      'Complete True CompletionsReached Reached expected number of succeeded pods',
    ]);
    assert.deepEqual(
      [
        statusOf(world).uncountedTerminatedPods,
        typeof statusOf(world).completionTime,
        statusOf(world).ready,
        statusOf(world).terminating,
      ],
      [{}, 'string', 0, 0],
    );
    assert.ok(world.api.all(pods).every(({ metadata }) => metadata.finalizers === undefined));
    assert.ok(world.events.includes('Normal Completed Job completed'));
    const { length } = world.api.writes;
    await world.run(20_000);
    assert.equal(world.api.writes.length, length);
    await world.stop();
    assert.equal(world.clock.armedTimers, 0);
  });

  it('without completions is complete when one pod has succeeded and the others have ended', async () => {
    const world = await startJobWorld(buildJob({ parallelism: 3, completions: undefined }), {
      outcome: (pod, ageMs) => (ageMs >= (pod.spec.nodeName === 'a' ? 2_000 : 5_000) ? 'succeeded' : 'ready'),
    });
    await world.run(12_000);
    assert.deepEqual(
      [countsOf(world), isFinished(world.api.peek(jobs, work) as Job), createdPods(world)],
      [[0, 3, 0], true, 3],
    );
    await world.stop();
  });

  it('with zero completions is complete at once', async () => {
    const world = await startJobWorld(buildJob({ completions: 0 }));
    await world.run(1_000);
    assert.deepEqual([createdPods(world), isFinished(world.api.peek(jobs, work) as Job)], [0, true]);
    await world.stop();
  });

  it('of another controller is not changed', async () => {
    const world = await startJobWorld(buildJob({ managedBy: 'example.com/other' }));
    await world.run(2_000);
    assert.deepEqual(world.api.writes, []);
    await world.stop();
  });

  it('adopts matching pods, and releases those that no longer match, with their finalizer', async () => {
    const world = await startJobWorld(buildJob({ parallelism: 2, completions: 2 }), { outcome: () => 'ready' });
    world.api.seed(
      pods,
      buildPod({
        'metadata.name': 'loose',
        'metadata.uid': 'loose',
        'metadata.labels': { 'batch.kubernetes.io/controller-uid': 'job-1' },
      }),
    );
    await world.run(3_000);
    const loose = world.api.peek(pods, { namespace: 'default', name: 'loose' });
    assert.deepEqual(
      [loose?.metadata.finalizers, loose?.metadata.ownerReferences?.[0]?.uid, world.activePods.length],
      [['batch.kubernetes.io/job-tracking'], 'job-1', 2],
    );
    world.api.change(pods, { namespace: 'default', name: 'loose' }, (pod) => ({
      ...pod,
      metadata: { ...pod.metadata, labels: {} },
    }));
    await world.run(3_000);
    const free = world.api.peek(pods, { namespace: 'default', name: 'loose' });
    assert.deepEqual(
      [free?.metadata.finalizers, free?.metadata.ownerReferences, world.activePods.length],
      [undefined, undefined, 3],
    );
    await world.stop();
  });
});

describe('failures', () => {
  it('failed pods are replaced with a growing back-off up to the limit; then the job fails', async () => {
    const world = await startJobWorld(buildJob({ backoffLimit: 2 }), { outcome: endingAfter(1_000, 'failed') });
    const madeAt: number[] = [];
    world.api.script(({ verb, plural }) => {
      if (verb === 'create' && plural === 'pods') madeAt.push(world.clock.monotonicMs() / 1000);
      return undefined;
    });
    await world.run(60_000);
    const pauses = madeAt.slice(1).map((at, index) => Math.round(at - (madeAt[index] ?? 0)));
    assert.deepEqual(
      [madeAt.length, pauses.every((pause, index) => Math.abs(pause - (20 * 2 ** index + 1)) <= 2)],
      [2, true],
      `${pauses}`,
    );
    assert.deepEqual(countsOf(world), [0, 0, 3]);
    assert.deepEqual(conditionsOf(world), [
      'FailureTarget True BackoffLimitExceeded Job has reached the specified backoff limit',
      'Failed True BackoffLimitExceeded Job has reached the specified backoff limit',
    ]);
    assert.ok(world.events.includes('Warning BackoffLimitExceeded Job has reached the specified backoff limit'));
    await world.stop();
  });

  it('container restarts count as failures if pods restart their containers', async () => {
    const template = buildJob().spec.template;
    const world = await startJobWorld(
      buildJob({ backoffLimit: 2, template: { ...template, spec: { ...template.spec, restartPolicy: 'OnFailure' } } }),
      { outcome: () => 'running' },
    );
    await world.run(2_000);
    const [pod] = world.activePods as [Pod];
    world.api.change(pods, keyOf(pod), (each) => ({
      ...each,
      status: {
        ...each.status,
        containerStatuses: [{ name: 'main', ready: false, restartCount: 2, image: '', imageID: '' }],
      },
    }));
    await world.run(5_000);
    assert.match(conditionsOf(world).at(-1) ?? '', /^Failed True BackoffLimitExceeded/);
    await world.stop();
  });

  it('the active deadline fails the job and ends its running pods', async () => {
    const world = await startJobWorld(buildJob({ activeDeadlineSeconds: 10, parallelism: 2, completions: 4 }), {
      outcome: () => 'ready',
    });
    await world.run(9_000);
    assert.deepEqual(countsOf(world), [2, 0, 0]);
    await world.run(6_000);
    assert.deepEqual(
      [countsOf(world), conditionsOf(world).at(-1), world.api.all(pods).length],
      [[0, 0, 2], 'Failed True DeadlineExceeded Job was active longer than specified deadline', 0],
    );
    await world.stop();
  });

  it('the pod failure policy decides: some failures do not count, some fail the job at once', async () => {
    const podFailurePolicy: JobSpec['podFailurePolicy'] = {
      rules: [
        { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
        { action: 'FailJob', onExitCodes: { operator: 'In', values: [42] } },
      ],
    };
    const world = await startJobWorld(buildJob({ podFailurePolicy, backoffLimit: 0, podReplacementPolicy: 'Failed' }), {
      outcome: () => 'ready',
    });
    await world.run(2_000);
    const [first] = world.activePods as [Pod];
    world.api.change(pods, keyOf(first), (pod) => ({
      ...pod,
      status: {
        ...pod.status,
        phase: 'Failed' as const,
        conditions: [{ type: 'DisruptionTarget', status: 'True' as const }],
      },
    }));
    await world.run(15_000);
    assert.deepEqual([countsOf(world), createdPods(world)], [[1, 0, 0], 2]);
    const [second] = world.activePods as [Pod];
    const terminated = { exitCode: 42, finishedAt: '2026-01-01T00:01:00Z' };
    world.api.change(pods, keyOf(second), (pod) => ({
      ...pod,
      status: {
        ...pod.status,
        phase: 'Failed' as const,
        containerStatuses: [
          { name: 'main', ready: false, restartCount: 0, image: '', imageID: '', state: { terminated } },
        ],
      },
    }));
    await world.run(4_000);
    assert.equal(
      conditionsOf(world).at(-1),
      `Failed True PodFailurePolicy Container main for pod default/${second.metadata.name} failed with exit code 42 matching FailJob rule at index 1`,
    );
    await world.stop();
  });

  it('a terminating pod counts as failed at once, or when it has ended, depending on the replacement policy', async () => {
    for (const [policy, early] of [
      ['TerminatingOrFailed', 2],
      ['Failed', 1],
    ] as const) {
      const world = await startJobWorld(buildJob({ podReplacementPolicy: policy }), {
        outcome: () => 'ready',
        leavingMs: 20_000,
      });
      await world.run(2_000);
      await world.api.delete(pods, keyOf(world.activePods[0] as Pod));
      await world.run(15_000);
      assert.deepEqual([createdPods(world), statusOf(world).terminating], [early, 1], policy);
      await world.run(30_000);
      assert.deepEqual([createdPods(world), countsOf(world)], [2, [1, 0, 1]], policy);
      await world.stop();
    }
  });
});

describe('an Indexed job', () => {
  it('has one pod for each index, which gets its index in every documented way', async () => {
    const world = await startJobWorld(buildJob({ completionMode: 'Indexed', parallelism: 2, completions: 4 }));
    await world.run(1_500);
    assert.deepEqual(activeIndexes(world), [0, 1]);
    const pod = world.activePods.find((each) => completionIndex(each) === 1) as Pod;
    assert.match(pod.metadata.name, /^work-1-[a-z0-9]{5}$/);
    assert.deepEqual(
      [pod.spec.hostname, pod.metadata.labels?.['batch.kubernetes.io/job-completion-index'], pod.metadata.annotations],
      ['work-1', '1', { 'batch.kubernetes.io/job-completion-index': '1' }],
    );
    assert.deepEqual(pod.spec.containers[0]?.env, [
      {
        name: 'JOB_COMPLETION_INDEX',
        valueFrom: { fieldRef: { fieldPath: "metadata.labels['batch.kubernetes.io/job-completion-index']" } },
      },
    ]);
    await world.run(15_000);
    assert.deepEqual([countsOf(world), statusOf(world).completedIndexes, createdPods(world)], [[0, 4, 0], '0-3', 4]);
    await world.stop();
  });

  it('retries each index separately up to its limit, and continues with the others', async () => {
    const outcome = (pod: Pod, ageMs: number): PodOutcome =>
      ageMs < 1_000 ? 'ready' : completionIndex(pod) === 1 ? 'failed' : 'succeeded';
    const world = await startJobWorld(
      buildJob({
        completionMode: 'Indexed',
        parallelism: 3,
        completions: 3,
        backoffLimitPerIndex: 1,
        backoffLimit: 2 ** 31 - 1,
      }),
      { outcome },
    );
    await world.run(5_000);
    assert.deepEqual(
      [statusOf(world).completedIndexes, statusOf(world).failedIndexes, world.activePods.length],
      ['0,2', '', 0],
    );
    await world.run(8_000);
    assert.equal(world.api.writes.filter((each) => each.startsWith('create pods default/work-1-')).length, 2);
    await world.run(6_000);
    assert.deepEqual(
      [countsOf(world), statusOf(world).failedIndexes, conditionsOf(world).at(-1)],
      [[0, 2, 2], '1', 'Failed True FailedIndexes Job has failed indexes'],
    );
    await world.stop();
  });

  it('fails early when more indexes fail than allowed', async () => {
    const world = await startJobWorld(
      buildJob({
        completionMode: 'Indexed',
        parallelism: 2,
        completions: 5,
        backoffLimitPerIndex: 0,
        maxFailedIndexes: 1,
        backoffLimit: 2 ** 31 - 1,
      }),
      { outcome: endingAfter(1_000, 'failed') },
    );
    await world.run(8_000);
    assert.equal(
      conditionsOf(world).at(-1),
      'Failed True MaxFailedIndexesExceeded Job has exceeded the specified maximal number of failed indexes',
    );
    await world.stop();
  });

  it('succeeds by its policy as soon as the required indexes have succeeded; the other pods end without counting as failed', async () => {
    const outcome = (pod: Pod, ageMs: number): PodOutcome =>
      completionIndex(pod) === 0 && ageMs >= 1_000 ? 'succeeded' : 'ready';
    const world = await startJobWorld(
      buildJob({
        completionMode: 'Indexed',
        parallelism: 3,
        completions: 3,
        successPolicy: { rules: [{ succeededIndexes: '0' }] },
      }),
      { outcome },
    );
    await world.run(8_000);
    assert.deepEqual(
      [conditionsOf(world).at(-1), countsOf(world), world.activePods.length],
      ['Complete True SuccessPolicy Matched rules at index 0', [0, 1, 0], 0],
    );
    await world.stop();
  });
});

describe('a job that is changed', () => {
  it('and suspended ends its pods without counting them; its deadline restarts when it is resumed', async () => {
    const world = await startJobWorld(buildJob({ parallelism: 2, completions: 2, activeDeadlineSeconds: 10 }), {
      outcome: () => 'ready',
    });
    await world.run(3_000);
    changeJob(world, { suspend: true });
    await world.run(20_000);
    assert.deepEqual(
      [countsOf(world), conditionsOf(world), statusOf(world).startTime, world.api.all(pods).length],
      [[0, 0, 0], ['Suspended True JobSuspended Job suspended'], undefined, 0],
    );
    world.outcome = endingAfter(1_000, 'succeeded');
    changeJob(world, { suspend: false });
    await world.run(8_000);
    assert.deepEqual(
      [countsOf(world), conditionsOf(world)[0], isFinished(world.api.peek(jobs, work) as Job)],
      [[0, 2, 0], 'Suspended False JobResumed Job resumed', true],
    );
    assert.deepEqual(
      world.events.filter((each) => /Suspended|Resumed/.test(each)),
      ['Normal Suspended Job suspended', 'Normal Resumed Job resumed'],
    );
    await world.stop();
  });

  it('to a lower parallelism ends some pods, which do not count as failed', async () => {
    const world = await startJobWorld(buildJob({ parallelism: 4, completions: 8 }), { outcome: () => 'ready' });
    await world.run(2_000);
    changeJob(world, { parallelism: 1 });
    await world.run(4_000);
    assert.deepEqual(countsOf(world), [1, 0, 0]);
    await world.stop();
  });

  it('and deleted leaves no pod with its finalizer', async () => {
    const world = await startJobWorld(buildJob({ parallelism: 3, completions: 3 }), { outcome: () => 'ready' });
    await world.run(2_000);
    world.api.remove(jobs, work);
    await world.run(6_000);
    assert.deepEqual(world.api.all(pods), []);
    await world.stop();
  });
});
