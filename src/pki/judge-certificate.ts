import type { KeyObject, X509Certificate } from 'node:crypto';
import { canonicalAddress } from './canonical-address.ts';
import { namesOf } from './certificate-reader.ts';
import type { AltNames } from './certificate-template.ts';

/**
 * What to do with an existing certificate. `broken` means that an operator must act: the files are not overwritten,
 * because an operator may have put them there on purpose.
 */
export type Judgement =
  | { readonly kind: 'keep' }
  | { readonly kind: 'renew'; readonly why: string }
  | { readonly kind: 'broken'; readonly why: string };

/** A certificate is renewed when less than this share of its lifetime remains: two and a half months of a year. */
const RENEW_AT_SHARE = 0.2;

export interface CertificateFacts {
  readonly certificate: X509Certificate;
  readonly key: KeyObject;
  readonly authority: X509Certificate;
  /** The names that it must contain. */
  readonly names: Pick<AltNames, 'dnsNames' | 'ipAddresses'>;
  readonly nowMs: number;
}

export function judgeCertificate({ certificate, key, authority, names, nowMs }: CertificateFacts): Judgement {
  if (!certificate.checkPrivateKey(key))
    return { kind: 'broken', why: 'the certificate and the key do not belong together' };
  if (!isIssuedBy(certificate, authority))
    return { kind: 'broken', why: 'the certificate was not issued by the authority in ca.crt' };
  const { validFromDate, validToDate } = certificate;
  const [fromMs, toMs] = [validFromDate.getTime(), validToDate.getTime()];
  if (nowMs >= toMs) return { kind: 'renew', why: 'it has expired' };
  if (toMs - nowMs < (toMs - fromMs) * RENEW_AT_SHARE) return { kind: 'renew', why: 'it expires soon' };
  const missing = missingNames(certificate, names);
  return missing.length > 0 ? { kind: 'renew', why: `it is not good for ${missing.join(', ')}` } : { kind: 'keep' };
}

/** Checks the issuer's name and the signature. */
export function isIssuedBy(certificate: X509Certificate, authority: X509Certificate): boolean {
  return certificate.checkIssued(authority) && certificate.verify(authority.publicKey);
}

/** The names that are not in the certificate literally: a name that only a wildcard covers counts as missing. */
function missingNames(certificate: X509Certificate, { dnsNames, ipAddresses }: CertificateFacts['names']): string[] {
  const there = namesOf(certificate);
  return [
    ...dnsNames.filter((name) => !there.dnsNames.includes(name)),
    ...ipAddresses.filter((address) => !there.ipAddresses.includes(canonicalAddress(address))),
  ];
}
