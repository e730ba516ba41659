import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { noNames } from '../../../pki/certificate-template.ts';
import { writeCertificate } from '../../../pki/x509-writer.ts';
import { parseKubeconfig } from '../../../client/kubeconfig.ts';
import { judgeBootstrapSecret } from '../../authn/bootstrap-tokens.ts';
import { bootstrapKubeconfig, publicKeyHash, tokenCommand, tokenSecret } from './token-command.ts';

const nowMs = Date.UTC(2026, 0, 1);

describe('a join token', () => {
  it('is one the API server accepts, for its time, in kubeadm’s group', () => {
    const secret = tokenSecret('abcdef.0123456789abcdef', nowMs + 60_000);
    const asked = { id: 'abcdef', part: '0123456789abcdef' };
    assert.deepEqual(judgeBootstrapSecret(secret, { ...asked, nowMs }), {
      name: 'system:bootstrap:abcdef',
      groups: ['system:bootstrappers', 'system:bootstrappers:kubeadm:default-node-token'],
    });
    assert.equal(judgeBootstrapSecret(secret, { ...asked, nowMs: nowMs + 61_000 }), 'has expired');
    assert.equal(Buffer.from(tokenSecret('a.b', undefined).data['expiration'] ?? '', 'base64').toString(), '');
  });

  it('stands in a kubeconfig that agents read', () => {
    const { server, ca, token } = parseKubeconfig(
      bootstrapKubeconfig('https://192.0.2.1:6443', 'CA', 'abcdef.0123456789abcdef'),
      '/x/bootstrap.conf',
    );
    assert.deepEqual([server, ca, token], ['https://192.0.2.1:6443', 'CA', 'abcdef.0123456789abcdef']);
  });

  it('comes with the digest of the authority’s key, as kubeadm counts it', () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const ca = writeCertificate(
      {
        subject: { commonName: 'ca' },
        publicKey: createPublicKey(privateKey),
        notBeforeMs: nowMs,
        notAfterMs: nowMs + 1e9,
        isAuthority: true,
        keyUsages: ['certSign'],
        extendedKeyUsages: [],
        altNames: noNames,
      },
      { selfSignedBy: privateKey },
    );
    assert.match(publicKeyHash(ca), /^sha256:[0-9a-f]{64}$/);
  });

  it('is not made where the words are wrong', async () => {
    for (const args of [[], ['delete'], ['create', 'x'], ['create', '--ttl', 'soon'], ['create', '--nothing']]) {
      let said = '';
      assert.equal(
        await tokenCommand(args, { write: (text) => (said += text), defaultDataDir: '/nowhere', nowMs }),
        1,
        args.join(' '),
      );
      assert.match(said, /usage: kubelet-control-plane token create/);
    }
  });

  it('prints its usage when asked for help', async () => {
    for (const args of [['--help'], ['create', '--help'], ['-h']]) {
      let said = '';
      assert.equal(await tokenCommand(args, { write: (text) => (said += text), defaultDataDir: '/nowhere', nowMs }), 0);
      assert.match(said, /^usage: kubelet-control-plane token create/);
    }
  });
});
