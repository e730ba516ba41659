import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { StatefulSet, StatefulSetSpec } from '../../../api/apps/stateful-set.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import { controllerRevisions, persistentVolumeClaims, pods, statefulSets } from '../../../api/client/resource-types.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import type { WorldOptions } from '../../controller-runtime/testing/controller-world.ts';
import { createStatefulSetController } from './stateful-set-controller.ts';

const db = { namespace: 'default', name: 'db' };
type Template = StatefulSetSpec['template'];
const template = (image: string): Template => ({
  metadata: { labels: { app: 'db' } },
  spec: buildPod({ 'spec.containers[0].image': image }).spec,
});
const claimTemplate = {
  metadata: { name: 'data', namespace: '', uid: '' },
  spec: { accessModes: ['ReadWriteOnce' as const], resources: { requests: { storage: '1Gi' } } },
};

function build(more: Partial<StatefulSetSpec> = {}): StatefulSet {
  return {
    metadata: { ...db, uid: 'sts-1' },
    spec: {
      replicas: 3,
      serviceName: 'db',
      selector: { matchLabels: { app: 'db' } },
      template: template('v1'),
      podManagementPolicy: 'OrderedReady',
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
      revisionHistoryLimit: 10,
      ...more,
    },
  };
}

const startsSlowly = (_pod: unknown, ageMs: number): 'running' | 'ready' => (ageMs >= 1_000 ? 'ready' : 'running');

async function setUp(set: StatefulSet, options: Partial<WorldOptions> = {}): Promise<ControllerWorld> {
  const world = new ControllerWorld({
    make: (each) => [createStatefulSetController(each)],
    owners: [statefulSets],
    outcome: startsSlowly,
    ...options,
  });
  world.addNode('n1');
  world.api.seed(statefulSets, set);
  world.start();
  await world.clock.settle();
  return world;
}

const change = (world: ControllerWorld, spec: Partial<StatefulSetSpec>): void =>
  void world.api.change(statefulSets, db, (each) => ({ ...each, spec: { ...each.spec, ...spec } }));
const status = (world: ControllerWorld): StatefulSet['status'] => world.api.peek(statefulSets, db)?.status;
const imageOf = ({ spec }: Pod): string => spec.containers[0]?.image ?? '';
const running = (world: ControllerWorld): string[] =>
  world.activePods.map((pod) => `${pod.metadata.name} ${imageOf(pod)}`).toSorted();
const podWrites = (world: ControllerWorld): string[] =>
  world.api.writes.filter((each) => /^(create|delete) pods /.test(each)).map((each) => each.replace('default/', ''));
const peekPod = (world: ControllerWorld, name: string): Pod | undefined =>
  world.api.peek(pods, { namespace: 'default', name });

it('a revision is created once, however late the cache shows it', async () => {
  for (const seed of [1, 2, 3, 4]) {
    const world = await setUp(build(), { seed, lagMs: 3_000 });
    await world.run(60_000);
    change(world, { template: template('v2') });
    await world.run(90_000);
    const tried = world.api.writes.filter((each) => each.startsWith('create controllerrevisions'));
    assert.equal(tried.length, 2, `seed ${seed}`);
    await world.stop();
  }
});

