import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import type { ReplicaSet } from '../../../api/apps/replica-set.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import { pods, replicaSets } from '../../../api/client/resource-types.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { forbidden } from '../../../api/status/api-status-error.ts';
import { controllerRefOf } from '../../controller-runtime/controller-ref.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import type { WorldOptions } from '../../controller-runtime/testing/controller-world.ts';
import { createReplicaSetController } from './replica-set-controller.ts';

const web = { namespace: 'default', name: 'web' };

function buildSet(replicas: number, more: Partial<ReplicaSet['spec']> = {}): ReplicaSet {
  const template = { metadata: { labels: { app: 'web', tier: 'x' } }, spec: buildPod().spec };
  return {
    metadata: { ...web, uid: 'rs-1' },
    spec: { replicas, selector: { matchLabels: { app: 'web' } }, template, ...more },
  };
}

async function setUp(set: ReplicaSet, options: Partial<WorldOptions> = {}): Promise<ControllerWorld> {
  const world = new ControllerWorld({
    make: (each) => [createReplicaSetController(each)],
    owners: [replicaSets],
    ...options,
  });
  world.addNode('node-1');
  world.api.seed(replicaSets, set);
  world.start();
  await world.clock.settle();
  return world;
}

const scale = (world: ControllerWorld, replicas: number): void =>
  void world.api.change(replicaSets, web, (set) => ({ ...set, spec: { ...set.spec, replicas } }));
const created = (world: ControllerWorld): number =>
  world.api.writes.filter((each) => each.startsWith('create pods')).length;

it('creates each missing pod once, and reports their state', async () => {
  const world = await setUp(buildSet(5), { lagMs: 300 });
  await world.run(5_000);
  assert.deepEqual([world.activePods.length, created(world)], [5, 5]);
  const { conditions, ...status } = world.api.peek(replicaSets, web)?.status ?? { conditions: undefined };
  assert.deepEqual(
    [status, conditions],
    [
      {
        replicas: 5,
        fullyLabeledReplicas: 5,
        readyReplicas: 5,
        availableReplicas: 5,
        terminatingReplicas: 0,
        observedGeneration: 1,
      },
      undefined,
    ],
  );
  const pod = world.activePods[0] as Pod;
  assert.match(pod.metadata.name, /^web-[a-z0-9]{5}$/);
  assert.deepEqual(controllerRefOf(pod), {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    name: 'web',
    uid: 'rs-1',
    controller: true,
    blockOwnerDeletion: true,
  });
  assert.ok(
    world.events.includes(`Normal SuccessfulCreate Created pod: ${pod.metadata.name}`),
    world.events.join('\n'),
  );
  await world.stop();
});

it('a set in its desired state causes no calls and no timers', async () => {
  const world = await setUp(buildSet(3));
  await world.run(3_000);
  const { length } = world.api.calls;
  await world.run(60_000);
  assert.equal(world.api.calls.length, length);
  await world.stop();
  assert.equal(world.clock.armedTimers, 0);
});

it('replaces pods that failed, terminate or vanished, and deletes surplus pods', async () => {
  const world = await setUp(buildSet(3));
  await world.run(2_000);
  const [first, second, third] = world.activePods as [Pod, Pod, Pod];
  world.api.change(pods, keyOf(first), (pod) => ({ ...pod, status: { ...pod.status, phase: 'Failed' as const } }));
  await world.api.delete(pods, keyOf(second));
  world.api.remove(pods, keyOf(third));
  await world.run(3_000);
  assert.deepEqual([world.activePods.length, created(world)], [3, 6]);
  scale(world, 1);
  await world.run(4_000);
  assert.deepEqual([world.activePods.length, world.api.peek(replicaSets, web)?.status?.replicas], [1, 1]);
  assert.equal(world.events.filter((each) => each.startsWith('Normal SuccessfulDelete Deleted pod: web-')).length, 2);
  await world.stop();
});

it('a quota that rejects all pods causes one attempt per pass with growing delays, and a condition', async () => {
  const set = buildSet(100);
  const world = await setUp({ ...set, spec: { ...set.spec, replicas: 0 } });
  const end = world.api.script(({ verb, plural }) =>
    verb === 'create' && plural === 'pods'
      ? forbidden(pods, 'web-', 'exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0')
      : undefined,
  );
  scale(world, 100);
  await world.run(1_000);
  assert.ok(created(world) <= 9, `${created(world)} creations`);
  const [condition] = world.api.peek(replicaSets, web)?.status?.conditions ?? [];
  const message = 'pods "web-" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0';
  assert.deepEqual(
    [condition?.type, condition?.status, condition?.reason, condition?.message],
    ['ReplicaFailure', 'True', 'FailedCreate', message],
  );
  assert.ok(world.events.includes(`Warning FailedCreate Error creating: ${message}`));
  end();
  await world.run(5_000);
  assert.deepEqual([world.activePods.length, world.api.peek(replicaSets, web)?.status?.conditions], [100, undefined]);
  await world.stop();
});

