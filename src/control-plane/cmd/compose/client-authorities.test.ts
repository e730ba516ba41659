import assert from 'node:assert/strict';
import { generateKeyPairSync, createPublicKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, it } from 'node:test';
import { extendedUsages, noNames } from '../../../pki/certificate-template.ts';
import { writeCertificate } from '../../../pki/x509-writer.ts';
import { createX509Authenticator } from '../../authn/x509-authenticator.ts';
import { clientAuthorities } from './client-authorities.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'kts-client-ca-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const nowMs = Date.UTC(2026, 5, 1);
const common = { notBeforeMs: nowMs, notAfterMs: nowMs + 86_400_000, altNames: noNames };

function authority(name: string): { certificate: string; key: KeyObject } {
  const key = newKey();
  const template = { ...common, subject: { commonName: name }, publicKey: createPublicKey(key), isAuthority: true };
  return {
    certificate: writeCertificate(
      { ...template, keyUsages: ['certSign'], extendedKeyUsages: [] },
      { selfSignedBy: key },
    ),
    key,
  };
}
function newKey(): KeyObject {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
}

it('client certificates of the cluster’s authority and of those in the file count, and no others', async () => {
  const [own, other, stranger] = [authority('own'), authority('other'), authority('stranger')];
  const file = path.join(folder, 'ca.pem');
  writeFileSync(file, `a comment\n${other.certificate}`);
  const authenticator = createX509Authenticator({
    authorities: () => clientAuthorities(own.certificate, file),
    nowMs: () => nowMs,
  });
  const outcomes: string[] = [];
  for (const signer of [own, other, stranger]) {
    const template = {
      ...{ ...common, subject: { commonName: 'jane' }, publicKey: createPublicKey(newKey()), isAuthority: false },
      ...{ keyUsages: ['digitalSignature'] as const, extendedKeyUsages: [extendedUsages.clientAuth] },
    };
    const pem = writeCertificate(template, signer);
    const der = Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64');
    outcomes.push((await authenticator.authenticate({ clientCertificate: { der } })).outcome);
  }
  assert.deepEqual(outcomes, ['user', 'user', 'failed']);
});

it('a file without certificates is refused with words', () => {
  const file = path.join(folder, 'none.pem');
  writeFileSync(file, 'nothing');
  assert.throws(() => clientAuthorities('', file), /--client-ca-file .*none.pem: it has no certificate in PEM form/);
  writeFileSync(file, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
  assert.throws(() => clientAuthorities('', file), /a certificate that cannot be read/);
});
