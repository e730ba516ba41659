import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nodes } from '../../../api/client/resource-types.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { createNodeIpamController } from './node-ipam-controller.ts';
import type { NodeRangeSettings } from './node-ranges.ts';

const two: NodeRangeSettings = { clusters: [{ cidr: '10.244.0.0/23', nodeLength: 24 }], excluded: [] };

function worldOf(ranges: NodeRangeSettings, more: { seed?: number; lagMs?: number } = {}): ControllerWorld {
  return new ControllerWorld({ ...more, make: (options) => [createNodeIpamController({ ...options, ranges })] });
}

const rangesIn = (world: ControllerWorld): Record<string, readonly string[]> =>
  Object.fromEntries(world.api.all(nodes).map(({ metadata, spec }) => [metadata.name, spec?.podCIDRs ?? []]));

describe('the node IPAM controller', () => {
  it('gives each node a range of each family, and does not change existing ranges', async () => {
    const world = worldOf(two);
    world.api.seed(nodes, {
      metadata: { name: 'old', namespace: '', uid: '' },
      spec: { podCIDR: '10.244.0.0/24', podCIDRs: ['10.244.0.0/24'] },
    });
    world.addNode('new');
    world.start();
    await world.run(1000);
    assert.deepEqual(rangesIn(world), { old: ['10.244.0.0/24'], new: ['10.244.1.0/24'] });
    assert.equal(world.api.all(nodes).find(({ metadata }) => metadata.name === 'new')?.spec?.podCIDR, '10.244.1.0/24');
    assert.equal(world.api.writes.length, 1);
    await world.stop();
  });

  it('reports a node without a free range, and serves it when another node is deleted', async () => {
    const world = worldOf(two);
    world.start();
    for (const name of ['a', 'b', 'c']) {
      world.addNode(name);
      await world.run(1000);
    }
    assert.deepEqual(rangesIn(world), { a: ['10.244.0.0/24'], b: ['10.244.1.0/24'], c: [] });
    assert.deepEqual(world.events, ['Normal CIDRNotAvailable Node c status is now: CIDRNotAvailable']);
    await world.api.delete(nodes, { namespace: '', name: 'a' });
    await world.run(1000);
    assert.deepEqual(rangesIn(world), { b: ['10.244.1.0/24'], c: ['10.244.0.0/24'] });
    await world.stop();
  });

  it('gives no range twice despite crashes and late events', async () => {
    for (let seed = 1; seed <= 12; seed++) {
      const world = worldOf(
        { clusters: [{ cidr: '10.244.0.0/20', nodeLength: 24 }], excluded: ['10.244.3.0/24'] },
        {
          seed,
          lagMs: 3000,
        },
      );
      world.start();
      for (let at = 0; at < 12; at++) {
        world.addNode(`node-${at}`);
        if (at % 3 === 0) world.restartAtWrite(1 + (seed % 3));
        if (at === 7) await world.api.delete(nodes, { namespace: '', name: 'node-2' });
        await world.run(1500);
      }
      await world.run(10_000);
      const given = Object.values(rangesIn(world)).flat();
      assert.deepEqual([given.length, new Set(given).size], [11, 11], `seed ${seed}: ${given.join(' ')}`);
      assert.ok(!given.includes('10.244.3.0/24'));
      await world.stop();
    }
  });
});