describe('an ordered set', () => {
  it('writes one status for each pod that it creates, which counts the pod', async () => {
    const world = await setUp(build({ replicas: 10 }));
    assert.deepEqual(
      [status(world)?.replicas, status(world)?.currentReplicas, status(world)?.updatedReplicas],
      [1, 1, 1],
    );
    await world.run(60_000);
    assert.deepEqual([status(world)?.replicas, status(world)?.readyReplicas], [10, 10]);
    const statuses = world.api.writes.filter((each) => each.startsWith('update statefulsets/status'));
    // The first pod is created at once, the others when the previous one is ready.
    assert.equal(statuses.length, 11);
    await world.stop();
  });

  it('creates its pods one after another, each when the previous one is ready', async () => {
    const world = await setUp(build({ volumeClaimTemplates: [claimTemplate] }));
    let most = 0;
    world.check = () => {
      const waiting = world.activePods.filter(
        ({ status: at }) => at?.conditions?.find(({ type }) => type === 'Ready')?.status !== 'True',
      );
      most = Math.max(most, waiting.length);
    };
    await world.run(15_000);
    assert.deepEqual(running(world), ['db-0 v1', 'db-1 v1', 'db-2 v1']);
    assert.equal(most, 1);
    const { metadata, spec } = peekPod(world, 'db-1') ?? buildPod();
    assert.deepEqual(metadata.labels, {
      app: 'db',
      'apps.kubernetes.io/pod-index': '1',
      'controller-revision-hash': status(world)?.updateRevision,
      'statefulset.kubernetes.io/pod-name': 'db-1',
    });
    assert.deepEqual(
      [spec.hostname, spec.subdomain, spec.volumes?.[0]],
      ['db-1', 'db', { name: 'data', persistentVolumeClaim: { claimName: 'data-db-1' } }],
    );
    const claims = world.api.all(persistentVolumeClaims);
    assert.deepEqual(
      claims.map((claim) => [claim.metadata.name, claim.metadata.labels, claim.metadata.ownerReferences]),
      [0, 1, 2].map((ordinal) => [`data-db-${ordinal}`, { app: 'db' }, undefined]),
    );
    const { observedGeneration: _, currentRevision, updateRevision, ...counts } = status(world) ?? { replicas: 0 };
    assert.equal(currentRevision, updateRevision);
    assert.deepEqual(counts, {
      replicas: 3,
      readyReplicas: 3,
      currentReplicas: 3,
      updatedReplicas: 3,
      availableReplicas: 3,
      collisionCount: 0,
    });
    for (const said of [
      'Normal SuccessfulCreate Create Pod db-0 in StatefulSet db successful',
      'Normal SuccessfulCreate Create Claim data-db-0 Pod db-0 in StatefulSet db success',
    ])
      assert.ok(world.events.includes(said), world.events.join('\n'));
    await world.stop();
  });

  it('a set in its desired state causes no calls and no timers', async () => {
    const world = await setUp(build());
    await world.run(15_000);
    const { length } = world.api.calls;
    await world.run(60_000);
    assert.equal(world.api.calls.length, length);
    await world.stop();
    assert.equal(world.clock.armedTimers, 0);
  });

  it('scales down from the highest ordinal, waits for each pod to be deleted, and numbers from its start ordinal', async () => {
    const world = await setUp(build({ ordinals: { start: 5 } }));
    await world.run(15_000);
    assert.deepEqual(running(world), ['db-5 v1', 'db-6 v1', 'db-7 v1']);
    change(world, { replicas: 1 });
    await world.run(8_000);
    assert.deepEqual(podWrites(world).slice(-2), ['delete pods db-7', 'delete pods db-6']);
    assert.deepEqual(running(world), ['db-5 v1']);
    await world.stop();
  });

  it('updates from the highest ordinal down to the partition, and recreates a lost pod with its own revision', async () => {
    const world = await setUp(build());
    await world.run(15_000);
    const before = status(world)?.currentRevision;
    change(world, {
      template: template('v2'),
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 1 } },
    });
    await world.run(15_000);
    assert.deepEqual(running(world), ['db-0 v1', 'db-1 v2', 'db-2 v2']);
    assert.deepEqual(
      podWrites(world).filter((each) => each.startsWith('delete')),
      ['delete pods db-2', 'delete pods db-1'],
    );
    assert.deepEqual(
      [status(world)?.currentRevision, status(world)?.currentReplicas, status(world)?.updatedReplicas],
      [before, 1, 2],
    );
    world.api.remove(pods, { namespace: 'default', name: 'db-0' });
    await world.run(5_000);
    assert.deepEqual(running(world), ['db-0 v1', 'db-1 v2', 'db-2 v2']);
    change(world, { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } } });
    await world.run(8_000);
    assert.deepEqual(running(world), ['db-0 v2', 'db-1 v2', 'db-2 v2']);
    assert.equal(status(world)?.currentRevision, status(world)?.updateRevision);
    await world.stop();
  });

  it('OnDelete updates pods only when they are deleted, and an earlier template becomes the newest revision', async () => {
    const world = await setUp(build({ updateStrategy: { type: 'OnDelete' } }));
    await world.run(15_000);
    change(world, { template: template('v2') });
    await world.run(5_000);
    assert.deepEqual(running(world), ['db-0 v1', 'db-1 v1', 'db-2 v1']);
    await world.api.delete(pods, { namespace: 'default', name: 'db-1' });
    await world.run(8_000);
    assert.deepEqual(running(world), ['db-0 v1', 'db-1 v2', 'db-2 v1']);
    change(world, { template: template('v1') });
    await world.run(3_000);
    assert.deepEqual(
      world.api
        .all(controllerRevisions)
        .map(({ revision }) => revision)
        .toSorted(),
      [2, 3],
    );
    await world.stop();
  });

  it('replaces ended pods, and adopts only pods with its name', async () => {
    const world = await setUp(build({ replicas: 2 }));
    const loose = (name: string): Pod =>
      buildPod({ 'metadata.name': name, 'metadata.uid': name, 'metadata.labels': { app: 'db' } });
    world.api.seed(pods, loose('db-1'));
    world.api.seed(pods, loose('other-0'));
    await world.run(10_000);
    assert.deepEqual(
      ['db-1', 'other-0'].map((name) => peekPod(world, name)?.metadata.ownerReferences?.[0]?.uid),
      ['sts-1', undefined],
    );
    const [first] = world.activePods as [Pod];
    world.api.change(pods, keyOf(first), (pod) => ({ ...pod, status: { ...pod.status, phase: 'Failed' as const } }));
    await world.run(8_000);
    assert.equal(status(world)?.availableReplicas, 2);
    await world.stop();
  });
});

