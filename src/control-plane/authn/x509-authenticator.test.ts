import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { describe, it } from 'node:test';
import { extendedUsages, noNames } from '../../pki/certificate-template.ts';
import { writeCertificate } from '../../pki/x509-writer.ts';
import { createX509Authenticator } from './x509-authenticator.ts';

const startMs = Date.UTC(2026, 5, 1);
const day = 86_400_000;

function authority(): { certificate: string; key: KeyObject } {
  const { privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const template = {
    subject: { commonName: 'ca' },
    publicKey: createPublicKey(key),
    notBeforeMs: startMs,
    notAfterMs: startMs + 100 * day,
    isAuthority: true,
    keyUsages: ['certSign'] as const,
  };
  return {
    certificate: writeCertificate({ ...template, extendedKeyUsages: [], altNames: noNames }, { selfSignedBy: key }),
    key,
  };
}

function client(
  from: { certificate: string; key: KeyObject },
  commonName: string,
  organizations: readonly string[] = [],
  usages: readonly string[] = [extendedUsages.clientAuth],
): Uint8Array {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const template = {
    subject: { commonName, organizations },
    publicKey,
    notBeforeMs: startMs,
    notAfterMs: startMs + 10 * day,
    keyUsages: ['digitalSignature'] as const,
    extendedKeyUsages: usages,
    altNames: noNames,
  };
  return new X509Certificate(writeCertificate(template, from)).raw;
}

function setUp() {
  const mine = authority();
  const state = { nowMs: startMs + day, bundle: mine.certificate };
  const authenticator = createX509Authenticator({ authorities: () => state.bundle, nowMs: () => state.nowMs });
  const ask = (der: Uint8Array) => authenticator.authenticate({ clientCertificate: { der } });
  return { mine, state, ask, authenticator };
}

describe('client certificates', () => {
  it('say user and groups, and which certificate it was', async () => {
    const { mine, ask, authenticator } = setUp();
    const der = client(mine, 'jané', ['devs', 'a\nb', 'system:masters']);
    const fingerprint = new X509Certificate(der).fingerprint256.replaceAll(':', '').toLowerCase();
    assert.deepEqual(await ask(der), {
      outcome: 'user',
      user: {
        name: 'jané',
        groups: ['devs', 'a\nb', 'system:masters'],
        extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${fingerprint}`] },
      },
    });
    assert.deepEqual(await ask(client(mine, '')), { outcome: 'none' });
    assert.deepEqual(await authenticator.authenticate({}), { outcome: 'none' });
  });

  it('must be of one of the authorities, and for clients', async () => {
    const { mine, state, ask } = setUp();
    const other = authority();
    const failed = async (der: Uint8Array): Promise<string> => {
      const result = await ask(der);
      return result.outcome === 'failed' ? result.error : result.outcome;
    };
    const stranger = client(other, 'jane');
    assert.match(await failed(stranger), /signed by unknown authority$/);
    assert.match(await failed(client(mine, 'jane', [], [extendedUsages.serverAuth])), /incompatible key usage$/);
    assert.equal(await failed(client(mine, 'jane', [], [])), 'user', 'without usages it is for all');
    assert.equal(await failed(client(mine, 'jane', [], [extendedUsages.any])), 'user');
    assert.match(await failed(new Uint8Array([1, 2, 3])), /cannot be read/);
    const renamed = Buffer.from(Buffer.from(client(mine, 'jane')).toString('latin1').replace('jane', 'root'), 'latin1');
    assert.equal(new X509Certificate(renamed).subject, 'CN=root');
    assert.match(await failed(renamed), /signed by unknown authority$/, 'the name of the authority is not enough');
    state.bundle = `${mine.certificate}${other.certificate}`;
    assert.equal(await failed(stranger), 'user', 'an exchanged bundle counts at once');
    state.bundle = mine.certificate;
    assert.match(await failed(stranger), /unknown authority/, 'and so does a removed authority');
  });

  it('count only in their time, on connections that stay open too', async () => {
    const { mine, state, ask } = setUp();
    const der = client(mine, 'jane');
    assert.equal((await ask(der)).outcome, 'user');
    state.nowMs = startMs + 11 * day;
    assert.deepEqual(await ask(der), {
      outcome: 'failed',
      error:
        'verifying certificate failed: x509: certificate has expired or is not yet valid: current time 2026-06-12T00:00:00Z is after 2026-06-11T00:00:00Z',
    });
    state.nowMs = startMs - day;
    assert.match(JSON.stringify(await ask(der)), /is before 2026-06-01T00:00:00Z/);
  });
});
