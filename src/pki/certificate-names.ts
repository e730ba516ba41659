import type { X509Certificate } from 'node:crypto';

/** Whom a certificate names. */
export interface CertificateNames {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly dnsNames: readonly string[];
  /** As `canonicalAddress` writes them. */
  readonly ipAddresses: readonly string[];
}

/** The parts of a subject, of which a certificate may have several of each kind. */
export function subjectValues(certificate: X509Certificate, field: string): readonly string[] {
  const subject = certificate.toLegacyObject().subject as unknown as Readonly<
    Record<string, string | readonly string[] | undefined>
  >;
  return [subject[field] ?? []].flat();
}

export function namesOf(certificate: X509Certificate): CertificateNames {
  const alternative = (certificate.subjectAltName ?? '').split(', ');
  const after = (prefix: string): string[] =>
    alternative.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
  return {
    commonName: subjectValues(certificate, 'CN').at(-1) ?? '',
    organizations: subjectValues(certificate, 'O'),
    dnsNames: after('DNS:'),
    ipAddresses: after('IP Address:').map(canonicalAddress),
  };
}

/** IPv6 addresses as Node writes those of certificates: in capitals, all eight groups. */
export function canonicalAddress(address: string): string {
  if (!address.includes(':')) return address;
  const [head = '', tail] = address.toLowerCase().split('::');
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const [left, right] = [groups(head), groups(tail ?? '')];
  const middle = tail === undefined ? [] : Array.from({ length: 8 - left.length - right.length }, () => '0');
  return [...left, ...middle, ...right].map((group) => Number.parseInt(group, 16).toString(16).toUpperCase()).join(':');
}