it('adopts matching pods without an owner, releases those that no longer match, and ignores those of other owners', async () => {
  const loose = (name: string, changes: Record<string, unknown> = {}): Pod =>
    buildPod({ 'metadata.name': name, 'metadata.uid': name, 'metadata.labels': { app: 'web' }, ...changes });
  const world = await setUp(buildSet(2));
  await world.run(1_000);
  scale(world, 3);
  world.api.seed(pods, loose('orphan'));
  world.api.seed(
    pods,
    loose('other', {
      'metadata.ownerReferences': [{ apiVersion: 'v1', kind: 'X', name: 'x', uid: 'x', controller: true }],
    }),
  );
  await world.run(3_000);
  const owned = (): string[] =>
    world.api
      .all(pods)
      .filter((pod) => controllerRefOf(pod)?.uid === 'rs-1')
      .map(({ metadata }) => metadata.name);
  assert.deepEqual([owned().length, owned().includes('orphan')], [3, true]);
  const [victim] = owned();
  world.api.change(pods, { namespace: 'default', name: victim ?? '' }, (pod) => ({
    ...pod,
    metadata: { ...pod.metadata, labels: { app: 'debug' } },
  }));
  await world.run(3_000);
  assert.deepEqual(
    [
      owned().length,
      owned().includes(victim ?? ''),
      world.api.peek(pods, { namespace: 'default', name: victim ?? '' })?.metadata.ownerReferences,
    ],
    [3, false, undefined],
  );
  await world.stop();
});

it('a set that is being deleted creates, adopts and deletes nothing', async () => {
  const set = buildSet(3);
  const world = await setUp({
    ...set,
    metadata: { ...set.metadata, finalizers: ['foregroundDeletion'], deletionTimestamp: '2026-01-01T00:00:00Z' },
  });
  world.api.seed(pods, buildPod({ 'metadata.labels': { app: 'web' } }));
  await world.run(3_000);
  assert.deepEqual(
    world.api.writes.filter((each) => each.includes(' pods')),
    [],
  );
  await world.stop();
});

it('adoption checks with the server first: a recreated set of the same name adopts nothing', async () => {
  const world = await setUp(buildSet(1), { lagMs: 5_000 });
  await world.run(20_000);
  world.api.remove(replicaSets, web);
  world.api.seed(replicaSets, { ...buildSet(1), metadata: { ...web, uid: 'rs-2' } });
  world.api.seed(
    pods,
    buildPod({ 'metadata.name': 'orphan', 'metadata.uid': 'orphan', 'metadata.labels': { app: 'web' } }),
  );
  await world.run(60_000);
  assert.notEqual(controllerRefOf(world.api.peek(pods, { namespace: 'default', name: 'orphan' }) as Pod)?.uid, 'rs-1');
  await world.stop();
});

it('a pod becomes available after minReadySeconds, without polling', async () => {
  const world = await setUp(buildSet(2, { minReadySeconds: 20 }));
  await world.run(2_000);
  assert.deepEqual(
    [
      world.api.peek(replicaSets, web)?.status?.readyReplicas,
      world.api.peek(replicaSets, web)?.status?.availableReplicas,
    ],
    [2, 0],
  );
  const { length } = world.api.calls;
  await world.run(17_000);
  assert.equal(world.api.calls.length, length);
  await world.run(3_000);
  assert.equal(world.api.peek(replicaSets, web)?.status?.availableReplicas, 2);
  await world.stop();
});

it('despite crashes and random events, the set reaches the desired number of pods', () => {
  const event = fc.oneof(
    fc.record({ kind: fc.constant('scale' as const), to: fc.integer({ min: 0, max: 8 }) }),
    fc.record({ kind: fc.constantFrom('fail' as const, 'delete' as const, 'vanish' as const), which: fc.nat(20) }),
    fc.record({ kind: fc.constant('kill' as const), writes: fc.integer({ min: 1, max: 6 }) }),
    fc.record({ kind: fc.constant('refuse' as const), times: fc.integer({ min: 1, max: 4 }) }),
  );
  return fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(event, fc.integer({ min: 1, max: 6 })), { maxLength: 12 }),
      fc.nat(1_000),
      async (steps, seed) => {
        const world = await setUp(buildSet(3), { seed, lagMs: 800 });
        let wanted = 3;
        for (const [step, halfSeconds] of steps) {
          const pod =
            'which' in step ? world.api.all(pods)[step.which % Math.max(1, world.api.all(pods).length)] : undefined;
          if (step.kind === 'scale') scale(world, (wanted = step.to));
          else if (step.kind === 'kill') world.restartAtWrite(step.writes);
          else if (step.kind === 'refuse')
            world.api.fail('create', 'pods', forbidden(pods, '', 'exceeded quota'), step.times);
          else if (pod === undefined) continue;
          else if (step.kind === 'fail')
            world.api.change(pods, keyOf(pod), (each) => ({
              ...each,
              status: { ...each.status, phase: 'Failed' as const },
            }));
          else if (step.kind === 'delete') await world.api.delete(pods, keyOf(pod)).catch(() => undefined);
          else world.api.remove(pods, keyOf(pod));
          await world.run(halfSeconds * 500);
        }
        // Rejections double the delay of a key up to a quarter of an hour, so the set is touched regularly; a lost
        // expectation would still take five minutes.
        for (let round = 0; round < 30; round++) {
          world.api.change(replicaSets, web, (set) => ({
            ...set,
            metadata: { ...set.metadata, annotations: { round: String(round) } },
          }));
          await world.run(4_000);
        }
        const status = world.api.peek(replicaSets, web)?.status;
        assert.deepEqual(
          [world.activePods.length, status?.replicas, status?.availableReplicas, status?.terminatingReplicas],
          [wanted, wanted, wanted, 0],
        );
        await world.stop();
      },
    ),
    { numRuns: 60 },
  );
});
