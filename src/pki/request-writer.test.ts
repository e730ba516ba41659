import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { noNames } from './certificate-template.ts';
import { readCertificateRequest } from './request-reader.ts';
import { writeCertificateRequest } from './request-writer.ts';

const keys = {
  elliptic: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey,
  ed25519: generateKeyPairSync('ed25519').privateKey,
};
const subject = { commonName: 'system:node:n1', organizations: ['system:nodes'] };

describe('a certificate request', () => {
  for (const [kind, key] of Object.entries(keys)) {
    it(`with a key of kind ${kind} says what was given, and proves that who asks has the key`, () => {
      const altNames = { ...noNames, dnsNames: ['n1', 'n1.example'], ipAddresses: ['192.0.2.1', 'fd00::1'] };
      const read = readCertificateRequest(writeCertificateRequest({ subject, key, altNames }));
      const { commonName, organizations, dnsNames, ipAddresses } = read;
      assert.deepEqual(
        { commonName, organizations, dnsNames, ipAddresses },
        { ...subject, dnsNames: altNames.dnsNames, ipAddresses: altNames.ipAddresses },
      );
    });
  }

  it('is one for OpenSSL, too, with names and without', () => {
    for (const altNames of [noNames, { ...noNames, dnsNames: ['n1'], ipAddresses: ['192.0.2.1'] }]) {
      const text = execFileSync('openssl', ['req', '-noout', '-text', '-verify'], {
        input: writeCertificateRequest({ subject, key: keys.elliptic, altNames }),
        encoding: 'utf8',
        stdio: ['pipe', 'pipe', 'ignore'],
      });
      assert.match(text, /Subject: O ?= ?system:nodes, CN ?= ?system:node:n1/);
      assert.equal(text.includes('DNS:n1, IP Address:192.0.2.1'), altNames !== noNames);
    }
  });
});
