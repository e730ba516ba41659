// For any subject of a client certificate, the user is the one that OpenSSL reads, or the certificate is rejected.
import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { it } from 'node:test';
import fc from 'fast-check';
import { noNames } from '../../pki/certificate-template.ts';
import { arbitrarySubject } from '../../pki/testing/arbitrary-subject.ts';
import { certificateDer } from '../../pki/testing/der-builder.ts';
import { opensslSubject } from '../../pki/testing/openssl-names.ts';
import { writeCertificate } from '../../pki/x509-writer.ts';
import { createX509Authenticator } from './x509-authenticator.ts';

const nowMs = Date.UTC(2026, 5, 1);
const toMs = nowMs + 86_400_000;
const { privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const template = {
  subject: { commonName: 'ca' },
  publicKey: createPublicKey(key),
  notBeforeMs: nowMs,
  notAfterMs: toMs,
  isAuthority: true,
  keyUsages: ['certSign'] as const,
  extendedKeyUsages: [],
  altNames: noNames,
};
const authority = { certificate: writeCertificate(template, { selfSignedBy: key }), key };
const authenticator = createX509Authenticator({ authorities: () => authority.certificate, nowMs: () => nowMs });

it('a client certificate with any subject has the user that OpenSSL reads, or is rejected', async () => {
  const seen = { user: 0, none: 0, failed: 0 };
  await fc.assert(
    fc.asyncProperty(arbitrarySubject, async (subject) => {
      const der = certificateDer({ subject, key, authority, fromMs: nowMs, toMs });
      const result = await authenticator.authenticate({ clientCertificate: { der } });
      seen[result.outcome]++;
      if (result.outcome === 'failed') return;
      const read = opensslSubject(new X509Certificate(der));
      if (result.outcome === 'none') return assert.equal(read['CN'], undefined);
      const { name, groups, uid } = result.user;
      assert.deepEqual(
        [[name], groups, uid === undefined ? undefined : [uid]],
        [read['CN'], read['O'] ?? [], read['1.3.6.1.4.1.57683.2']],
      );
      assert.ok([name, ...groups].every((text) => text !== '' && !/\p{Cc}/u.test(text)));
    }),
    { numRuns: 1200 },
  );
  assert.ok(Math.min(seen.user, seen.none, seen.failed) > 20, JSON.stringify(seen));
});
