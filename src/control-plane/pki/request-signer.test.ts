import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import fc from 'fast-check';
import { isKind } from '../../base/errors.ts';
import { noNames } from '../../pki/certificate-template.ts';
import { privateKeyPem, toPem } from '../../pki/pem.ts';
import { readCertificateRequest } from '../../pki/request-reader.ts';
import { signerNames } from './request-policy.ts';
import { createRequestSigner } from './request-signer.ts';
import { writeCertificate } from '../../pki/x509-writer.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'csr-test-'));
after(() => rmSync(folder, { recursive: true }));
const nowMs = Date.UTC(2026, 5, 1);
const minute = 60_000;
const day = 86_400_000;

const authority = (type: 'ec' | 'rsa' | 'ed25519'): { certificate: string; key: string } => {
  const { privateKey } =
    type === 'ec'
      ? generateKeyPairSync('ec', { namedCurve: 'P-384' })
      : type === 'rsa'
        ? generateKeyPairSync('rsa', { modulusLength: 2048 })
        : generateKeyPairSync('ed25519');
  const template = {
    subject: { commonName: 'kubernetes' },
    publicKey: createPublicKey(privateKey),
    notBeforeMs: nowMs - day,
    notAfterMs: nowMs + 400 * day,
    isAuthority: true,
  };
  return {
    certificate: writeCertificate(
      { ...template, keyUsages: ['certSign'], extendedKeyUsages: [], altNames: noNames },
      { selfSignedBy: privateKey },
    ),
    key: privateKeyPem(privateKey),
  };
};
const elliptic = authority('ec');

