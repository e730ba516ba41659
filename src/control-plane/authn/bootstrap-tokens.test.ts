import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { secrets } from '../../api/client/resource-types.ts';
import { silentLogger } from '../../base/log.ts';
import { FakeObjectReader } from '../model/testing/fake-object-reader.ts';
import { createBootstrapTokenAuthenticator } from './bootstrap-tokens.ts';

const nowMs = Date.UTC(2026, 5, 1);
const good = {
  'token-id': 'abcdef',
  'token-secret': '0123456789abcdef',
  'usage-bootstrap-authentication': 'true',
  expiration: '2026-06-02T00:00:00Z',
  'auth-extra-groups': 'system:bootstrappers:kubeadm:default-node-token',
};

async function ask(
  changes: Readonly<Record<string, string | undefined>>,
  metadata: object = {},
  type = 'bootstrap.kubernetes.io/token',
  token = 'abcdef.0123456789abcdef',
): Promise<unknown> {
  const reader = new FakeObjectReader();
  const data = Object.fromEntries(
    Object.entries({ ...good, ...changes }).flatMap(([key, value]) =>
      value === undefined ? [] : [[key, Buffer.from(value).toString('base64')]],
    ),
  );
  reader.put(secrets, {
    metadata: { name: 'bootstrap-token-abcdef', namespace: 'kube-system', uid: '', ...metadata },
    type,
    data,
  });
  return createBootstrapTokenAuthenticator({ reader, nowMs: () => nowMs, log: silentLogger }).authenticateToken(token);
}

describe('bootstrap tokens', () => {
  it('authenticate as their own users, in the groups of the secret', async () => {
    assert.deepEqual(await ask({}), {
      outcome: 'user',
      user: {
        name: 'system:bootstrap:abcdef',
        groups: ['system:bootstrappers', 'system:bootstrappers:kubeadm:default-node-token'],
      },
    });
    assert.deepEqual(await ask({ 'auth-extra-groups': undefined, expiration: undefined }), {
      outcome: 'user',
      user: { name: 'system:bootstrap:abcdef', groups: ['system:bootstrappers'] },
    });
  });

  it('are invalid when any part of the secret is invalid', async () => {
    const none = { outcome: 'none' };
    assert.deepEqual(await ask({ 'token-secret': '0123456789abcdee' }), none);
    assert.deepEqual(await ask({ 'token-id': 'abcdeg' }), none);
    assert.deepEqual(await ask({ expiration: '2026-05-31T00:00:00Z' }), none);
    assert.deepEqual(await ask({ expiration: 'soon' }), none, 'what cannot be read has expired');
    assert.deepEqual(await ask({ 'usage-bootstrap-authentication': undefined }), none);
    assert.deepEqual(
      await ask({ 'auth-extra-groups': 'system:masters' }),
      none,
      'only groups of bootstrappers may be given',
    );
    for (const group of [
      'system:masters:system:bootstrappers:a',
      'system:bootstrappers:a,system:masters',
      'system:bootstrappers:a\nb',
      'system:bootstrappers:-',
    ])
      assert.deepEqual(await ask({ 'auth-extra-groups': group }), none, group);
    assert.deepEqual(await ask({}, {}, 'Opaque'), none);
    assert.deepEqual(await ask({}, { deletionTimestamp: '2026-06-01T00:00:00Z' }), none);
  });

  it('are whole tokens, without anything before or after', async () => {
    const type = 'bootstrap.kubernetes.io/token';
    for (const token of [
      'xabcdef.0123456789abcdef',
      'abcdef.0123456789abcdefx',
      'abcdef.0123456789abcdef\n',
      'abcdef',
      '',
    ])
      assert.deepEqual(await ask({}, {}, type, token), { outcome: 'none' }, token);
  });
});
