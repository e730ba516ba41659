import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nodes, pods, secrets, serviceAccounts } from '../../../api/client/resource-types.ts';
import type { Secret } from '../../../api/core/secret.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { FakeObjectReader } from '../../model/testing/fake-object-reader.ts';
import type { AuthenticationResult } from '../../model/user-info.ts';
import { checkBoundToken, checkLegacyToken } from './check-binding.ts';

const NOW_MS = Date.UTC(2026, 0, 1);
const account = { metadata: { name: 'robot', namespace: 'web', uid: 'sa-uid' } };
const pod = buildPod({ 'metadata.name': 'p', 'metadata.namespace': 'web', 'metadata.uid': 'pod-uid' });
const secret: Secret = {
  metadata: { name: 's', namespace: 'web', uid: 'secret-uid' },
  data: { token: Buffer.from('the token').toString('base64') },
};
const node = { metadata: { name: 'n', namespace: '', uid: 'node-uid' }, spec: {}, status: {} };
const deletedAt = (seconds: number): object => ({ deletionTimestamp: new Date(NOW_MS + seconds * 1000).toISOString() });

function filled(): FakeObjectReader {
  const reader = new FakeObjectReader();
  reader.put(serviceAccounts, account);
  reader.put(pods, pod);
  reader.put(secrets, secret);
  reader.put(nodes, node);
  return reader;
}

/** Returns the name of the user, or why there is none. */
const told = (result: AuthenticationResult): string =>
  result.outcome === 'user' ? result.user.name : result.outcome === 'failed' ? result.error : result.outcome;
const USER = 'system:serviceaccount:web:robot';
const GONE = 'service account token has been invalidated';

describe('a bound token', () => {
  const claims = { namespace: 'web', serviceaccount: { name: 'robot', uid: 'sa-uid' } };
  const check = (more: object, reader = filled()): string =>
    told(checkBoundToken(reader, { 'kubernetes.io': { ...claims, ...more } }, NOW_MS));

  it('counts while the account and what it is bound to are the same', () => {
    for (const more of [
      {},
      { pod: { name: 'p', uid: 'pod-uid' } },
      { secret: { name: 's', uid: 'secret-uid' } },
      { node: { name: 'n', uid: 'node-uid' } },
      { pod: { name: 'p', uid: 'pod-uid' }, node: { name: 'gone', uid: 'any' } },
    ])
      assert.equal(check(more), USER, JSON.stringify(more));
  });

  it('ends with the object that it is bound to, and never counts without the uid of it', () => {
    for (const [kind, name, uid] of [
      ['pod', 'p', 'pod-uid'],
      ['secret', 's', 'secret-uid'],
      ['node', 'n', 'node-uid'],
    ] as const) {
      assert.equal(check({ [kind]: { name: 'other', uid } }), GONE);
      const mismatch = (claim: string) =>
        `${kind} UID (${uid}) does not match service account ${kind} ref claim (${claim})`;
      assert.equal(check({ [kind]: { name, uid: 'old' } }), mismatch('old'));
      assert.equal(check({ [kind]: { name } }), mismatch(''));
    }
    assert.equal(check({ serviceaccount: { name: 'nobody', uid: 'sa-uid' } }), 'serviceaccounts "nobody" not found');
    assert.equal(check({ serviceaccount: { name: 'robot' } }), 'service account UID (sa-uid) does not match claim ()');
    assert.equal(check({ namespace: 'other' }), 'serviceaccounts "robot" not found');
  });

  it('counts for a minute after the deletion of the account or of what it is bound to', () => {
    for (const [seconds, ends] of [
      [0, false],
      [-60, false],
      [-61, true],
    ] as const) {
      const reader = filled();
      reader.put(pods, { ...pod, metadata: { ...pod.metadata, ...deletedAt(seconds) } });
      assert.equal(check({ pod: { name: 'p', uid: 'pod-uid' } }, reader), ends ? GONE : USER);
      reader.put(serviceAccounts, { metadata: { ...account.metadata, ...deletedAt(seconds) } });
      assert.equal(check({}, reader), ends ? 'service account web/robot has been deleted' : USER);
    }
  });
});

describe('a token that is kept in a secret', () => {
  const prefix = 'kubernetes.io/serviceaccount/';
  const claims = {
    sub: USER,
    [`${prefix}namespace`]: 'web',
    [`${prefix}secret.name`]: 's',
    [`${prefix}service-account.name`]: 'robot',
    [`${prefix}service-account.uid`]: 'sa-uid',
  };
  const used: string[] = [];
  const check = (more: object, reader = filled(), token = 'the token'): string =>
    told(checkLegacyToken(reader, { ...claims, ...more }, token, ({ metadata }) => used.push(metadata.name)));

  it('counts while the secret holds it, and its use is noted', () => {
    used.length = 0;
    assert.deepEqual([check({}), used], [USER, ['s']]);
    assert.deepEqual([check({}, filled(), 'the tokem'), used], ["Token does not match server's copy", ['s']]);
  });

  it('has all its claims, and they agree', () => {
    for (const [claim, name] of [
      ['sub', 'sub'],
      [`${prefix}namespace`, 'namespace'],
      [`${prefix}secret.name`, 'secretName'],
      [`${prefix}service-account.name`, 'serviceAccountName'],
      [`${prefix}service-account.uid`, 'serviceAccountUID'],
    ] as const)
      for (const value of ['', 7, undefined]) assert.equal(check({ [claim]: value }), `${name} claim is missing`);
    assert.equal(check({ sub: 'system:serviceaccount:web:admin' }), 'sub claim is invalid');
    assert.equal(check({ [`${prefix}secret.name`]: 'other' }), 'Token has been invalidated');
    assert.equal(
      check({ [`${prefix}service-account.uid`]: 'old' }),
      'ServiceAccount UID (sa-uid) does not match claim (old)',
    );
  });

  it('ends with the secret and with the account, at once', () => {
    const changed = (change: (reader: FakeObjectReader) => void): string => {
      const reader = filled();
      change(reader);
      return check({}, reader);
    };
    const deleted = deletedAt(0);
    assert.equal(
      changed((reader) => reader.put(secrets, { ...secret, metadata: { ...secret.metadata, ...deleted } })),
      'Token has been invalidated',
    );
    assert.equal(
      changed((reader) => reader.put(secrets, { metadata: secret.metadata })),
      "Token does not match server's copy",
    );
    assert.equal(
      changed((reader) => reader.put(serviceAccounts, { metadata: { ...account.metadata, ...deleted } })),
      'ServiceAccount web/robot has been deleted',
    );
    assert.equal(
      changed((reader) => reader.remove(serviceAccounts, account.metadata)),
      'serviceaccounts "robot" not found',
    );
    const labelled = (value: string): Secret => ({
      ...secret,
      metadata: { ...secret.metadata, labels: { 'kubernetes.io/legacy-token-invalid-since': value } },
    });
    assert.match(
      changed((reader) => reader.put(secrets, labelled('2026-01-01'))),
      /marked invalid/,
    );
    assert.equal(
      changed((reader) => reader.put(secrets, labelled(''))),
      USER,
    );
  });
});
