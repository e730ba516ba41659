import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import { nodes, resourceSlices } from '../../../api/client/resource-types.ts';
import { silentLogger } from '../../../base/log.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { SliceCleanup } from './slice-cleanup.ts';

class Fixture {
  readonly clock = new FakeClock();
  readonly api = new FakeApiClient({ clock: this.clock });
  readonly cleanup = new SliceCleanup({
    client: this.api,
    nodeName: 'n',
    clock: this.clock,
    random: seededRandom(1),
    log: silentLogger,
  });

  async publish(driver: string, nodeName = 'n'): Promise<void> {
    const pool = { name: nodeName, generation: 1, resourceSliceCount: 1 };
    const metadata = { name: `${nodeName}-${driver}`, namespace: '', uid: '' };
    await this.api.create(resourceSlices, { metadata, spec: { driver, nodeName, pool } });
  }

  async join(): Promise<void> {
    await this.api.create(nodes, { metadata: { name: 'n', namespace: '', uid: '' }, spec: {} });
  }

  async slices(): Promise<readonly string[]> {
    const { items } = await this.api.list(resourceSlices, '');
    return items.map(({ metadata }) => metadata.name).sort();
  }
}

test('at the start all slices of the node go, as soon as the node exists', async () => {
  const world = new Fixture();
  for (const driver of ['a', 'b']) await world.publish(driver);
  await world.publish('a', 'other');
  world.cleanup.start();
  await world.clock.advance(10_000);
  assert.deepEqual(await world.slices(), ['n-a', 'n-b', 'other-a']);
  await world.join();
  await world.clock.advance(20_000);
  assert.deepEqual(await world.slices(), ['other-a']);
  await world.cleanup.stop();
});

test('slices of a driver go when it has been away for 30 s, and stay when it came back in time', async () => {
  const world = new Fixture();
  await world.join();
  world.cleanup.driverUsable('a', false);
  world.cleanup.driverUsable('b', false);
  for (const driver of ['a', 'b']) await world.publish(driver);
  await world.clock.advance(20_000);
  world.cleanup.driverUsable('a', false);
  world.cleanup.driverUsable('b', true);
  await world.clock.advance(9999);
  assert.deepEqual(await world.slices(), ['n-a', 'n-b']);
  await world.clock.advance(1);
  assert.deepEqual(await world.slices(), ['n-b']);
  await world.publish('a');
  world.cleanup.driverUsable('a', true);
  world.cleanup.driverUsable('a', false);
  await world.cleanup.stop();
  await world.clock.advance(60_000);
  assert.deepEqual(await world.slices(), ['n-a', 'n-b']);
});