describe('a parallel set', () => {
  it('creates and deletes its pods at once', async () => {
    const world = await setUp(build({ replicas: 8, podManagementPolicy: 'Parallel' }));
    await world.run(500);
    assert.equal(world.activePods.length, 8);
    change(world, { replicas: 2 });
    await world.run(4_000);
    assert.deepEqual(running(world), ['db-0 v1', 'db-1 v1']);
    await world.stop();
  });

  it('updates at most maxUnavailable pods at a time', async () => {
    const set = build({
      replicas: 6,
      podManagementPolicy: 'Parallel',
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0, maxUnavailable: '50%' } },
    });
    const world = await setUp(set);
    await world.run(8_000);
    let least = 6;
    world.check = () => {
      const ready = world.activePods.filter(
        ({ status: at }) => at?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True',
      );
      least = Math.min(least, ready.length);
    };
    change(world, { template: template('v2') });
    await world.run(15_000);
    assert.equal(least, 3);
    assert.ok(running(world).every((each) => each.endsWith('v2')));
    await world.stop();
  });
});

describe('claims', () => {
  const refs = (world: ControllerWorld): (string | undefined)[] =>
    world.api
      .all(persistentVolumeClaims)
      .map(({ metadata }) => metadata.ownerReferences?.map(({ kind, name }) => `${kind} ${name}`).join())
      .toSorted();

  it('belong to the set if they are deleted with it, and to a pod that is scaled down', async () => {
    const world = await setUp(
      build({
        volumeClaimTemplates: [claimTemplate],
        persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete', whenScaled: 'Delete' },
      }),
      { leavingMs: 60_000 },
    );
    await world.run(15_000);
    assert.deepEqual(refs(world), ['StatefulSet db', 'StatefulSet db', 'StatefulSet db']);
    world.api.change(pods, { namespace: 'default', name: 'db-2' }, (pod) => ({
      ...pod,
      spec: { ...pod.spec, terminationGracePeriodSeconds: 30 },
    }));
    change(world, { replicas: 2 });
    await world.run(2_000);
    assert.deepEqual(refs(world), ['Pod db-2', 'StatefulSet db', 'StatefulSet db']);
    await world.stop();
  });

  it('of an earlier pod delay the new pod until they are gone', async () => {
    const world = await setUp(
      build({
        replicas: 1,
        volumeClaimTemplates: [claimTemplate],
        persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Delete' },
      }),
    );
    await world.run(4_000);
    world.api.change(persistentVolumeClaims, { namespace: 'default', name: 'data-db-0' }, (claim) => ({
      ...claim,
      metadata: {
        ...claim.metadata,
        ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'db-0', uid: 'earlier', controller: true }],
      },
    }));
    world.api.remove(pods, { namespace: 'default', name: 'db-0' });
    await world.run(5_000);
    assert.deepEqual(running(world), []);
    world.api.remove(persistentVolumeClaims, { namespace: 'default', name: 'data-db-0' });
    await world.run(4_000);
    assert.deepEqual(running(world), ['db-0 v1']);
    await world.stop();
  });
});

