import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { test } from 'node:test';
import { extendedUsages, noNames } from '../../pki/certificate-template.ts';
import { writeCertificate } from '../../pki/x509-writer.ts';
import type { AuthenticationResult } from '../model/user-info.ts';
import { createRequestHeaderAuthenticator } from './request-header-authenticator.ts';

const nowMs = Date.parse('2026-01-31T12:00:00Z');
const newKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
const life = { notBeforeMs: nowMs - 1000, notAfterMs: nowMs + 86_400_000, altNames: noNames };

function authority(): { readonly certificate: string; readonly key: KeyObject } {
  const key = newKey();
  const subject = { commonName: 'front-proxy-ca' };
  const template = { ...life, subject, publicKey: createPublicKey(key), isAuthority: true };
  return {
    certificate: writeCertificate(
      { ...template, keyUsages: ['certSign'] as const, extendedKeyUsages: [] },
      { selfSignedBy: key },
    ),
    key,
  };
}

const client = (of: ReturnType<typeof authority>): string =>
  writeCertificate(
    {
      ...life,
      subject: { commonName: 'front-proxy-client' },
      publicKey: createPublicKey(newKey()),
      keyUsages: ['digitalSignature'] as const,
      extendedKeyUsages: [extendedUsages.clientAuth],
    },
    of,
  );

const own = authority();
const proxy = client(own);
const stranger = client(authority());
const derOf = (pem: string): Uint8Array => new X509Certificate(pem).raw;

function ask(
  certificatePem: string | undefined,
  headers: Readonly<Record<string, readonly string[]>>,
  allowedNames: readonly string[] = ['front-proxy-client'],
): Promise<AuthenticationResult> {
  const authenticator = createRequestHeaderAuthenticator({
    authorities: () => own.certificate,
    allowedNames,
    usernameHeaders: ['X-Remote-User'],
    uidHeaders: ['X-Remote-Uid'],
    groupHeaders: ['X-Remote-Group'],
    extraHeadersPrefixes: ['X-Remote-Extra-'],
    nowMs: () => nowMs,
  });
  return authenticator.authenticate({
    ...(certificatePem !== undefined && { clientCertificate: { der: derOf(certificatePem) } }),
    readHeaders: () => new Map(Object.entries(headers)),
  });
}

test('a front proxy names the user; each header line is one group', async () => {
  assert.deepEqual(
    await ask(proxy, {
      'x-remote-user': [Buffer.from('jané', 'utf8').toString('latin1')],
      'x-remote-uid': ['42'],
      'x-remote-group': ['dev', 'a,system:masters'],
      'x-remote-extra-example.org%2Fscopes': ['read', 'write'],
    }),
    {
      outcome: 'user',
      user: {
        name: 'jané',
        uid: '42',
        groups: ['dev', 'a,system:masters'],
        extra: { __proto__: null, 'example.org/scopes': ['read', 'write'] },
      },
    },
  );
});

test('headers of clients that are not the front proxy are ignored', async () => {
  const headers = { 'x-remote-user': ['admin'], 'x-remote-group': ['system:masters'] };
  assert.deepEqual(await ask(undefined, headers), { outcome: 'none' });
  assert.deepEqual(await ask(stranger, headers), { outcome: 'none' });
  assert.deepEqual(await ask(proxy, {}), { outcome: 'none' });
});

test('a proxy with the right authority and another name is refused, unless all names are allowed', async () => {
  const headers = { 'x-remote-user': ['jane'] };
  assert.deepEqual(await ask(proxy, headers, ['other']), {
    outcome: 'failed',
    error: 'x509: subject with cn=front-proxy-client is not in the allowed list',
  });
  assert.equal((await ask(proxy, headers, [])).outcome, 'user');
});
