import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { ipAddresses, serviceCidrs } from '../../../api/client/resource-types.ts';
import { newServiceAddress } from '../../../api/networking/service-address.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import type { WorldOptions } from '../../controller-runtime/testing/controller-world.ts';
import { createServiceCidrController } from './service-cidr-controller.ts';

const web = { namespace: 'default', name: 'web' };
const key = (name: string) => ({ namespace: '', name });

function setUp(options: Partial<WorldOptions> = {}): ControllerWorld {
  return new ControllerWorld({ make: (each) => [createServiceCidrController(each)], ...options });
}

const add = (world: ControllerWorld, name: string, ...cidrs: string[]): unknown =>
  world.api.seed(serviceCidrs, { metadata: { ...key(name), uid: name }, spec: { cidrs } });
const ready = (world: ControllerWorld, name: string): string | undefined => {
  const cidr = world.api.peek(serviceCidrs, key(name));
  const condition = cidr?.status?.conditions?.find(({ type }) => type === 'Ready');
  return cidr === undefined ? 'gone' : condition && `${condition.status} ${condition.reason}`;
};

it('a range becomes ready, and is removed ten seconds after its deletion', async () => {
  const world = setUp();
  add(world, 'more', '10.1.0.0/24');
  world.start();
  await world.run(1_000);
  assert.equal(ready(world, 'more'), 'True ');
  assert.deepEqual(world.api.peek(serviceCidrs, key('more'))?.metadata.finalizers, [
    'networking.k8s.io/service-cidr-finalizer',
  ]);
  await world.api.delete(serviceCidrs, key('more'));
  await world.run(9_000);
  assert.equal(ready(world, 'more'), 'True ');
  await world.run(2_000);
  assert.equal(ready(world, 'more'), 'gone');
  await world.stop();
});

it('a range stays while a service has an address that only it covers', async () => {
  for (const release of ['address', 'cover'] as const) {
    const world = setUp();
    add(world, 'more', '10.1.0.0/24');
    world.api.seed(ipAddresses, newServiceAddress('10.1.0.7', web));
    world.start();
    await world.run(1_000);
    await world.api.delete(serviceCidrs, key('more'));
    await world.run(20_000);
    assert.equal(ready(world, 'more'), 'False Terminating');
    if (release === 'address') world.api.remove(ipAddresses, key('10.1.0.7'));
    else add(world, 'larger', '10.1.0.0/16');
    await world.run(1_000);
    assert.equal(ready(world, 'more'), 'gone');
    await world.stop();
  }
});

it('despite crashes, a range with addresses is kept, and an unused one is deleted', () =>
  fc.assert(
    fc.asyncProperty(
      fc.subarray(['10.1.0.0/24', '10.1.0.0/16', '10.2.0.0/24'], { minLength: 1 }),
      fc.subarray(['10.1.0.7', '10.1.9.9', '10.2.0.1', '10.3.0.1']),
      fc.integer({ min: 1, max: 4 }),
      fc.nat(1_000),
      async (ranges, taken, writes, seed) => {
        const world = setUp({ seed, lagMs: 600 });
        for (const range of ranges) add(world, range.replace(/\W/g, '-'), range);
        for (const ip of taken) world.api.seed(ipAddresses, newServiceAddress(ip, web));
        world.start();
        world.restartAtWrite(writes);
        await world.run(3_000);
        for (const { metadata } of world.api.all(serviceCidrs))
          await world.api.delete(serviceCidrs, key(metadata.name));
        await world.run(20_000);
        const covered = (ip: string, names: readonly string[]): boolean =>
          names.some((name) =>
            name === '10-1-0-0-16'
              ? ip.startsWith('10.1.')
              : ip.startsWith(name.startsWith('10-1') ? '10.1.0.' : '10.2.0.'),
          );
        const left = world.api.all(serviceCidrs).map(({ metadata }) => metadata.name);
        const before = ranges.map((range) => range.replace(/\W/g, '-'));
        for (const ip of taken) assert.equal(covered(ip, left), covered(ip, before), ip);
        for (const name of left)
          assert.ok(
            taken.some((ip) => covered(ip, [name])),
            name,
          );
        for (const { metadata } of world.api.all(ipAddresses)) world.api.remove(ipAddresses, key(metadata.name));
        await world.run(20_000);
        assert.deepEqual(world.api.all(serviceCidrs), []);
        await world.stop();
      },
    ),
    { numRuns: 30 },
  ));
