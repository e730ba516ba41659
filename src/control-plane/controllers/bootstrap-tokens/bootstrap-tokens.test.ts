import assert from 'node:assert/strict';
import { it } from 'node:test';
import { configMaps, secrets } from '../../../api/client/resource-types.ts';
import type { Secret } from '../../../api/core/secret.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { createBootstrapSigner } from './bootstrap-signer.ts';
import { createTokenCleaner } from './token-cleaner.ts';
import { detachedSignature, signingTokenOf } from './token-secret.ts';

const infoKey = { namespace: 'kube-public', name: 'cluster-info' };
const nowMs = Date.parse('2026-01-01T00:00:00Z');

function token(id: string, more: Readonly<Record<string, string>> = {}): Secret {
  const data = Object.entries({
    'token-id': id,
    'token-secret': 'f395accd246ae52d',
    'usage-bootstrap-signing': 'true',
    ...more,
  }).map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
  return {
    metadata: { namespace: 'kube-system', name: `bootstrap-token-${id}`, uid: id },
    type: 'bootstrap.kubernetes.io/token',
    data: Object.fromEntries(data),
  };
}

async function setUp(
  all: readonly Secret[],
  data: Record<string, string> = { kubeconfig: 'content' },
): Promise<ControllerWorld> {
  const world = new ControllerWorld({
    make: (options) => [createBootstrapSigner(options), createTokenCleaner(options)],
  });
  world.api.seed(configMaps, { metadata: { ...infoKey, uid: 'info' }, data });
  for (const each of all) world.api.seed(secrets, each);
  world.start();
  await world.clock.advance(1_000);
  return world;
}
const info = (world: ControllerWorld): Record<string, string> => world.api.peek(configMaps, infoKey)?.data ?? {};

it('computes exactly the same signature as kubeadm', () => {
  // This is the output of cluster-bootstrap's own implementation.
  const token = { id: 'joshua', secret: 'my voice is my passcode' };
  assert.equal(
    detachedSignature('', token),
    'eyJhbGciOiJIUzI1NiIsImtpZCI6Impvc2h1YSJ9..7Ui1ALizW4jXphVUB7xUqC9vLYLL9RZeOFfVLoB7Tgk',
  );
  assert.equal(
    detachedSignature('Hello from the other side. I must have called a thousand times.', token),
    'eyJhbGciOiJIUzI1NiIsImtpZCI6Impvc2h1YSJ9..VShe2taLd-YTrmWuRkcL_8QTNDHYxQIEBsAYYiIj1_8',
  );
});

it('only a token that exists, is not expired and has the signing usage signs', () => {
  assert.deepEqual(signingTokenOf(token('abcdef'), nowMs), { id: 'abcdef', secret: 'f395accd246ae52d' });
  const wrongs: readonly Record<string, string>[] = [
    { 'usage-bootstrap-signing': 'false' },
    { 'token-secret': '' },
    { 'token-id': 'other1' },
    { expiration: '2025-12-31T23:59:59Z' },
    { expiration: 'soon' },
  ];
  for (const wrong of wrongs) {
    assert.equal(signingTokenOf(token('abcdef', wrong), nowMs), undefined, JSON.stringify(wrong));
  }
  assert.equal(signingTokenOf({ ...token('abcdef'), type: 'Opaque' }, nowMs), undefined);
  assert.notEqual(signingTokenOf(token('abcdef', { expiration: '2026-01-01T01:00:00+00:30' }), nowMs), undefined);
});

it('every token signs cluster-info, and a signature is removed with its token or when the address changes', async () => {
  const world = await setUp([
    token('aaaaaa'),
    token('bbbbbb'),
    { ...token('cccccc'), metadata: { namespace: 'default', name: 'bootstrap-token-cccccc', uid: 'c' } },
  ]);
  assert.deepEqual(Object.keys(info(world)).sort(), ['jws-kubeconfig-aaaaaa', 'jws-kubeconfig-bbbbbb', 'kubeconfig']);
  const before = info(world)['jws-kubeconfig-aaaaaa'];
  world.api.remove(secrets, { namespace: 'kube-system', name: 'bootstrap-token-bbbbbb' });
  world.api.change(configMaps, infoKey, (map) => ({ ...map, data: { ...map.data, kubeconfig: 'moved' } }));
  await world.clock.advance(1_000);
  assert.deepEqual(Object.keys(info(world)).sort(), ['jws-kubeconfig-aaaaaa', 'kubeconfig']);
  assert.notEqual(info(world)['jws-kubeconfig-aaaaaa'], before);
  const { length } = world.api.writes;
  await world.clock.advance(600_000);
  assert.equal(world.api.writes.length, length);
  const nothing = await setUp([token('aaaaaa')], { other: 'x' });
  assert.deepEqual(info(nothing), { other: 'x' });
  await Promise.all([world.stop(), nothing.stop()]);
});

it('an expired token is deleted, and its signature is removed', async () => {
  const world = await setUp([
    token('aaaaaa', { expiration: '2026-01-01T00:10:00Z' }),
    token('bbbbbb'),
    token('cccccc', { expiration: 'never' }),
  ]);
  const left = (): string[] =>
    world.api
      .all(secrets)
      .map(({ metadata }) => metadata.uid)
      .sort();
  assert.deepEqual(left(), ['aaaaaa', 'bbbbbb']);
  await world.clock.advance(598_000);
  assert.deepEqual(left(), ['aaaaaa', 'bbbbbb']);
  await world.clock.advance(2_000);
  assert.deepEqual([left(), Object.keys(info(world)).sort()], [['bbbbbb'], ['jws-kubeconfig-bbbbbb', 'kubeconfig']]);
  await world.stop();
});
