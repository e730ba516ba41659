import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { csiStorageCapacities, nodes, storageClasses } from '../../api/client/resource-types.ts';
import type { ControllerOptions } from '../../control-plane/controller-runtime/controller.ts';
import { ControllerWorld } from '../../control-plane/controller-runtime/testing/controller-world.ts';
import { createCapacityPublisher } from './capacity-publisher.ts';
import { CLASS } from './testing/builders.ts';
import { createFakeVolumeDisk } from './testing/fake-volume-disk.ts';
import type { FakeVolumeDisk } from './testing/fake-volume-disk.ts';

const GIB = 2 ** 30;

interface Setting {
  readonly world: ControllerWorld;
  readonly disks: ReadonlyMap<string, FakeVolumeDisk>;
  /** `node class capacity` of each object, in order. */
  readonly told: () => string[];
}

function settingOf(names: readonly string[], { seed = 1, lagMs = 0 } = {}): Setting {
  const disks = new Map(names.map((name) => [name, createFakeVolumeDisk()]));
  const make = (each: ControllerOptions) =>
    [...disks].map(([nodeName, disk]) => createCapacityPublisher({ ...each, nodeName, disk }));
  const world = new ControllerWorld({ seed, lagMs, make });
  for (const [index, disk] of [...disks.values()].entries()) disk.free = (index + 1) * GIB;
  for (const name of names) world.addNode(name);
  const told = (): string[] =>
    world.api
      .all(csiStorageCapacities)
      .map(({ nodeTopology, storageClassName, capacity }) =>
        [nodeTopology?.matchLabels?.['kubernetes.io/hostname'], storageClassName, capacity].join(' '),
      )
      .sort();
  return { world, disks, told };
}

describe('the capacity of the nodes’ disks', () => {
  it('is published for each node and each class of the provisioner', async () => {
    const { world, told } = settingOf(['a', 'b']);
    const named = (name: string, more: object) => ({ ...CLASS, metadata: { ...CLASS.metadata, name }, ...more });
    world.api.seed(storageClasses, CLASS);
    world.api.seed(storageClasses, named('fast', {}));
    world.api.seed(storageClasses, named('at-once', { volumeBindingMode: 'Immediate' }));
    world.api.seed(storageClasses, named('foreign', { provisioner: 'example.com/disk' }));
    world.start();
    await world.run(2_000);
    assert.deepEqual(told(), ['a fast 1Gi', 'a standard 1Gi', 'b fast 2Gi', 'b standard 2Gi']);
    await world.stop();
  });

  it('is published as soon as the node is registered', async () => {
    const { world, told } = settingOf(['a']);
    await world.api.delete(nodes, { namespace: '', name: 'a' });
    world.api.seed(storageClasses, CLASS);
    world.start();
    await world.run(10_000);
    assert.deepEqual(told(), []);
    world.addNode('a');
    await world.run(1_000);
    assert.deepEqual(told(), ['a standard 1Gi']);
    await world.stop();
  });

  it('follows the disk within a minute, without writes for small differences', async () => {
    const { world, disks, told } = settingOf(['a']);
    world.api.seed(storageClasses, CLASS);
    world.start();
    await world.run(2_000);
    const disk = disks.get('a');
    assert.ok(disk !== undefined);
    disk.free = 3 * GIB;
    await world.run(61_000);
    assert.deepEqual(told(), ['a standard 3Gi']);
    const [before] = world.api.all(csiStorageCapacities);
    disk.free += 1000;
    await world.run(121_000);
    assert.equal(world.api.all(csiStorageCapacities)[0]?.metadata.resourceVersion, before?.metadata.resourceVersion);
    disk.free = -1;
    await world.run(61_000);
    assert.deepEqual(told(), ['a standard 0']);
    await world.stop();
  });

  it('goes with its class, comes back when someone deletes it, and leaves the objects of others', async () => {
    const { world, told } = settingOf(['a']);
    world.api.seed(storageClasses, CLASS);
    const foreign = { namespace: 'kube-system', name: 'csisc-foreign', uid: 'f' };
    world.api.seed(csiStorageCapacities, { metadata: foreign, storageClassName: 'other', capacity: '1Ti' });
    world.start();
    await world.run(2_000);
    for (const { metadata } of world.api.all(csiStorageCapacities))
      if (metadata.name !== foreign.name) await world.api.delete(csiStorageCapacities, metadata);
    await world.run(2_000);
    assert.deepEqual(told(), [' other 1Ti', 'a standard 1Gi']);
    await world.api.delete(storageClasses, { namespace: '', name: CLASS.metadata.name });
    await world.run(2_000);
    assert.deepEqual(told(), [' other 1Ti']);
    await world.stop();
  });

  it('belongs to the node, also after the node was deleted and registered again', async () => {
    const { world } = settingOf(['a']);
    world.api.seed(storageClasses, CLASS);
    world.start();
    await world.run(2_000);
    await world.api.delete(nodes, { namespace: '', name: 'a' });
    world.addNode('a');
    await world.run(61_000);
    const [node] = world.api.all(nodes);
    assert.deepEqual(
      world.api.all(csiStorageCapacities).map(({ metadata }) => metadata.ownerReferences),
      [[{ apiVersion: 'v1', kind: 'Node', name: 'a', uid: node?.metadata.uid }]],
    );
    await world.stop();
  });

  it('killed at any write and shown everything late, ends with one object for each node and class', () =>
    fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 1_000_000 }),
        fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 4 }),
        async (seed, deaths) => {
          const { world, told } = settingOf(['a', 'b'], { seed, lagMs: 2_000 });
          world.api.seed(storageClasses, CLASS);
          world.start();
          for (const writes of deaths) {
            world.restartAtWrite(writes);
            await world.run(3_000);
          }
          world.restart();
          await world.run(70_000);
          assert.deepEqual(told(), ['a standard 1Gi', 'b standard 2Gi']);
          await world.stop();
        },
      ),
      { numRuns: 25 },
    ));
});
