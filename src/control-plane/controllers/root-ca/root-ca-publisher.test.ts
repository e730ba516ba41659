import assert from 'node:assert/strict';
import { it } from 'node:test';
import { configMaps, namespaces } from '../../../api/client/resource-types.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { createRootCaPublisher } from './root-ca-publisher.ts';

const key = { namespace: 'shop', name: 'kube-root-ca.crt' };

async function setUp(rootCa = 'PEM', phase: 'Active' | 'Terminating' = 'Active'): Promise<ControllerWorld> {
  const world = new ControllerWorld({ make: (options) => [createRootCaPublisher({ ...options, rootCa })] });
  const leaving = phase === 'Terminating' ? { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['x/y'] } : {};
  world.api.seed(namespaces, {
    metadata: { namespace: '', name: 'shop', uid: 'shop', ...leaving },
    spec: {},
    status: { phase },
  });
  world.start();
  await world.clock.advance(1_000);
  return world;
}

it('every namespace has a ConfigMap with the root CA, which is restored after changes', async () => {
  const world = await setUp();
  const first = world.api.peek(configMaps, key);
  assert.deepEqual(
    [first?.data, Object.keys(first?.metadata.annotations ?? {})],
    [{ 'ca.crt': 'PEM' }, ['kubernetes.io/description']],
  );
  world.api.remove(configMaps, key);
  await world.clock.advance(1_000);
  assert.deepEqual(world.api.peek(configMaps, key)?.data, { 'ca.crt': 'PEM' });
  world.api.change(configMaps, key, (map) => ({
    ...map,
    data: { 'ca.crt': 'FORGED', more: 'x' },
    metadata: { ...map.metadata, annotations: { mine: 'x' } },
  }));
  await world.clock.advance(1_000);
  const restored = world.api.peek(configMaps, key);
  assert.deepEqual([restored?.data, restored?.metadata.annotations?.['mine']], [{ 'ca.crt': 'PEM' }, 'x']);
  const { length } = world.api.writes;
  world.api.seed(configMaps, { metadata: { namespace: 'shop', name: 'other', uid: 'other' } });
  await world.clock.advance(60_000);
  assert.equal(world.api.writes.length, length);
  await world.stop();
});

it('a new namespace gets it at once, a terminating one does not', async () => {
  const world = await setUp('PEM', 'Terminating');
  assert.deepEqual(world.api.writes, []);
  world.api.seed(namespaces, { metadata: { namespace: '', name: 'new', uid: 'new' }, spec: {} });
  await world.clock.advance(1_000);
  assert.deepEqual(world.api.writes, ['create configmaps new/kube-root-ca.crt']);
  await world.stop();
});

it('a namespace that becomes terminating causes no error; any other rejection is retried', async () => {
  const world = await setUp();
  const terminating = new ApiStatusError('Forbidden', 'because it is being terminated', {
    causes: [{ reason: 'NamespaceTerminating', message: 'x' }],
  });
  world.api.fail('create', 'configmaps', terminating);
  world.api.remove(configMaps, key);
  await world.clock.advance(5_000);
  assert.equal(world.api.peek(configMaps, key), undefined);
  world.api.fail('create', 'configmaps', new ApiStatusError('InternalError', 'no'), 3);
  world.api.seed(namespaces, { metadata: { namespace: '', name: 'new', uid: 'new' }, spec: {} });
  await world.clock.advance(5_000);
  assert.equal(world.api.peek(configMaps, { ...key, namespace: 'new' })?.data?.['ca.crt'], 'PEM');
  await world.stop();
});
