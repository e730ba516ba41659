import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { keyOf } from '../../../api/client/resource-type.ts';
import { secrets, serviceAccounts } from '../../../api/client/resource-types.ts';
import type { Secret } from '../../../api/core/secret.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import type { WorldOptions } from '../../controller-runtime/testing/controller-world.ts';
import { createServiceAccountTokenController } from './service-account-token-controller.ts';

const robot = { namespace: 'default', name: 'robot' };
const tokenSecret = (name: string, more: Partial<Secret> = {}): Secret => ({
  metadata: { namespace: 'default', name, uid: '', annotations: { 'kubernetes.io/service-account.name': 'robot' } },
  type: 'kubernetes.io/service-account-token',
  ...more,
});

function setUp(options: Partial<WorldOptions> = {}): ControllerWorld {
  return new ControllerWorld({
    make: (each) => [
      createServiceAccountTokenController({
        ...each,
        rootCa: 'the authority',
        signLegacyToken: ({ uid }, name) => Promise.resolve(`token of ${uid} in ${name}`),
      }),
    ],
    ...options,
  });
}

const decoded = ({ data = {} }: Secret): Record<string, string> =>
  Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]));

it('fills a Secret with token, CA and namespace, and keeps an existing token', async () => {
  const world = setUp();
  world.api.seed(serviceAccounts, { metadata: { ...robot, uid: 'r-1' } });
  world.api.seed(secrets, tokenSecret('a'));
  world.api.seed(secrets, tokenSecret('b', { data: { token: Buffer.from('old').toString('base64'), extra: 'eA==' } }));
  world.api.seed(secrets, { ...tokenSecret('c'), type: 'Opaque' });
  world.start();
  await world.run(1_000);
  const common = { 'ca.crt': 'the authority', namespace: 'default' };
  assert.deepEqual(world.api.all(secrets).map(decoded), [
    { ...common, token: 'token of r-1 in a' },
    { ...common, token: 'old', extra: 'x' },
    {},
  ]);
  assert.deepEqual(world.api.peek(secrets, { namespace: 'default', name: 'a' })?.metadata.annotations, {
    'kubernetes.io/service-account.name': 'robot',
    'kubernetes.io/service-account.uid': 'r-1',
  });
  const before = world.api.writes.length;
  await world.run(10_000);
  assert.equal(world.api.writes.length, before);
  await world.stop();
});

it('deletes the Secrets of deleted or recreated accounts, and removes references to deleted Secrets', async () => {
  const world = setUp();
  const references = [{ name: 'a' }, { name: 'kept' }];
  world.api.seed(serviceAccounts, { metadata: { ...robot, uid: 'r-1' }, secrets: references });
  world.api.seed(secrets, tokenSecret('a'));
  world.api.seed(secrets, tokenSecret('b'));
  world.api.seed(secrets, {
    ...tokenSecret('orphan'),
    metadata: { ...tokenSecret('orphan').metadata, annotations: { 'kubernetes.io/service-account.name': 'other' } },
  });
  world.start();
  await world.run(1_000);
  assert.deepEqual(
    world.api.all(secrets).map(({ metadata }) => metadata.name),
    ['a', 'b'],
  );
  world.api.remove(secrets, { namespace: 'default', name: 'a' });
  await world.run(1_000);
  assert.deepEqual(world.api.peek(serviceAccounts, robot)?.secrets, [{ name: 'kept' }]);
  world.api.remove(serviceAccounts, robot);
  world.api.seed(serviceAccounts, { metadata: { ...robot, uid: 'r-2' } });
  await world.run(1_000);
  assert.deepEqual(world.api.all(secrets), []);
  await world.stop();
});

it('despite crashes and late events, each Secret has a token of its existing account, or is deleted', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.integer({ min: 1, max: 4 }), fc.constantFrom('secret', 'lose', 'again')), { maxLength: 8 }),
      fc.nat(1_000),
      async (steps, seed) => {
        const world = setUp({ seed, lagMs: 700 });
        let lives = 1;
        world.api.seed(serviceAccounts, { metadata: { ...robot, uid: 'r-1' } });
        world.start();
        for (const [index, [writes, what]] of steps.entries()) {
          world.restartAtWrite(writes);
          if (what === 'secret') world.api.seed(secrets, tokenSecret(`s-${index}`));
          const [first] = world.api.all(secrets);
          if (what === 'lose' && first !== undefined) world.api.remove(secrets, keyOf(first));
          if (what === 'again') {
            world.api.remove(serviceAccounts, robot);
            world.api.seed(serviceAccounts, { metadata: { ...robot, uid: `r-${++lives}` } });
          }
          await world.run(1_000);
        }
        await world.run(10_000);
        for (const secret of world.api.all(secrets))
          assert.equal(decoded(secret)['token'], `token of r-${lives} in ${secret.metadata.name}`);
        await world.stop();
      },
    ),
    { numRuns: 30 },
  ));
