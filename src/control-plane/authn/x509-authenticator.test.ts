import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { describe, it } from 'node:test';
import { extendedUsages, noNames } from '../../pki/certificate-template.ts';
import {
  attribute,
  certificateDer,
  constructed,
  ids,
  plainSubject,
  set,
  subject,
  tags,
  tlv,
} from '../../pki/testing/der-builder.ts';
import { writeCertificate } from '../../pki/x509-writer.ts';
import { createX509Authenticator } from './x509-authenticator.ts';

const startMs = Date.UTC(2026, 5, 1);
const day = 86_400_000;
const clientKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;

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

/** Creates a certificate with this subject, which no correct authority would issue. */
function raw(authority: { certificate: string; key: KeyObject }, subject: Uint8Array): Uint8Array {
  return certificateDer({ subject, key: clientKey, authority, fromMs: startMs, toMs: startMs + 10 * day });
}

function setUp() {
  const mine = authority();
  const state = { nowMs: startMs + day, bundle: mine.certificate };
  const authenticator = createX509Authenticator({ authorities: () => state.bundle, nowMs: () => state.nowMs });
  const ask = (der: Uint8Array) => authenticator.authenticate({ clientCertificate: { der } });
  return { mine, state, ask, authenticator };
}

describe('client certificates', () => {
  it('authenticate a user with groups, and record which certificate it was', async () => {
    const { mine, ask, authenticator } = setUp();
    const der = client(mine, 'jané', ['devs', 'a b,c=d', 'system:masters']);
    const fingerprint = new X509Certificate(der).fingerprint256.replaceAll(':', '').toLowerCase();
    assert.deepEqual(await ask(der), {
      outcome: 'user',
      user: {
        name: 'jané',
        groups: ['devs', 'a b,c=d', 'system:masters'],
        extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${fingerprint}`] },
      },
    });
    assert.deepEqual(await ask(raw(mine, plainSubject(attribute(ids.o, 'devs')))), { outcome: 'none' });
    assert.deepEqual(await authenticator.authenticate({}), { outcome: 'none' });
  });

  it('ignore other attributes of the subject, and read several organizations as Go writes them', async () => {
    const { mine, ask } = setUp();
    const accepted: readonly (readonly [what: string, subject: Uint8Array, groups: readonly string[], uid?: string])[] =
      [
        [
          'an email address, a country as T61String and an unknown attribute',
          plainSubject(
            attribute(ids.email, 'a@b', tags.ia5),
            attribute(ids.c, 'DE', tags.t61),
            attribute(ids.unknown, 'xy', tags.bmp),
            attribute(ids.cn, 'jane'),
          ),
          [],
        ],
        [
          'two organizations in one RDN',
          subject(set(attribute(ids.o, 'a'), attribute(ids.o, 'b')), set(attribute(ids.cn, 'jane'))),
          ['a', 'b'],
        ],
        ['a uid', plainSubject(attribute(ids.cn, 'jane'), attribute(ids.uid, '7')), [], '7'],
      ];
    for (const [what, der, groups, uid] of accepted) {
      const result = await ask(raw(mine, der));
      assert.ok(result.outcome === 'user', what);
      assert.deepEqual([result.user.name, result.user.groups, result.user.uid], ['jane', groups, uid], what);
    }
  });

  it('are refused when parsers could disagree about the user', async () => {
    const { mine, ask } = setUp();
    const jane = attribute(ids.cn, 'jane');
    const refused: readonly (readonly [what: string, subject: Uint8Array])[] = [
      ['two common names', plainSubject(attribute(ids.cn, 'root'), jane)],
      ['an RDN of two types', subject(set(attribute(ids.unknown, 'x'), jane))],
      ['an organization beside the common name', subject(set(attribute(ids.o, 'system:masters'), jane))],
      ['an RDN out of order', subject(tlv(0x31, [attribute(ids.o, 'b'), attribute(ids.o, 'a')]), set(jane))],
      ['an empty RDN', subject(set(), set(jane))],
      ['an organization as NumericString', plainSubject(attribute(ids.o, '7', tags.numeric), jane)],
      ['an organization in pieces', plainSubject(constructed(ids.o, 'system:', 'masters'), jane)],
      ['an organization as T61String', plainSubject(attribute(ids.o, 'devs', tags.t61), jane)],
      [
        'a common name as BMPString',
        plainSubject(attribute(ids.cn, Buffer.from('jane', 'utf16le').swap16(), tags.bmp)),
      ],
      ['an empty common name', plainSubject(attribute(ids.cn, ''))],
      ['an empty organization', plainSubject(attribute(ids.o, ''), jane)],
      ['a common name with NUL', plainSubject(attribute(ids.cn, 'root\0.example'))],
      ['a line break', plainSubject(attribute(ids.cn, 'jane\nO=system:masters'))],
      ['bytes that are no UTF-8', plainSubject(attribute(ids.cn, Uint8Array.of(0xff)))],
      ['characters that no PrintableString has', plainSubject(attribute(ids.cn, 'jane*', tags.printable))],
      ['two uids', plainSubject(jane, attribute(ids.uid, '7'), attribute(ids.uid, '8'))],
      ['an empty uid', plainSubject(jane, attribute(ids.uid, ''))],
    ];
    for (const [what, der] of refused) {
      const result = await ask(raw(mine, der));
      assert.match(
        result.outcome === 'failed' ? result.error : result.outcome,
        /^x509: the (subject of the )?client certificate cannot be read/,
        what,
      );
    }
  });

  it('must be signed by one of the authorities, and be for clients', async () => {
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

  it('are valid only in their period, also on open connections', async () => {
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
