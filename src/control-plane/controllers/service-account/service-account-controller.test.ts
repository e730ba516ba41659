import assert from 'node:assert/strict';
import { it } from 'node:test';
import { namespaces, serviceAccounts } from '../../../api/client/resource-types.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { createServiceAccountController } from './service-account-controller.ts';

const seedNamespace = (world: ControllerWorld, name: string, leaving = false): unknown =>
  world.api.seed(namespaces, {
    metadata: {
      namespace: '',
      name,
      uid: name,
      ...(leaving && { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['x/y'] }),
    },
    spec: {},
  });

async function setUp(): Promise<ControllerWorld> {
  const world = new ControllerWorld({ make: (options) => [createServiceAccountController(options)] });
  seedNamespace(world, 'shop');
  seedNamespace(world, 'leaving', true);
  world.start();
  await world.clock.advance(1_000);
  return world;
}

it('every active namespace has its default account, which is restored after deletion; other accounts are not', async () => {
  const world = await setUp();
  assert.deepEqual(world.api.writes, ['create serviceaccounts shop/default']);
  world.api.seed(serviceAccounts, { metadata: { namespace: 'shop', name: 'mine', uid: 'mine' } });
  world.api.remove(serviceAccounts, { namespace: 'shop', name: 'mine' });
  world.api.remove(serviceAccounts, { namespace: 'shop', name: 'default' });
  await world.clock.advance(1_000);
  assert.deepEqual(
    world.api.all(serviceAccounts).map(({ metadata }) => metadata.name),
    ['default'],
  );
  seedNamespace(world, 'new');
  await world.clock.advance(1_000);
  assert.deepEqual(world.api.writes.at(-1), 'create serviceaccounts new/default');
  await world.stop();
});

it('a failed creation is retried, and an existing default account is accepted', async () => {
  const world = await setUp();
  world.api.fail('create', 'serviceaccounts', new ApiStatusError('InternalError', 'no'), 3);
  seedNamespace(world, 'new');
  await world.clock.advance(5_000);
  assert.equal(world.api.writes.filter((each) => each.includes('new/default')).length, 4);
  world.restart();
  await world.clock.advance(5_000);
  assert.equal(world.api.writes.length, 5);
  await world.stop();
});
