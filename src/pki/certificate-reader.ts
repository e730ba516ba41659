/** Reads the names in certificates. No other code does this. */
import type { X509Certificate } from 'node:crypto';
import { altNamesOf, readExtensions } from './alternative-names.ts';
import { noNames } from './certificate-template.ts';
import type { AltNames } from './certificate-template.ts';
import { DerFields, derTags, readOnly } from './der-reader.ts';
import type { DerElement } from './der-reader.ts';
import { readCertificateSubject } from './subject.ts';
import type { CertificateSubject } from './subject.ts';

/** The names in a certificate. */
export interface CertificateNames {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly dnsNames: readonly string[];
  /** In the form of `canonicalAddress`. */
  readonly ipAddresses: readonly string[];
}

const VERSION_TAG = 0xa0;
const EXTENSIONS_TAG = 0xa3;
/** The tags of the unique ids of issuer and subject, which are obsolete. */
const uniqueIdTags = [0x81, 0x82] as const;

/** The subject of a certificate. Throws `Invalid` for a subject that parsers may read differently. */
export const subjectOf = (der: Uint8Array): CertificateSubject => readCertificateSubject(openCertificate(der).subject);

/**
 * The names in one's own certificate. Names that cannot be read are left out, so that the certificate then counts as
 * unsuitable.
 */
export function namesOf({ raw }: X509Certificate): CertificateNames {
  const { commonName = '', organizations } = orElse<CertificateSubject>(() => subjectOf(raw), {
    commonName: undefined,
    organizations: [],
    uid: undefined,
  });
  const { dnsNames, ipAddresses } = orElse(() => altNames(raw), noNames);
  return { commonName, organizations, dnsNames, ipAddresses };
}

function altNames(der: Uint8Array): AltNames {
  const { extensions } = openCertificate(der);
  return extensions === undefined
    ? noNames
    : altNamesOf(readExtensions(readOnly(extensions.content, derTags.sequence, 'the extensions')), 'certificate');
}

function orElse<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

function openCertificate(der: Uint8Array): {
  readonly subject: DerElement;
  readonly extensions: DerElement | undefined;
} {
  const certificate = new DerFields(readOnly(der, derTags.sequence, 'the certificate').content);
  const signed = new DerFields(certificate.take(derTags.sequence, 'the signed part').content);
  signed.optional(VERSION_TAG, 'the version');
  signed.take(derTags.integer, 'the serial number');
  signed.take(derTags.sequence, 'the algorithm of the signature');
  signed.take(derTags.sequence, 'the issuer');
  signed.take(derTags.sequence, 'the validity');
  const subject = signed.take(derTags.sequence, 'the subject');
  signed.take(derTags.sequence, 'the public key');
  for (const tag of uniqueIdTags) signed.optional(tag, 'a unique identifier');
  const extensions = signed.optional(EXTENSIONS_TAG, 'the extensions');
  signed.end('the signed part');
  return { subject, extensions };
}
