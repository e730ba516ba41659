import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import fc from 'fast-check';
import { noNames } from '../../pki/certificate-template.ts';
import { isSignerName, issuedNames, refuseRequest, requestValidity, signerNames, usagesOf } from './request-policy.ts';
import type { SignerName } from './request-policy.ts';

const nowMs = Date.UTC(2026, 5, 1);
const minute = 60_000;
const day = 86_400_000;

describe('signers', () => {
  const node = { commonName: 'system:node:n1', organizations: ['system:nodes'], ...noNames };
  const client = ['key encipherment', 'digital signature', 'client auth'];
  const server = ['digital signature', 'server auth'];
  type Row = [signer: SignerName, change: object, usages: string[], refusal: string | undefined];
  const rows: Row[] = [
    [signerNames.apiServerClientKubelet, {}, client, undefined],
    [signerNames.apiServerClientKubelet, {}, ['digital signature', 'client auth'], undefined],
    [
      signerNames.apiServerClientKubelet,
      {},
      ['client auth'],
      'usages did not match [client auth digital signature key encipherment]',
    ],
    [
      signerNames.apiServerClientKubelet,
      {},
      [...client, 'server auth'],
      'usages did not match [client auth digital signature key encipherment]',
    ],
    [
      signerNames.apiServerClientKubelet,
      { organizations: ['system:nodes', 'system:masters'] },
      client,
      'subject organization is not system:nodes',
    ],
    [
      signerNames.apiServerClientKubelet,
      { commonName: 'admin' },
      client,
      'subject common name does not begin with system:node:',
    ],
    [signerNames.apiServerClientKubelet, { dnsNames: ['a'] }, client, 'DNS subjectAltNames are not allowed'],
    [signerNames.apiServerClientKubelet, { emailAddresses: ['a'] }, client, 'Email subjectAltNames are not allowed'],
    [signerNames.apiServerClientKubelet, { ipAddresses: ['::1'] }, client, 'IP subjectAltNames are not allowed'],
    [signerNames.apiServerClientKubelet, { uris: ['a:b'] }, client, 'URI subjectAltNames are not allowed'],
    [signerNames.kubeletServing, { dnsNames: ['n1'] }, server, undefined],
    [signerNames.kubeletServing, { ipAddresses: ['192.0.2.1'] }, [...server, 'key encipherment'], undefined],
    [signerNames.kubeletServing, {}, server, 'DNS or IP subjectAltName is required'],
    [
      signerNames.kubeletServing,
      { dnsNames: ['n1'], organizations: ['system:masters'] },
      server,
      'subject organization is not system:nodes',
    ],
    [
      signerNames.kubeletServing,
      { dnsNames: ['n1'], organizations: ['system:nodes', 'system:nodes'] },
      server,
      'subject organization is not system:nodes',
    ],
    [
      signerNames.kubeletServing,
      { dnsNames: ['n1'], emailAddresses: ['a'] },
      server,
      'Email subjectAltNames are not allowed',
    ],
    [signerNames.kubeletServing, { dnsNames: ['n1'], uris: ['a:b'] }, server, 'URI subjectAltNames are not allowed'],
    [
      signerNames.kubeletServing,
      { dnsNames: ['n1'] },
      client,
      'usages did not match [digital signature key encipherment server auth]',
    ],
    [
      signerNames.kubeletServing,
      { dnsNames: ['n1'], commonName: 'n1' },
      server,
      'subject common name does not begin with system:node:',
    ],
    [
      signerNames.apiServerClientKubelet,
      { commonName: 'system:node:' },
      client,
      'subject common name does not begin with system:node:',
    ],
    [
      signerNames.apiServerClientKubelet,
      { commonName: 'system:node:a/../b' },
      client,
      'subject common name does not begin with system:node:',
    ],
    [signerNames.apiServerClientKubelet, { commonName: `system:node:${'a.'.repeat(126)}b` }, client, undefined],
    [
      signerNames.apiServerClientKubelet,
      { commonName: `system:node:${'a.'.repeat(126)}bc` },
      client,
      'subject common name does not begin with system:node:',
    ],
    ...['a.B', 'B.a', '/a', 'a/', 'a.-b', 'a-.b', 'a..b', 'a b'].map(
      (name): Row => [
        signerNames.apiServerClientKubelet,
        { commonName: `system:node:${name}` },
        client,
        'subject common name does not begin with system:node:',
      ],
    ),
    [signerNames.apiServerClientKubelet, { commonName: 'system:node:a-1.b--2.c' }, client, undefined],
    [
      signerNames.apiServerClientKubelet,
      { commonName: 'system.node.n1' },
      client,
      'subject common name does not begin with system:node:',
    ],
    [signerNames.apiServerClient, { commonName: 'jane', organizations: [] }, ['client auth'], undefined],
    [
      signerNames.apiServerClient,
      { commonName: 'jane', organizations: ['devs', 'system:masters'] },
      ['client auth'],
      'subject organization system:masters is not allowed',
    ],
    [
      signerNames.legacyUnknown,
      { organizations: ['system:masters'] },
      ['client auth'],
      'subject organization system:masters is not allowed',
    ],
    [
      signerNames.apiServerClient,
      {},
      ['digital signature'],
      'missing required usage for client certificate: client auth',
    ],
    [signerNames.apiServerClient, {}, ['client auth', 'any'], 'invalid usage for client certificate: any'],
    [signerNames.legacyUnknown, { commonName: 'anything' }, ['code signing'], undefined],
  ];
  for (const [signer, change, usages, refusal] of rows) {
    it(`${signer} ${refusal === undefined ? 'signs' : 'refuses'} ${JSON.stringify(change)} for ${usages.join(', ')}`, () =>
      assert.equal(refuseRequest(signer, { ...node, ...change }, usages), refusal));
  }

  it('give no certificate that outlives its authority or what was asked for, and none for less than ten minutes', () => {
    const question = fc.record({
      expirationSeconds: fc.option(fc.integer({ min: -10, max: 40_000_000 }), { nil: undefined }),
      longestMs: fc.integer({ min: 60 * minute, max: 400 * day }),
      authorityNotAfterMs: fc.integer({ min: nowMs - day, max: nowMs + 500 * day }),
    });
    fc.assert(
      fc.property(question, (asked) => {
        const validity = requestValidity({ ...asked, nowMs });
        if ('expired' in validity) return assert.ok(asked.authorityNotAfterMs <= nowMs);
        const { notBeforeMs, notAfterMs } = validity;
        assert.equal(notBeforeMs, nowMs - 5 * minute);
        assert.ok(notAfterMs <= asked.authorityNotAfterMs && notAfterMs <= nowMs + asked.longestMs);
        if (asked.expirationSeconds !== undefined)
          assert.ok(notAfterMs <= nowMs + Math.max(10 * minute, asked.expirationSeconds * 1000));
        assert.ok(notAfterMs >= Math.min(asked.authorityNotAfterMs, nowMs + 10 * minute));
      }),
    );
  });

  it('copy only the names that their certificates are for', () => {
    const names = { dnsNames: ['a'], ipAddresses: ['::1'], emailAddresses: ['a@b'], uris: ['a:b'] };
    assert.deepEqual(
      Object.values(signerNames).map((signer) => issuedNames(signer, names)),
      [noNames, noNames, { ...noNames, dnsNames: ['a'], ipAddresses: ['::1'] }, names],
    );
  });

  it('extend only short validities by the five minutes before now', () => {
    const ask = { expirationSeconds: undefined, longestMs: 365 * day, authorityNotAfterMs: nowMs + 400 * day, nowMs };
    const lastsMs = (change: Partial<typeof ask> | { expirationSeconds: number }): number | string => {
      const validity = requestValidity({ ...ask, ...change });
      return 'expired' in validity ? validity.expired : validity.notAfterMs - nowMs;
    };
    assert.deepEqual(
      [
        lastsMs({}),
        lastsMs({ expirationSeconds: 8 * 3600 }),
        lastsMs({ expirationSeconds: 8 * 3600 - 1 }),
        lastsMs({ expirationSeconds: 1 }),
        lastsMs({ authorityNotAfterMs: nowMs + 1 }),
        lastsMs({ authorityNotAfterMs: nowMs }),
      ],
      [
        365 * day - 5 * minute,
        8 * 60 * minute - 5 * minute,
        8 * 60 * minute - 1000,
        10 * minute,
        1,
        `refusing to sign a certificate that expired in the past: NotAfter=${new Date(nowMs).toISOString()}`,
      ],
    );
  });
});

test('only the signers of the control plane are its own', () => {
  assert.deepEqual(
    [...Object.values(signerNames), 'example.com/mine', 'kubernetes.io/kube-apiserver-client/x', ''].map(isSignerName),
    [true, true, true, true, false, false, false],
  );
});

test('usages become bits and purposes of the certificate once each, and an unknown one is named', () => {
  assert.deepEqual(
    usagesOf(['signing', 'digital signature', 's/mime', 'email protection', 'any', 'crl sign', 'toString']),
    {
      keyUsages: ['digitalSignature', 'crlSign'],
      extendedKeyUsages: ['1.3.6.1.5.5.7.3.4', '2.5.29.37.0'],
      unknown: 'toString',
    },
  );
});
