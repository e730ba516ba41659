import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { clusterTrustBundles } from '../../../api/client/resource-types.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { apiServerBundleName, createClusterTrustBundlePublisher } from './cluster-trust-bundle-publisher.ts';

const SIGNER = 'kubernetes.io/kube-apiserver-serving';

async function setUp(options: { readonly seed?: number; readonly lagMs?: number } = {}): Promise<ControllerWorld> {
  const world = new ControllerWorld({
    make: (each) => [createClusterTrustBundlePublisher({ ...each, rootCa: 'PEM' })],
    ...options,
  });
  for (const [name, signerName] of [
    ['kubernetes.io:kube-apiserver-serving:old', SIGNER],
    ['example.com:foo:v1', 'example.com/foo'],
  ] as const)
    world.api.seed(clusterTrustBundles, {
      metadata: { namespace: '', name, uid: name },
      spec: { signerName, trustBundle: 'OLD' },
    });
  world.start();
  await world.clock.advance(1_000);
  return world;
}

it('the CA of the API server is published under a name derived from its content, and older bundles are deleted', async () => {
  const world = await setUp();
  const name = apiServerBundleName('PEM');
  assert.match(name, /^kubernetes\.io:kube-apiserver-serving:[0-9a-f]{24}$/);
  assert.deepEqual(world.api.peek(clusterTrustBundles, { namespace: '', name })?.spec, {
    signerName: SIGNER,
    trustBundle: 'PEM',
  });
  assert.deepEqual(world.api.writes, [
    `create clustertrustbundles ${name}`,
    'delete clustertrustbundles kubernetes.io:kube-apiserver-serving:old',
  ]);
  await world.stop();
});

it('a bundle that is changed or deleted is restored', async () => {
  const world = await setUp();
  const key = { namespace: '', name: apiServerBundleName('PEM') };
  world.api.change(clusterTrustBundles, key, (bundle) => ({ ...bundle, spec: { ...bundle.spec, trustBundle: 'X' } }));
  await world.clock.advance(1_000);
  assert.equal(world.api.peek(clusterTrustBundles, key)?.spec.trustBundle, 'PEM');
  world.api.remove(clusterTrustBundles, key);
  await world.clock.advance(1_000);
  assert.equal(world.api.peek(clusterTrustBundles, key)?.spec.trustBundle, 'PEM');
  await world.stop();
});

it('ends with exactly its own bundle beside those of others, killed at any write and shown everything late', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ what: fc.constantFrom('change', 'remove', 'old'), tenths: fc.nat(12) }), { maxLength: 8 }),
      fc.nat(1_000),
      async (steps, seed) => {
        const world = await setUp({ seed, lagMs: 600 });
        const own = { namespace: '', name: apiServerBundleName('PEM') };
        for (const { what, tenths } of steps) {
          world.restartAtWrite(1 + (tenths % 3));
          const exists = world.api.peek(clusterTrustBundles, own) !== undefined;
          const late = { namespace: '', name: `kubernetes.io:kube-apiserver-serving:late${tenths}` };
          if (what === 'change' && exists)
            world.api.change(clusterTrustBundles, own, (each) => ({
              ...each,
              spec: { ...each.spec, trustBundle: 'X' },
            }));
          if (what === 'remove' && exists) world.api.remove(clusterTrustBundles, own);
          if (what === 'old' && world.api.peek(clusterTrustBundles, late) === undefined)
            world.api.seed(clusterTrustBundles, {
              metadata: { ...late, uid: late.name },
              spec: { signerName: SIGNER, trustBundle: 'OLD' },
            });
          await world.run(tenths * 100);
        }
        await world.run(120_000);
        assert.deepEqual(
          world.api
            .all(clusterTrustBundles)
            .map(({ metadata, spec }) => [metadata.name, spec.trustBundle])
            .sort(),
          [
            ['example.com:foo:v1', 'OLD'],
            [own.name, 'PEM'],
          ],
        );
        await world.stop();
      },
    ),
    { numRuns: 10 },
  ));
