import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { noNames } from '../../../pki/certificate-template.ts';
import { writeCertificate } from '../../../pki/x509-writer.ts';

/** Creates a self-signed serving certificate and its key, both PEM, valid for an hour from `nowMs`. */
export function selfSignedPair(nowMs: number): { certificate: string; key: string } {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const certificate = writeCertificate(
    {
      subject: { commonName: 'n' },
      publicKey: createPublicKey(privateKey),
      notBeforeMs: nowMs - 60_000,
      notAfterMs: nowMs + 3_600_000,
      keyUsages: ['digitalSignature'],
      extendedKeyUsages: [],
      altNames: noNames,
    },
    { selfSignedBy: privateKey },
  );
  return { certificate, key: privateKey.export({ type: 'sec1', format: 'pem' }).toString() };
}
