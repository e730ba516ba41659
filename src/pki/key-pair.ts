import { createPrivateKey, X509Certificate } from 'node:crypto';
import { KubeletError } from '../base/errors.ts';
import { namesOf } from './certificate-reader.ts';
import { privateKeyPem } from './pem.ts';

/** What decisions need to know of a certificate. */
export interface CertificateFacts {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** A certificate and its key. PEM; the certificate may be followed by those that issued it. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
  readonly facts: CertificateFacts;
}

/** Throws what Node throws for what is no certificate. */
export function keyPair(certificate: string, key: string): KeyPair {
  const leaf = new X509Certificate(certificate);
  return {
    certificate,
    key,
    facts: { ...namesOf(leaf), notBeforeMs: leaf.validFromDate.getTime(), notAfterMs: leaf.validToDate.getTime() },
  };
}

/**
 * A pair as it lies in files, one for both or one each. Throws for what cannot be read, and for a key that is not the
 * certificate's.
 */
export function readKeyPair(certificateText: string, keyText: string): KeyPair {
  const certificate = (certificateText.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [])
    .map((block) => `${block}\n`)
    .join('');
  if (certificate === '') throw new KubeletError('Invalid', 'there is no certificate in it');
  const key = createPrivateKey(keyText.replaceAll(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g, ''));
  if (!new X509Certificate(certificate).checkPrivateKey(key))
    throw new KubeletError('Invalid', 'the key is not that of the certificate');
  return keyPair(certificate, privateKeyPem(key));
}
