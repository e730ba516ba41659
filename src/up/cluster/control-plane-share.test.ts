import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Role } from '../../api/rbac/role.ts';
import type { Secret } from '../../api/core/secret.ts';
import {
  argumentsOf,
  etcdFileNames,
  openShare,
  sealedOf,
  sealShare,
  shareArguments,
  sharedFiles,
  shareObjects,
} from './control-plane-share.ts';

const share = {
  serviceRange: '10.96.0.0/16',
  podRange: '10.112.0.0/16',
  apiPort: 6443,
  args: ['--storage-backend=etcd3', '--etcd-servers=https://192.0.2.9:2379'],
  files: {
    ...Object.fromEntries(sharedFiles.map((name) => [name, `content of ${name}`])),
    'etcd/etcd-cafile.pem': 'CA',
  },
};
const key = Buffer.alloc(32, 1);
const nonce = Buffer.alloc(12, 2);

describe('the data for an API server on another machine', () => {
  it('can be opened only with its key', () => {
    const sealed = sealShare(share, key, nonce);
    assert.deepEqual(openShare(sealed, key), share);
    assert.doesNotMatch(Buffer.from(sealed, 'base64').toString('latin1'), /content|10\.96/);
    assert.throws(() => openShare(sealed, Buffer.alloc(32, 3)), /--certificate-key does not open/);
  });

  it('is rejected when a single bit was changed, or when it is truncated', () => {
    const sealed = Buffer.from(sealShare(share, key, nonce), 'base64');
    for (let at = 0; at < sealed.length; at += 7) {
      const changed = Buffer.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ 1;
      assert.throws(() => openShare(changed.toString('base64'), key), /does not open/);
    }
    for (const length of [0, 11, 28, sealed.length - 1])
      assert.throws(() => openShare(sealed.subarray(0, length).toString('base64'), key), /does not open/);
  });

  it('contains no file outside the folder for certificates, and all required files', () => {
    const strange = { ...share, files: { ...share.files, '../../etc/passwd': 'x' } };
    const { 'ca.key': _, ...rest } = share.files as Record<string, string>;
    for (const wrong of [strange, { ...share, files: rest }, { ...share, args: 'x' }, { ...share, apiPort: '6443' }])
      assert.throws(() => openShare(sealShare(wrong as never, key, nonce), key), /in another form/);
  });

  it('can be read only with its token, and is deleted with the token', () => {
    const owner = { apiVersion: 'v1', kind: 'Secret', name: 'bootstrap-token-abcdef', uid: 'u' };
    const [secret, role, binding] = shareObjects('abcdef', owner, 'sealed').map(({ object }) => object);
    assert.equal(sealedOf((secret as Secret).data), 'sealed');
    assert.deepEqual((role as Role).rules, [
      { apiGroups: [''], resources: ['secrets'], resourceNames: ['kubelet-ts-control-plane-abcdef'], verbs: ['get'] },
    ]);
    assert.deepEqual((binding as unknown as { subjects: unknown }).subjects, [
      { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'system:bootstrap:abcdef' },
    ]);
    for (const object of [secret, role, binding]) assert.deepEqual(object?.metadata.ownerReferences, [owner]);
  });
});

describe('flags that API servers of one cluster share', () => {
  const etcd = ['--storage-backend=etcd3', '--etcd-servers=https://192.0.2.9:2379'];

  it('leave out those of one machine, and include the certificates of etcd', () => {
    const given = [
      ...[...etcd, '--etcd-cafile=/a/ca.pem', '--bind-address=192.0.2.1', '--advertise-address=192.0.2.1'],
      ...['--secure-port=1', '--token-auth-file=/etc/tokens.csv', '--v=2'],
    ];
    const { args, etcdFiles, needed } = shareArguments(given);
    assert.deepEqual(args, [...etcd, '--token-auth-file=/etc/tokens.csv', '--v=2']);
    assert.deepEqual(needed, ['/etc/tokens.csv']);
    assert.deepEqual(etcdFileNames(etcdFiles), [['etcd/etcd-cafile.pem', '/a/ca.pem']]);
    assert.deepEqual(argumentsOf(share, '/pki'), [...share.args, '--etcd-cafile=/pki/etcd/etcd-cafile.pem']);
  });

  it('require a store that the other machine can reach', () => {
    assert.throws(() => shareArguments([]), /is a file of this machine/);
    assert.throws(() => shareArguments(['--storage-backend=etcd3']), /not the default/);
    for (const url of ['http://127.0.0.1:2379', 'http://localhost:2379', 'https://[::1]:2379'])
      assert.throws(() => shareArguments([...etcd, `--etcd-servers=https://192.0.2.9:2379,${url}`]), {
        message: `--etcd-servers must name addresses that the other machine reaches, not ${url}`,
      });
  });
});