it('despite crashes and random events, the set reaches its numbered pods of the newest template', () => {
  const event = fc.oneof(
    fc.record({ kind: fc.constant('roll' as const), image: fc.constantFrom('v1', 'v2', 'v3') }),
    fc.record({ kind: fc.constant('scale' as const), to: fc.integer({ min: 0, max: 5 }) }),
    fc.record({ kind: fc.constant('kill' as const), writes: fc.integer({ min: 1, max: 6 }) }),
    fc.record({ kind: fc.constantFrom('fail' as const, 'delete' as const, 'vanish' as const), which: fc.nat(20) }),
  );
  return fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(event, fc.integer({ min: 1, max: 8 })), { maxLength: 10 }),
      fc.constantFrom('OrderedReady' as const, 'Parallel' as const),
      fc.constantFrom(undefined, 2, '50%'),
      fc.nat(1_000),
      async (steps, podManagementPolicy, maxUnavailable, seed) => {
        const rollingUpdate = { partition: 0, ...(maxUnavailable !== undefined && { maxUnavailable }) };
        const world = await setUp(
          build({
            podManagementPolicy,
            updateStrategy: { type: 'RollingUpdate', rollingUpdate },
            volumeClaimTemplates: [claimTemplate],
          }),
          { seed, lagMs: 600 },
        );
        let image = 'v1';
        let wanted = 3;
        for (const [step, halfSeconds] of steps) {
          if (step.kind === 'roll') change(world, { template: template((image = step.image)) });
          else if (step.kind === 'scale') change(world, { replicas: (wanted = step.to) });
          else if (step.kind === 'kill') world.restartAtWrite(step.writes);
          else {
            const pod = world.api.all(pods)[step.which % Math.max(1, world.api.all(pods).length)];
            if (pod === undefined) continue;
            if (step.kind === 'delete') await world.api.delete(pods, keyOf(pod)).catch(() => undefined);
            else if (step.kind === 'vanish') world.api.remove(pods, keyOf(pod));
            else
              world.api.change(pods, keyOf(pod), (each) => ({
                ...each,
                status: { ...each.status, phase: 'Failed' as const },
              }));
          }
          await world.run(halfSeconds * 500);
        }
        await world.run(90_000);
        const expected = Array.from({ length: wanted }, (_, ordinal) => `db-${ordinal} ${image}`);
        assert.deepEqual(running(world), expected);
        const now = status(world);
        assert.deepEqual(
          [now?.replicas, now?.availableReplicas, now?.updatedReplicas, now?.currentRevision],
          [wanted, wanted, wanted, now?.updateRevision],
        );
        await world.stop();
      },
    ),
    {
      numRuns: 40,
      examples: [
        // Some pods failed while the set was scaled down.
        [
          [
            [{ kind: 'scale', to: 2 }, 1],
            [{ kind: 'fail', which: 0 }, 3],
            [{ kind: 'scale', to: 0 }, 1],
            [{ kind: 'fail', which: 0 }, 1],
          ],
          'OrderedReady',
          undefined,
          0,
        ],
      ],
    },
  );
});
