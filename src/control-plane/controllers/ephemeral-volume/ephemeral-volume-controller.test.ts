import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { keyOf } from '../../../api/client/resource-type.ts';
import { persistentVolumeClaims, pods } from '../../../api/client/resource-types.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import type { WorldOptions } from '../../controller-runtime/testing/controller-world.ts';
import { createEphemeralVolumeController } from './ephemeral-volume-controller.ts';

const spec = { accessModes: ['ReadWriteOnce' as const], resources: { requests: { storage: '1Gi' } } };

function podWith(name: string, volumes: readonly string[]): Pod {
  const pod = buildPod({ 'metadata.name': name, 'metadata.uid': `uid-${name}` });
  return {
    ...pod,
    spec: {
      ...pod.spec,
      volumes: [
        { name: 'plain', emptyDir: {} },
        ...volumes.map((volume) => ({
          name: volume,
          ephemeral: { volumeClaimTemplate: { metadata: { labels: { of: volume } }, spec } },
        })),
      ],
    },
  };
}

function setUp(options: Partial<WorldOptions> = {}): ControllerWorld {
  return new ControllerWorld({ make: (each) => [createEphemeralVolumeController(each)], ...options });
}

const claimsOf = (world: ControllerWorld): string[] =>
  world.api
    .all(persistentVolumeClaims)
    .map(({ metadata }) => `${metadata.name} of ${metadata.ownerReferences?.[0]?.uid ?? 'nothing'}`)
    .toSorted();

it('creates one claim for each ephemeral volume, owned by the pod, and again after its deletion', async () => {
  const world = setUp();
  world.api.seed(pods, podWith('a', ['x', 'y']));
  world.start();
  await world.run(1_000);
  assert.deepEqual(claimsOf(world), ['a-x of uid-a', 'a-y of uid-a']);
  const [claim] = world.api.all(persistentVolumeClaims);
  assert.deepEqual(
    [claim?.spec, claim?.metadata.labels, claim?.metadata.ownerReferences?.[0]],
    [
      spec,
      { of: 'x' },
      { apiVersion: 'v1', kind: 'Pod', name: 'a', uid: 'uid-a', controller: true, blockOwnerDeletion: true },
    ],
  );
  world.api.remove(persistentVolumeClaims, { namespace: 'default', name: 'a-x' });
  await world.run(1_000);
  assert.deepEqual(claimsOf(world), ['a-x of uid-a', 'a-y of uid-a']);
  await world.stop();
});

it('a claim of that name with another owner is not changed, and is reported until it is deleted', async () => {
  const world = setUp();
  const foreign = { metadata: { namespace: 'default', name: 'a-x', uid: 'other' }, spec };
  world.api.seed(persistentVolumeClaims, foreign);
  world.api.seed(pods, podWith('a', ['x']));
  world.start();
  await world.run(1_000);
  assert.deepEqual(claimsOf(world), ['a-x of nothing']);
  assert.deepEqual(world.events, [
    'Warning FailedBinding ephemeral volume x: PVC default/a-x was not created for pod default/a (pod is not owner)',
  ]);
  world.api.remove(persistentVolumeClaims, keyOf(foreign));
  await world.run(2_000);
  assert.deepEqual(claimsOf(world), ['a-x of uid-a']);
  await world.stop();
});

it('despite crashes and late events, every pod has exactly its claims', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.integer({ min: 1, max: 4 }), fc.subarray(['x', 'y', 'z']), fc.boolean()), { maxLength: 5 }),
      fc.nat(1_000),
      async (steps, seed) => {
        const world = setUp({ seed, lagMs: 700 });
        world.start();
        for (const [index, [writes, volumes, loses]] of steps.entries()) {
          world.restartAtWrite(writes);
          world.api.seed(pods, podWith(`p${index}`, volumes));
          await world.run(1_000);
          const [first] = world.api.all(persistentVolumeClaims);
          if (loses && first !== undefined) world.api.remove(persistentVolumeClaims, keyOf(first));
        }
        await world.run(10_000);
        assert.deepEqual(
          claimsOf(world),
          steps
            .flatMap(([, volumes], index) => volumes.map((volume) => `p${index}-${volume} of uid-p${index}`))
            .toSorted(),
        );
        await world.stop();
      },
    ),
    { numRuns: 30 },
  ));
