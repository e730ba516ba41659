import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { keyOf } from '../../../api/client/resource-type.ts';
import { pods, replicationControllers } from '../../../api/client/resource-types.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { controllerRefOf } from '../../controller-runtime/controller-ref.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import type { WorldOptions } from '../../controller-runtime/testing/controller-world.ts';
import { createReplicationController } from './replication-controller.ts';

const web = { namespace: 'default', name: 'web' };
const labels = { app: 'web' };

async function setUp(replicas: number, options: Partial<WorldOptions> = {}): Promise<ControllerWorld> {
  const world = new ControllerWorld({
    make: (each) => [createReplicationController(each)],
    owners: [replicationControllers],
    ...options,
  });
  world.addNode('node-1');
  world.api.seed(pods, buildPod({ 'metadata.name': 'orphan', 'metadata.uid': 'orphan', 'metadata.labels': labels }));
  world.api.seed(replicationControllers, {
    metadata: { ...web, uid: 'rc-1' },
    spec: { replicas, selector: labels, template: { metadata: { labels }, spec: buildPod().spec } },
  });
  world.start();
  await world.clock.settle();
  return world;
}

const scale = (world: ControllerWorld, replicas: number): void =>
  void world.api.change(replicationControllers, web, (each) => ({ ...each, spec: { ...each.spec, replicas } }));

it('creates missing pods, adopts matching ones, releases those that no longer match, and reports their state', async () => {
  const world = await setUp(3);
  await world.run(3_000);
  assert.equal(world.activePods.length, 3);
  const orphan = world.api.peek(pods, { namespace: 'default', name: 'orphan' });
  assert.deepEqual(controllerRefOf(orphan ?? buildPod()), {
    apiVersion: 'v1',
    kind: 'ReplicationController',
    name: 'web',
    uid: 'rc-1',
    controller: true,
    blockOwnerDeletion: true,
  });
  assert.deepEqual(world.api.peek(replicationControllers, web)?.status, {
    replicas: 3,
    fullyLabeledReplicas: 3,
    readyReplicas: 3,
    availableReplicas: 3,
    observedGeneration: 1,
  });
  world.api.change(pods, { namespace: 'default', name: 'orphan' }, (pod) => ({
    ...pod,
    metadata: { ...pod.metadata, labels: { app: 'other' } },
  }));
  await world.run(3_000);
  assert.equal(world.api.peek(pods, { namespace: 'default', name: 'orphan' })?.metadata.ownerReferences, undefined);
  assert.equal(world.activePods.length, 4);
  scale(world, 1);
  await world.run(3_000);
  const { length } = world.api.calls;
  await world.run(60_000);
  assert.equal(world.api.calls.length, length);
  await world.stop();
});

it('despite crashes and random events, the controller reaches the desired number of pods', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.tuple(
          fc.integer({ min: 0, max: 6 }),
          fc.integer({ min: 1, max: 5 }),
          fc.nat(10),
          fc.integer({ min: 1, max: 6 }),
        ),
        { maxLength: 8 },
      ),
      fc.nat(1_000),
      async (steps, seed) => {
        const world = await setUp(2, { seed, lagMs: 800 });
        let wanted = 2;
        for (const [to, writes, which, halfSeconds] of steps) {
          world.restartAtWrite(writes);
          scale(world, (wanted = to));
          const all: readonly Pod[] = world.api.all(pods);
          const pod = all[which % Math.max(1, all.length)];
          if (pod !== undefined) world.api.remove(pods, keyOf(pod));
          await world.run(halfSeconds * 500);
        }
        await world.run(30_000);
        const status = world.api.peek(replicationControllers, web)?.status;
        assert.deepEqual(
          [world.activePods.length, status?.replicas, status?.availableReplicas],
          [wanted, wanted, wanted],
        );
        await world.stop();
      },
    ),
    { numRuns: 40 },
  ));
