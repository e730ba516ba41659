import assert from 'node:assert/strict';
import { it } from 'node:test';
import { clusterTrustBundles } from '../../../api/client/resource-types.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { apiServerBundleName, createClusterTrustBundlePublisher } from './cluster-trust-bundle-publisher.ts';

const SIGNER = 'kubernetes.io/kube-apiserver-serving';

async function setUp(rootCa = 'PEM'): Promise<ControllerWorld> {
  const world = new ControllerWorld({ make: (options) => [createClusterTrustBundlePublisher({ ...options, rootCa })] });
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
