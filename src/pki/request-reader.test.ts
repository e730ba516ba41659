import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { describe, it } from 'node:test';
import { isKind } from '../base/errors.ts';
import { toPem } from './pem.ts';
import { checkRequestSignature, readCertificateRequest } from './request-reader.ts';
import {
  altNames,
  attribute,
  bits,
  constructed,
  dnsName,
  extension,
  extensionRequest,
  ids,
  objectId,
  plainSubject,
  requestDer,
  requestPem,
  sequence,
  set,
  subject,
  tags,
  tlv,
} from './testing/der-builder.ts';
import type { RawRequest } from './testing/der-builder.ts';

const elliptic = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
const [jane, devs] = [attribute(ids.cn, 'jane'), attribute(ids.o, 'devs')];
const plain: RawRequest = { subject: plainSubject(devs, jane), key: elliptic };
const rsaWithSha256 = sequence(objectId('1.2.840.113549.1.1.11'), tlv(0x05, ''));

function problemOf(pem: string): string {
  try {
    readCertificateRequest(pem);
    return 'none';
  } catch (error) {
    assert.ok(isKind(error, 'Invalid'), String(error));
    return (error as Error).message;
  }
}
/**
 * Created by Go's x509.CreateCertificateRequest for pkix.Name{CommonName: "jane", Organization: {"ops", "devs"},
 * OrganizationalUnit: {"team-b", "team-a"}}.
 */
const fromGo = `-----BEGIN CERTIFICATE REQUEST-----
MIIBBTCBrAIBADBKMRkwCgYDVQQKEwNvcHMwCwYDVQQKEwRkZXZzMR4wDQYDVQQL
EwZ0ZWFtLWEwDQYDVQQLEwZ0ZWFtLWIxDTALBgNVBAMTBGphbmUwWTATBgcqhkjO
PQIBBggqhkjOPQMBBwNCAATZGyeVk32At3N2/6Z4ROlmzM5uH8jye7qjnAKbZ7+T
ktESLXlz0rMtnGoxY0Q3Sl+dQYfjLL2DeZ7sARv0NRB9oAAwCgYIKoZIzj0EAwID
SAAwRQIgATropcB6A6BzzbzMDu8apNIaVRrMuKnhQRMPrQpSi8MCIQCytlABbweJ
o+FEUbDwOignnCTT+MFlB/O1cdDxWbn6Wg==
-----END CERTIFICATE REQUEST-----
`;
const withNames = (...names: readonly Uint8Array[]): RawRequest => ({
  ...plain,
  attributes: [extensionRequest(altNames(...names))],
});
const withSubject = (name: Uint8Array): RawRequest => ({ ...plain, subject: name });

