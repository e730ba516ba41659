// For any request, OpenSSL reads from the certificate exactly what was checked, or there is no certificate.
import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { canonicalAddress } from '../../pki/canonical-address.ts';
import { noNames } from '../../pki/certificate-template.ts';
import { DerFields, derTags, readOnly } from '../../pki/der-reader.ts';
import { privateKeyPem } from '../../pki/pem.ts';
import { readCertificateRequest } from '../../pki/request-reader.ts';
import { arbitrarySubject } from '../../pki/testing/arbitrary-subject.ts';
import {
  altNames,
  attribute,
  certificateDer,
  dnsName,
  extension,
  extensionRequest,
  ids,
  plainSubject,
  requestPem,
  sequence,
  tlv,
} from '../../pki/testing/der-builder.ts';
import { opensslNames, opensslSubject } from '../../pki/testing/openssl-names.ts';
import { writeCertificate } from '../../pki/x509-writer.ts';
import { signerNames } from './request-policy.ts';
import type { SignerName } from './request-policy.ts';
import { createRequestSigner } from './request-signer.ts';

const nowMs = Date.UTC(2026, 5, 1);
const { privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const authority = writeCertificate(
  {
    subject: { commonName: 'ca' },
    publicKey: createPublicKey(key),
    notBeforeMs: nowMs,
    notAfterMs: nowMs + 86_400_000,
    isAuthority: true,
    keyUsages: ['certSign'],
    extendedKeyUsages: [],
    altNames: noNames,
  },
  { selfSignedBy: key },
);
const signer = createRequestSigner({
  authority: () => ({ certificate: authority, key: privateKeyPem(key) }),
  nowMs: () => nowMs,
});
const usages: Readonly<Record<SignerName, readonly string[]>> = {
  [signerNames.apiServerClient]: ['client auth'],
  [signerNames.apiServerClientKubelet]: ['digital signature', 'client auth'],
  [signerNames.kubeletServing]: ['digital signature', 'server auth'],
  [signerNames.legacyUnknown]: ['client auth', 'cert sign'],
};
const anySigner = fc.constantFrom(...Object.values(signerNames));
const quietly = async (request: string, signerName: SignerName): Promise<X509Certificate | undefined> => {
  const outcome = await signer({ signerName, request, usages: usages[signerName] }).catch(() => undefined);
  return outcome?.kind === 'signed' ? new X509Certificate(outcome.certificate) : undefined;
};

const rdnsIn = (subject: Uint8Array): number =>
  new DerFields(readOnly(subject, derTags.sequence, 'the subject').content).all(derTags.set, 'an RDN').length;

/** OpenSSL's short names. */
const shortNames: Readonly<Record<string, string>> = {
  commonName: 'CN',
  organization: 'O',
  country: 'C',
  organizationalUnit: 'OU',
  serialNumber: 'serialNumber',
  locality: 'L',
  province: 'ST',
  streetAddress: 'street',
  postalCode: 'postalCode',
};

describe('an issued certificate', () => {
  it('has the subject that was judged, or is not issued', async () => {
    const issued = new Map<SignerName, number>();
    let inOneRdn = 0;
    await fc.assert(
      fc.asyncProperty(arbitrarySubject, anySigner, async (subject, signerName) => {
        const names = signerName === signerNames.kubeletServing ? [extensionRequest(altNames(dnsName('n1')))] : [];
        const request = requestPem({ subject, key, attributes: names });
        const certificate = await quietly(request, signerName);
        if (certificate === undefined) return;
        issued.set(signerName, (issued.get(signerName) ?? 0) + 1);
        const { commonName, organizations, attributes = [] } = readCertificateRequest(request);
        const read = opensslSubject(certificate);
        if (rdnsIn(subject) < attributes.length) inOneRdn++;
        assert.deepEqual(
          read,
          opensslSubject(
            new X509Certificate(
              certificateDer({
                subject,
                key,
                authority: { certificate: authority, key },
                fromMs: nowMs,
                toMs: nowMs + 1000,
              }),
            ),
          ),
          'what was asked for, as OpenSSL reads it',
        );
        assert.deepEqual([read['CN'] ?? [], read['O'] ?? []], [commonName === '' ? [] : [commonName], organizations]);
        const judged = Object.groupBy(attributes, ({ name }) => shortNames[name] ?? name);
        assert.deepEqual(
          read,
          Object.fromEntries(Object.entries(judged).map(([name, each = []]) => [name, each.map(({ value }) => value)])),
        );
        if (signerName === signerNames.apiServerClientKubelet || signerName === signerNames.kubeletServing)
          assert.deepEqual(
            [read['O'], read['CN']?.length, read['CN']?.[0]?.startsWith('system:node:')],
            [['system:nodes'], 1, true],
          );
        else assert.ok(!(read['O'] ?? []).includes('system:masters'));
      }),
      { numRuns: 1200 },
    );
    assert.deepEqual(
      Object.values(signerNames).filter((name) => (issued.get(name) ?? 0) < 5),
      [],
      'too few were issued to say anything',
    );
    assert.ok(inOneRdn > 0, `only ${inOneRdn} with several values in one RDN`);
  });

  const word = fc.constantFrom(
    'a',
    'n1.example',
    '*.example',
    'a b',
    'a,DNS:b',
    'a"b',
    'é',
    'a\0b',
    'a\n',
    '',
    'spiffe://x/y',
    'a@b.example',
  );
  const bytes = fc.oneof(
    word.map((text) => Buffer.from(text)),
    word.map((text) => Buffer.from(text, 'latin1')),
    fc.uint8Array({ maxLength: 20 }),
  );
  const name = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.tuple(fc.constantFrom(0x81, 0x82, 0x82, 0x86), bytes).map(([tag, content]) => tlv(tag, content)),
    },
    {
      weight: 2,
      arbitrary: fc
        .constantFrom(4, 4, 16, 16, 0, 5, 8, 32)
        .chain((length) => fc.uint8Array({ minLength: length, maxLength: length }))
        .map((content) => tlv(0x87, content)),
    },
    {
      weight: 4,
      arbitrary: fc.constantFrom(dnsName('a'), dnsName('n1.example'), tlv(0x87, Uint8Array.of(192, 0, 2, 1))),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        tlv(0xa4, [plainSubject(attribute(ids.cn, 'x'))]),
        tlv(0x88, Uint8Array.of(0x2a)),
        tlv(0xa2, [dnsName('inner')]),
        tlv(0x82, 'x', { lengthBytes: 1 }),
      ),
    },
  );
  const extensions = fc
    .array(name, { maxLength: 4 })
    .chain((names) =>
      fc.constantFrom(
        [altNames(...names)],
        [altNames(...names)],
        [altNames(...names), altNames(dnsName('second'))],
        [
          extension('2.5.29.19', sequence(tlv(0x01, Uint8Array.of(0xff))), tlv(0x01, Uint8Array.of(0xff))),
          altNames(...names),
        ],
        [extension(ids.subjectAltName, names[0] ?? Buffer.alloc(0))],
      ),
    );
  const requested = fc.oneof(
    { weight: 5, arbitrary: extensions.map((each) => [extensionRequest(...each)]) },
    {
      weight: 1,
      arbitrary: extensions.map((each) => [extensionRequest(...each), extensionRequest(altNames(dnsName('other')))]),
    },
  );

  it('has those of the names that were judged which its signer gives, or is not issued', async () => {
    let count = 0;
    const subject = plainSubject(attribute(ids.o, 'system:nodes'), attribute(ids.cn, 'system:node:n1'));
    await fc.assert(
      fc.asyncProperty(requested, anySigner, async (attributes, signerName) => {
        const request = requestPem({ subject, key, attributes });
        const certificate = await quietly(request, signerName);
        if (certificate === undefined) return;
        count++;
        const { dnsNames, ipAddresses, emailAddresses, uris } = readCertificateRequest(request);
        const judged = [
          ...dnsNames.map((each) => `DNS:${each}`),
          ...emailAddresses.map((each) => `email:${each}`),
          ...ipAddresses.map((each) => `IP Address:${canonicalAddress(each)}`),
          ...uris.map((each) => `URI:${each}`),
        ];
        const given: Readonly<Record<SignerName, RegExp>> = {
          [signerNames.apiServerClient]: /^$/,
          [signerNames.apiServerClientKubelet]: /^$/,
          [signerNames.kubeletServing]: /^(DNS|IP Address):/,
          [signerNames.legacyUnknown]: /./,
        };
        const read = opensslNames(certificate).map((each) =>
          each.startsWith('IP Address:') ? `IP Address:${canonicalAddress(each.slice(11))}` : each,
        );
        assert.deepEqual(
          read,
          judged.filter((each) => given[signerName].test(each)),
        );
        assert.ok(!certificate.ca);
        assert.ok(
          judged.every((each) => /^[!-~ ]+$/.test(each)),
          'only printable characters',
        );
      }),
      { numRuns: 600 },
    );
    assert.ok(count > 10, `only ${count} were issued`);
  });
});
