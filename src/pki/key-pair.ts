import { createPrivateKey, X509Certificate } from 'node:crypto';
import { KubeletError } from '../base/errors.ts';
import { namesOf } from './certificate-reader.ts';
import { privateKeyPem } from './pem.ts';

/** The facts about a certificate on which decisions depend. */
export interface CertificateFacts {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** A certificate and its key in PEM. The certificates of its issuers may follow the certificate. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
  readonly facts: CertificateFacts;
}

/** Throws Node's error for a text that is not a certificate. */
export function keyPair(certificate: string, key: string): KeyPair {
  const leaf = new X509Certificate(certificate);
  return {
    certificate,
    key,
    facts: { ...namesOf(leaf), notBeforeMs: leaf.validFromDate.getTime(), notAfterMs: leaf.validToDate.getTime() },
  };
}

/**
 * Reads a pair from the text of its files; both may be in one file. Throws if one cannot be parsed, or if the key does
 * not belong to the certificate.
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