describe('what a request asks for', () => {
  it('is read where there is one reading of it', () => {
    const { attributes, commonName, organizations, dnsNames, ipAddresses, emailAddresses, uris } =
      readCertificateRequest(
        requestPem({
          ...withNames(
            dnsName('*.a.example'),
            tlv(0x81, 'a@b.example'),
            tlv(0x86, 'spiffe://x/y'),
            tlv(0x87, Uint8Array.of(192, 0, 2, 1)),
            tlv(0x87, Buffer.from('fd000000000000000000000000000001', 'hex')),
          ),
          subject: plainSubject(attribute(ids.ou, 'Büro'), devs, jane, attribute(ids.o, 'ops', tags.printable)),
        }),
      );
    assert.deepEqual(attributes, [
      { name: 'organizationalUnit', value: 'Büro' },
      { name: 'organization', value: 'devs' },
      { name: 'commonName', value: 'jane' },
      { name: 'organization', value: 'ops' },
    ]);
    assert.deepEqual(
      [commonName, organizations, dnsNames, ipAddresses, emailAddresses, uris],
      ['jane', ['devs', 'ops'], ['*.a.example'], ['192.0.2.1', 'fd00::1'], ['a@b.example'], ['spiffe://x/y']],
    );
    assert.deepEqual(readCertificateRequest(requestPem(withSubject(sequence()))).attributes, []);
  });

  it('may have the values of one type in one RDN, as Go and what is written in it asks for two groups', () => {
    const teams = set(attribute(ids.ou, 'team-a'), attribute(ids.ou, 'team-b'));
    for (const pem of [
      requestPem(withSubject(subject(set(devs, attribute(ids.o, 'ops')), teams, set(jane)))),
      fromGo,
    ]) {
      const { attributes, commonName, organizations } = readCertificateRequest(pem);
      assert.deepEqual([commonName, organizations], ['jane', ['ops', 'devs']]);
      assert.deepEqual(
        attributes.map(({ value }) => value),
        ['ops', 'devs', 'team-a', 'team-b', 'jane'],
      );
    }
  });

  it('may come with words around it, with other attributes and extensions, and from OpenSSL', () => {
    const challenge = sequence(objectId('1.2.840.113549.1.9.7'), set(tlv(tags.utf8, 'secret')));
    const authority = extension('2.5.29.19', sequence(tlv(0x01, Uint8Array.of(0xff))), tlv(0x01, Uint8Array.of(0xff)));
    assert.deepEqual(
      readCertificateRequest(
        requestPem({ ...plain, attributes: [challenge, extensionRequest(authority, altNames(dnsName('a')))] }),
      ).dnsNames,
      ['a'],
    );
    for (const key of [
      ['-newkey', 'rsa:2048'],
      ['-newkey', 'ed25519'],
      ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-384'],
    ]) {
      const pem = execFileSync(
        'openssl',
        [
          'req',
          '-new',
          ...key,
          '-nodes',
          '-keyout',
          '/dev/null',
          '-text',
          '-utf8',
          '-subj',
          '/O=Büro/CN=jane@example.com',
          '-addext',
          'subjectAltName=DNS:a',
        ],
        { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
      );
      const { commonName, organizations, dnsNames } = readCertificateRequest(pem);
      assert.deepEqual([commonName, organizations, dnsNames], ['jane@example.com', ['Büro'], ['a']]);
    }
  });
});

const oddSubjects: readonly (readonly [what: string, subject: Uint8Array, problem: RegExp])[] = [
  [
    'an RDN of several attributes',
    subject(set(devs, attribute(ids.unknown, 'x')), set(jane)),
    /attributes of several types/,
  ],
  ['a name in the RDN of its organization', subject(set(devs, jane)), /attributes of several types/],
  ['an RDN of two common names', subject(set(jane, attribute(ids.cn, 'root'))), /more than one commonName/],
  [
    'an RDN of organizations out of order',
    subject(tlv(0x31, [attribute(ids.o, 'ops'), attribute(ids.o, 'dev')])),
    /not in the order of DER/,
  ],
  ['an RDN that has one organization twice', subject(tlv(0x31, [devs, devs])), /not in the order of DER/],
  [
    'an RDN of 129 organizations',
    subject(set(...Array.from({ length: 129 }, (_, index) => attribute(ids.o, `group-${index}`)))),
    /more than 128 attributes/,
  ],
  ['an empty RDN', subject(set(), set(jane)), /is empty/],
  [
    'an attribute that is unknown',
    plainSubject(jane, attribute(ids.unknown, 'x')),
    /attribute 1\.2\.3\.4, which no certificate carries/,
  ],
  ['the uid of a user', plainSubject(jane, attribute(ids.uid, '0')), /which no certificate carries/],
  ['two common names', plainSubject(jane, attribute(ids.cn, 'root')), /more than one commonName/],
  [
    'two serial numbers',
    plainSubject(attribute('2.5.4.5', '1'), attribute('2.5.4.5', '2')),
    /more than one serialNumber/,
  ],
  ['an empty value', plainSubject(attribute(ids.o, '')), /is empty/],
  ['a value in pieces', plainSubject(constructed(ids.o, 'system:', 'masters')), /tag 0x2c/],
  ...(
    [
      ['numeric', 0x12],
      ['t61', 0x14],
      ['ia5', 0x16],
      ['universal', 0x1c],
      ['bmp', 0x1e],
    ] as const
  ).map(
    ([kind, tag]) =>
      [
        `a value of type ${kind}`,
        plainSubject(attribute(ids.o, 'abcd', tag)),
        /neither PrintableString nor UTF8String/,
      ] as const,
  ),
  [
    'a PrintableString with other characters',
    plainSubject(attribute(ids.o, 'a@b', tags.printable)),
    /no PrintableString/,
  ],
  ['bytes that are no UTF-8', plainSubject(attribute(ids.o, Uint8Array.of(0xc0, 0x80))), /not UTF-8/],
  ['half of a surrogate pair', plainSubject(attribute(ids.o, Uint8Array.of(0xed, 0xa0, 0x80))), /not UTF-8/],
  ['NUL', plainSubject(attribute(ids.o, 'system:masters\0')), /control characters/],
  ['a line break', plainSubject(attribute(ids.cn, 'a\nO=b')), /control characters/],
  [
    'a second value',
    plainSubject(sequence(objectId(ids.o), tlv(tags.utf8, 'a'), tlv(tags.utf8, 'b'))),
    /more than expected/,
  ],
  ['no value', plainSubject(sequence(objectId(ids.o))), /cut off/],
  [
    'an object identifier that is not minimal',
    plainSubject(sequence(tlv(0x06, Uint8Array.of(0x55, 0x04, 0x80, 0x0a)), tlv(tags.utf8, 'a'))),
    /not minimal/,
  ],
  [
    'an object identifier that ends early',
    plainSubject(sequence(tlv(0x06, Uint8Array.of(0x55, 0x04, 0x8a)), tlv(tags.utf8, 'a'))),
    /cut off/,
  ],
  [
    'an object identifier of a huge number',
    plainSubject(sequence(tlv(0x06, Uint8Array.of(0x55, 0xff, 0xff, 0xff, 0xff, 0x7f)), tlv(tags.utf8, 'a'))),
    /too large/,
  ],
  [
    'a length that is not minimal',
    plainSubject(sequence(objectId(ids.o), tlv(tags.utf8, 'a', { lengthBytes: 1 }))),
    /not minimal/,
  ],
  ['an indefinite length', subject(Uint8Array.of(0x31, 0x80, ...jane, 0, 0)), /indefinite/],
  ['129 attributes', plainSubject(...Array.from({ length: 129 }, () => devs)), /more than 128 attributes/],
  ['an RDN that is a SEQUENCE', subject(sequence(jane)), /tag 0x30/],
];

const oddNames: readonly (readonly [what: string, attributes: readonly Uint8Array[], problem: RegExp])[] = [
  [
    'NUL in a DNS name',
    [extensionRequest(altNames(dnsName('a.example\0.b')))],
    /a DNS name of the subject alternative names is not well-formed/,
  ],
  ['other letters in a DNS name', [extensionRequest(altNames(dnsName('é.example')))], /a DNS name/],
  ['a comma in a DNS name', [extensionRequest(altNames(dnsName('a, DNS:b')))], /a DNS name/],
  ['an empty DNS name', [extensionRequest(altNames(dnsName('')))], /a DNS name/],
  ['a long DNS name', [extensionRequest(altNames(dnsName('a'.repeat(254))))], /a DNS name/],
  ...[0, 3, 5, 8, 15, 17, 32].map(
    (length) =>
      [
        `an address of ${length} bytes`,
        [extensionRequest(altNames(tlv(0x87, new Uint8Array(length))))],
        /an IP address/,
      ] as const,
  ),
  ['a line break in an email address', [extensionRequest(altNames(tlv(0x81, 'a@b\nc')))], /an email address/],
  ['a space in a URI', [extensionRequest(altNames(tlv(0x86, 'a:b c')))], /a URI/],
  [
    'a directory name',
    [extensionRequest(altNames(tlv(0xa4, [plain.subject])))],
    /of a kind that no certificate carries/,
  ],
  [
    'a name in pieces',
    [extensionRequest(altNames(tlv(0xa2, [dnsName('a')])))],
    /of a kind that no certificate carries/,
  ],
  ['257 of them', [extensionRequest(altNames(...Array.from({ length: 257 }, () => dnsName('a'))))], /more than 256/],
  ['no names', [extensionRequest(altNames())], /are empty/],
  [
    'bytes after the names',
    [extensionRequest(extension(ids.subjectAltName, Buffer.concat([sequence(dnsName('a')), sequence(dnsName('b'))])))],
    /bytes after/,
  ],
  ['names twice', [extensionRequest(altNames(dnsName('a')), altNames(dnsName('b')))], /2\.5\.29\.17 occurs twice/],
  [
    'another extension twice',
    [extensionRequest(extension('2.5.29.19', sequence()), extension('2.5.29.19', sequence()))],
    /2\.5\.29\.19 occurs twice/,
  ],
  [
    'two requests for extensions',
    [extensionRequest(altNames(dnsName('a'))), extensionRequest(altNames(dnsName('b')))],
    /1\.2\.840\.113549\.1\.9\.14 of the request occurs twice/,
  ],
  [
    'two values of that request',
    [
      sequence(
        objectId(ids.extensionRequest),
        tlv(0x31, [sequence(altNames(dnsName('a'))), sequence(altNames(dnsName('b')))]),
      ),
    ],
    /bytes after the requested extensions/,
  ],
  [
    'critical as false',
    [extensionRequest(extension(ids.subjectAltName, sequence(dnsName('a')), tlv(0x01, Uint8Array.of(0))))],
    /critical/,
  ],
  [
    'critical as one',
    [extensionRequest(extension(ids.subjectAltName, sequence(dnsName('a')), tlv(0x01, Uint8Array.of(1))))],
    /critical/,
  ],
];

describe('a request is refused', () => {
  for (const [what, name, problem] of oddSubjects)
    it(`for ${what} in its subject`, () => assert.match(problemOf(requestPem(withSubject(name))), problem));
  for (const [what, attributes, problem] of oddNames)
    it(`for ${what} in its names`, () => assert.match(problemOf(requestPem({ ...plain, attributes })), problem));

  const keys: readonly (readonly [
    what: string,
    request: Partial<RawRequest> & { readonly key: KeyObject },
    problem: RegExp,
  ])[] = [
    [
      'RSA key of 1024 bits',
      { key: generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey, algorithm: rsaWithSha256 },
      /2048 to 8192 bits, this one has 1024/,
    ],
    ['RSA key with the exponent 1', { key: elliptic, publicKey: rsaKey(1n) }, /exponent|cannot be read/],
    ['RSA key with a huge exponent', { key: elliptic, publicKey: rsaKey(2n ** 64n + 1n) }, /exponent/],
    [
      'RSA-PSS key',
      { key: generateKeyPairSync('rsa-pss', { modulusLength: 2048 }).privateKey, algorithm: rsaWithSha256 },
      /rsa-pss|cannot be read/,
    ],
    ['key on secp256k1', { key: generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).privateKey }, /curve secp256k1/],
    [
      'key for agreement',
      { key: elliptic, publicKey: generateKeyPairSync('x25519').publicKey.export({ type: 'spki', format: 'der' }) },
      /type x25519/,
    ],
    ['point in its short form', { key: elliptic, publicKey: compressedKey() }, /not in the expected encoding/],
    [
      'key that did not sign',
      {
        key: elliptic,
        publicKey: generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ type: 'spki', format: 'der' }),
      },
      /not by the key of the request/,
    ],
    [
      'signature by SHA-1',
      { key: elliptic, algorithm: sequence(objectId('1.2.840.10045.4.1')), digest: 'sha1' },
      /algorithm 1\.2\.840\.10045\.4\.1 of the signature is not supported/,
    ],
    [
      'signature said to be by another kind of key',
      { key: elliptic, algorithm: rsaWithSha256 },
      /not by the key of the request/,
    ],
    ['version of the future', { key: elliptic, version: tlv(0x02, Uint8Array.of(1)) }, /version/],
  ];
  for (const [what, request, problem] of keys) {
    it(`for a ${what}, by any signer`, () => {
      const pem = requestPem({ ...plain, ...request });
      assert.match(problemOf(pem), problem);
      assert.throws(() => checkRequestSignature(pem), problem);
    });
  }

  it('for bytes that are not its own', () => {
    const der = requestDer(plain);
    const pem = toPem('CERTIFICATE REQUEST', der);
    assert.equal(problemOf(pem), 'none');
    assert.match(problemOf(toPem('CERTIFICATE REQUEST', Buffer.concat([der, Uint8Array.of(0)]))), /bytes after/);
    assert.match(problemOf(toPem('CERTIFICATE REQUEST', der.subarray(0, -1))), /cut off/);
    assert.match(problemOf(toPem('CERTIFICATE REQUEST', sequence(der, bits(der)))), /asn1/);
    assert.match(problemOf(toPem('NEW CERTIFICATE REQUEST', der)), /PEM block type must be CERTIFICATE REQUEST/);
    assert.match(problemOf(`${pem}${pem}`), /there must be one block/);
    const base64 = pem.split('\n').slice(1, -2).join('\n');
    const hidden = `-----BEGIN CERTIFICATE REQUEST-----\nProc-Type: 4\n\n${base64}\n-----END CERTIFICATE REQUEST-----\n`;
    assert.match(problemOf(hidden), /not base64/);
    assert.match(problemOf(`${hidden}${pem}`), /there must be one block/);
    assert.match(problemOf(pem.replace('MI', 'M!I')), /not base64/);
    assert.match(problemOf(`${' '.repeat(65_536)}${pem}`), /longer than 65536/);
  });
});

/** An RSA key with this exponent. Its private key is discarded. */
function rsaKey(exponent: bigint): Buffer {
  const { n = '' } = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' });
  const hex = exponent.toString(16);
  const number = (bytes: Buffer): Buffer =>
    tlv(0x02, (bytes[0] ?? 0) >= 0x80 ? Buffer.concat([Uint8Array.of(0), bytes]) : bytes);
  return sequence(
    sequence(objectId('1.2.840.113549.1.1.1'), tlv(0x05, '')),
    bits(
      sequence(
        number(Buffer.from(n, 'base64url')),
        number(Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex')),
      ),
    ),
  );
}

function compressedKey(): Buffer {
  const { x = '', y = '' } = createPublicKey(elliptic).export({ format: 'jwk' });
  const sign = (Buffer.from(y, 'base64url').at(-1) ?? 0) & 1;
  return sequence(
    sequence(objectId('1.2.840.10045.2.1'), objectId('1.2.840.10045.3.1.7')),
    bits(Buffer.concat([Uint8Array.of(2 + sign), Buffer.from(x, 'base64url')])),
  );
}