/** A request as OpenSSL makes it. */
function request(
  subject: string,
  extension = '',
  key: readonly string[] = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'],
): string {
  const args = [
    'req',
    '-new',
    ...key,
    '-nodes',
    '-keyout',
    path.join(folder, 'key.pem'),
    '-subj',
    subject,
    ...(extension === '' ? [] : ['-addext', extension]),
  ];
  return execFileSync('openssl', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}

const sign = (
  changes: Partial<{ signerName: string; request: string; usages: string[]; expirationSeconds: number }>,
  from = elliptic,
) =>
  createRequestSigner({ authority: () => from, nowMs: () => nowMs })({
    signerName: signerNames.apiServerClient,
    request: '',
    usages: ['client auth'],
    ...changes,
  });

async function signed(changes: Parameters<typeof sign>[0], from = elliptic): Promise<X509Certificate> {
  const outcome = await sign(changes, from);
  assert.ok(outcome.kind === 'signed', JSON.stringify(outcome));
  return new X509Certificate(outcome.certificate);
}

async function refusalOf(changes: Parameters<typeof sign>[0]): Promise<string> {
  const outcome = await sign(changes);
  assert.ok(outcome.kind === 'refused', JSON.stringify(outcome));
  return outcome.message;
}

describe('signing requests', () => {
  it('gives what was asked for, from authorities and for keys of every kind, as OpenSSL sees it', async () => {
    const asked = request(
      '/O=devs/O=ops/CN=jane',
      'subjectAltName=DNS:a.example,IP:192.0.2.1,IP:fd00::1,email:a@b.example,URI:spiffe://x/y',
    );
    for (const type of ['ec', 'rsa', 'ed25519'] as const) {
      const from = authority(type);
      const certificate = await signed(
        {
          signerName: signerNames.legacyUnknown,
          request: asked,
          usages: ['digital signature', 'key encipherment', 'client auth', 'server auth'],
        },
        from,
      );
      assert.equal(certificate.subject, 'O=devs\nO=ops\nCN=jane');
      assert.equal(
        certificate.subjectAltName,
        'DNS:a.example, email:a@b.example, IP Address:192.0.2.1, IP Address:FD00:0:0:0:0:0:0:1, URI:spiffe://x/y',
      );
      assert.deepEqual(
        [certificate.ca, certificate.validFromDate.getTime(), certificate.validToDate.getTime()],
        [false, nowMs - 5 * minute, nowMs + 365 * day - 5 * minute],
      );
      const [issuerFile, file] = ['ca.pem', 'leaf.pem'].map((name) => path.join(folder, name)) as [string, string];
      writeFileSync(issuerFile, from.certificate);
      writeFileSync(file, certificate.toString());
      assert.match(
        execFileSync(
          'openssl',
          ['verify', '-attime', String(nowMs / 1000), '-x509_strict', '-CAfile', issuerFile, file],
          { encoding: 'utf8' },
        ),
        /OK/,
        type,
      );
      const text = execFileSync('openssl', ['x509', '-noout', '-text', '-in', file], { encoding: 'utf8' });
      assert.match(text, /X509v3 Key Usage: critical\s+Digital Signature, Key Encipherment\n/);
      assert.match(
        text,
        /X509v3 Extended Key Usage: \s+TLS Web Client Authentication, TLS Web Server Authentication\n/,
      );
    }
    for (const key of [
      ['-newkey', 'rsa:2048'],
      ['-newkey', 'ed25519'],
      ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-521'],
    ])
      assert.equal((await signed({ request: request('/CN=x', '', key) })).subject, 'CN=x');
  });

  it('signs the key that asked, which only who has it can use', async () => {
    const asked = request('/CN=jane');
    const key = createPrivateKey(readFileSync(path.join(folder, 'key.pem')));
    assert.ok((await signed({ request: asked })).checkPrivateKey(key));
    const bytes = Buffer.from(asked.replaceAll(/-----.*-----|\n/g, ''), 'base64');
    bytes[bytes.length - 1] = (bytes[bytes.length - 1] ?? 0) ^ 1;
    const forged = `-----BEGIN CERTIFICATE REQUEST-----\n${bytes.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`;
    assert.match(await refusalOf({ request: forged }), /the signature is not by the key of the request|cannot be read/);
  });

  it('issues the attributes that it has read, in their order, and refuses all others', async () => {
    const certificate = await signed({
      request: request('/CN=jane/serialNumber=7/O=devs/C=DE/O=ops/OU=unit/L=x/ST=y/street=z/postalCode=1'),
    });
    assert.equal(
      certificate.subject,
      'C=DE\nO=devs\nO=ops\nOU=unit\nL=x\nST=y\nstreet=z\npostalCode=1\nCN=jane\nserialNumber=7',
    );
    assert.match(
      await refusalOf({ request: request('/UID=7/O=devs/CN=jane') }),
      /the subject has the attribute 0\.9\.2342\.19200300\.100\.1\.1, which no certificate carries$/,
    );
  });

  it('gives names only where they are part of what the signer is for', async () => {
    const names = 'subjectAltName=DNS:a.example,email:a@b.example';
    assert.equal((await signed({ request: request('/CN=jane', names) })).subjectAltName, undefined);
    const serving = await signed({
      signerName: signerNames.kubeletServing,
      request: request('/O=system:nodes/CN=system:node:n1', 'subjectAltName=DNS:n1,IP:::ffff:192.0.2.1'),
      usages: ['digital signature', 'server auth'],
    });
    assert.equal(serving.subjectAltName, 'DNS:n1, IP Address:0:0:0:0:0:FFFF:C000:201');
  });

  it('refuses in upstream’s words, and leaves other signers alone', async () => {
    assert.deepEqual(await sign({ request: request('/CN=jane'), usages: ['server auth'] }), {
      kind: 'refused',
      message: 'invalid usage for client certificate: server auth',
    });
    assert.deepEqual(await sign({ signerName: 'example.com/mine' }), { kind: 'ignored' });
    assert.match(await refusalOf({ request: 'rubbish' }), /PEM block type must be CERTIFICATE REQUEST/);
    assert.match(
      await refusalOf({ request: '-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n' }),
      /cannot be read/,
    );
    for (const usage of ['flying', 'constructor'])
      assert.match(
        await refusalOf({ signerName: signerNames.legacyUnknown, request: request('/CN=x'), usages: [usage] }),
        /unrecognized usage values: \["[a-z]+"\]/,
      );
  });

  it('survives requests that are damaged anywhere', () => {
    const good = Buffer.from(
      request('/O=devs/CN=jane', 'subjectAltName=DNS:a.example,IP:192.0.2.1').replaceAll(/-----.*-----|\n/g, ''),
      'base64',
    );
    const damage = fc.record({
      at: fc.nat({ max: good.length - 1 }),
      to: fc.nat({ max: 255 }),
      cut: fc.option(fc.nat({ max: good.length }), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(damage, { minLength: 1, maxLength: 4 }), (damages) => {
        let bytes = Buffer.from(good);
        for (const { at, to, cut } of damages) {
          bytes[at] = to;
          if (cut !== undefined) bytes = bytes.subarray(0, cut);
        }
        try {
          readCertificateRequest(toPem('CERTIFICATE REQUEST', bytes));
        } catch (error) {
          assert.ok(isKind(error, 'Invalid'), String(error));
        }
      }),
      { numRuns: 300 },
    );
  });

  it('gives the authority’s key identifier to who looks for the issuer', async () => {
    const certificate = await signed({ request: request('/CN=jane') });
    const spki = new X509Certificate(elliptic.certificate).publicKey.export({ type: 'spki', format: 'der' });
    const identifier = createHash('sha1').update(spki.subarray(-97)).digest();
    assert.ok(Buffer.from(certificate.raw).includes(identifier));
  });
});
