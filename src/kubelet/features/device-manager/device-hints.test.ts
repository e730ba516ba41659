import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { countNodes, positionsOf } from '../../model/topology-hints.ts';
import { plainDevice } from '../../ports/testing/fake-device-plugins.ts';
import type { DeviceHintFacts } from './device-hints.ts';
import { computeDeviceHints } from './device-hints.ts';
import { containerOf, DeviceWorld, GPU, gpuPod, podOf } from './testing/device-world.ts';

const ids = ['a', 'b', 'c', 'd', 'e', 'f'];

const facts: fc.Arbitrary<DeviceHintFacts> = fc
  .record({
    count: fc.integer({ min: 1, max: 4 }),
    nodes: fc.array(fc.subarray([0, 1, 2, 7]), { minLength: 6, maxLength: 6 }),
    mustUse: fc.subarray(ids, { maxLength: 2 }),
    free: fc.subarray(ids),
  })
  .map(({ nodes, ...rest }) => ({
    ...rest,
    free: rest.free.filter((id) => !rest.mustUse.includes(id)),
    devices: new Map(ids.map((id, index) => [id, plainDevice(id, { numaNodes: nodes[index] ?? [] })])),
    nodeIds: [0, 2, 7],
  }));

/** A reference implementation with sets of node ids. */
function naive({ count, devices, mustUse, free, nodeIds }: DeviceHintFacts): Map<number, boolean> | undefined {
  const known = (id: string): number[] => (devices.get(id)?.numaNodes ?? []).filter((node) => nodeIds.includes(node));
  const placed = (list: Iterable<string>): string[] => [...list].filter((id) => known(id).length > 0);
  if (placed(devices.keys()).length === 0) return undefined;
  if (mustUse.length + free.length < count) return new Map();
  const masks = [1, 2, 3, 4, 5, 6, 7];
  const near = (list: Iterable<string>, mask: number): number => {
    const wanted = positionsOf(mask).map((position) => nodeIds[position]);
    return placed(list).filter((id) => known(id).some((node) => wanted.includes(node))).length;
  };
  const sizes = masks.filter((mask) => near(devices.keys(), mask) >= count).map(countNodes);
  const least = Math.min(nodeIds.length, ...sizes);
  const must = placed(mustUse);
  const serving = masks.filter((mask) => near(must, mask) === must.length && must.length + near(free, mask) >= count);
  return new Map(serving.map((mask) => [mask, countNodes(mask) === least]));
}

describe('NUMA hints for devices', () => {
  it('are those of the plain rule', () => {
    fc.assert(
      fc.property(facts, (given) => {
        const hints = computeDeviceHints(given);
        const found = hints && new Map(hints.map(({ affinity, preferred }) => [affinity, preferred]));
        assert.deepEqual(found, naive(given));
      }),
      { numRuns: 1000 },
    );
  });

  it('of a later container leave out what an earlier one would get, but not what an init container leaves', async () => {
    const one = new DeviceWorld();
    await one.start();
    await one.register([plainDevice('a', { numaNodes: [0] }), plainDevice('b', { numaNodes: [1] })]);
    const [first, second] = [containerOf('first', { [GPU]: '1' }), containerOf('second', { [GPU]: '1' })];
    const serving = (hints: ReturnType<typeof computeDeviceHints>) => hints?.map(({ affinity }) => affinity);
    const pair = one.devices.manager.hints.begin(podOf('p', [first, second]));
    assert.deepEqual(serving(pair.podHints()?.get(GPU)), [3]);
    assert.deepEqual(serving(pair.containerHints(first)?.get(GPU)), [1, 2, 3]);
    pair.allocate(first, 0b01);
    assert.deepEqual(serving(pair.containerHints(second)?.get(GPU)), [2, 3]);
    const inherited = one.devices.manager.hints.begin(podOf('q', [second], [first]));
    inherited.allocate(first, 0b10);
    assert.deepEqual(serving(inherited.containerHints(second)?.get(GPU)), [2, 3]);
  });

  it('of a pod that has its devices are those of these devices', async () => {
    const one = new DeviceWorld();
    await one.start();
    await one.register([plainDevice('a', { numaNodes: [0] }), plainDevice('b', { numaNodes: [1] })]);
    const pod = gpuPod('p');
    const [container] = pod.spec.containers;
    assert.ok(container !== undefined);
    one.devices.manager.hints.begin(pod).allocate(container, 0b10);
    await one.admit(pod);
    assert.deepEqual(one.ids('p'), ['b']);
    assert.deepEqual(one.devices.manager.hints.begin(pod).containerHints(container)?.get(GPU), [
      { affinity: 2, preferred: true },
      { affinity: 3, preferred: false },
    ]);
  });
});
