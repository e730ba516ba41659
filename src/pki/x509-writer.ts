/**
 * Encodes certificates. It is imported only when one is needed, because its library costs memory; see docs/adr/x509.md.
 */
import { createHash, randomBytes, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AttributeValue,
  AuthorityKeyIdentifier,
  BasicConstraints,
  Certificate,
  ExtendedKeyUsage,
  Extension,
  Extensions,
  GeneralName,
  KeyIdentifier,
  KeyUsage,
  Name,
  RelativeDistinguishedName,
  SubjectAlternativeName,
  SubjectKeyIdentifier,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version,
} from '@peculiar/asn1-x509';
import { KubeletError } from '../base/errors.ts';
import { SUBJECT_ALT_NAME_ID } from './alternative-names.ts';
import { canonicalAddress } from './canonical-address.ts';
import type { AltNames, CertificateTemplate } from './certificate-template.ts';
import { toPem } from './pem.ts';
import { subjectAttributes } from './subject.ts';
import type { SubjectAttribute } from './subject.ts';

export interface SigningAuthority {
  /** The certificate in PEM. */
  readonly certificate: string;
  readonly key: KeyObject;
}

/** A certificate as PEM, signed by the authority or, without one, by its own key. */
export function writeCertificate(
  template: CertificateTemplate,
  authority: SigningAuthority | { readonly selfSignedBy: KeyObject },
): string {
  const key = 'key' in authority ? authority.key : authority.selfSignedBy;
  const issuer = 'key' in authority ? parseCertificate(authority.certificate) : undefined;
  const subject = subjectName(template.subject);
  const spki = template.publicKey.export({ type: 'spki', format: 'der' });
  const { algorithm, digest } = signatureOf(key);
  const tbsCertificate = new TBSCertificate({
    version: Version.v3,
    serialNumber: bufferOf(positiveSerial()),
    signature: algorithm,
    issuer: issuer === undefined ? subject : issuer.tbsCertificate.subject,
    validity: new Validity({ notBefore: new Date(template.notBeforeMs), notAfter: new Date(template.notAfterMs) }),
    subject,
    subjectPublicKeyInfo: AsnConvert.parse(spki, SubjectPublicKeyInfo),
    extensions: new Extensions(extensionsOf(template, issuer)),
  });
  const signatureValue = bufferOf(sign(digest, Buffer.from(AsnConvert.serialize(tbsCertificate)), key));
  return toPem(
    'CERTIFICATE',
    new Uint8Array(
      AsnConvert.serialize(new Certificate({ tbsCertificate, signatureAlgorithm: algorithm, signatureValue })),
    ),
  );
}

function parseCertificate(pem: string): Certificate {
  const body = /-----BEGIN CERTIFICATE-----([\s\S]*?)-----END CERTIFICATE-----/.exec(pem)?.[1];
  if (body === undefined) throw new KubeletError('Invalid', 'no certificate in PEM');
  return AsnConvert.parse(Buffer.from(body, 'base64'), Certificate);
}

const bufferOf = (bytes: Uint8Array): ArrayBuffer => Uint8Array.from(bytes).buffer;

/** 128 random bits as a DER integer: positive and without leading zero bytes. */
function positiveSerial(): Uint8Array {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes;
}

export const objectIds = {
  basicConstraints: '2.5.29.19',
  keyUsage: '2.5.29.15',
  extendedKeyUsage: '2.5.29.37',
  subjectKeyIdentifier: '2.5.29.14',
  authorityKeyIdentifier: '2.5.29.35',
  subjectAltName: SUBJECT_ALT_NAME_ID,
} as const;

/** A subject with one RDN for each attribute. */
export function subjectName(subject: CertificateTemplate['subject']): Name {
  return new Name(
    attributesOf(subject).map(({ name, value }) => {
      const type = subjectAttributes[name];
      const isPrintable = /^[A-Za-z0-9 '()+,\-./:=?]*$/.test(value);
      return new RelativeDistinguishedName([
        new AttributeTypeAndValue({
          type,
          value: new AttributeValue(isPrintable ? { printableString: value } : { utf8String: value }),
        }),
      ]);
    }),
  );
}

function attributesOf(subject: CertificateTemplate['subject']): readonly SubjectAttribute[] {
  if ('attributes' in subject) return subject.attributes;
  const { commonName, organizations = [] } = subject;
  return [
    ...organizations.map((value): SubjectAttribute => ({ name: 'organization', value })),
    { name: 'commonName', value: commonName },
  ];
}

/** The signature algorithm of a key: its name in the certificate, and the digest. */
export function signatureOf(key: KeyObject): { algorithm: AlgorithmIdentifier; digest: string | null } {
  const named = (algorithm: string, parameters?: null): AlgorithmIdentifier =>
    new AlgorithmIdentifier(parameters === undefined ? { algorithm } : { algorithm, parameters });
  switch (key.asymmetricKeyType) {
    case 'rsa':
      return { algorithm: named('1.2.840.113549.1.1.11', null), digest: 'sha256' };
    case 'ec':
      switch (key.asymmetricKeyDetails?.namedCurve) {
        case 'secp384r1':
          return { algorithm: named('1.2.840.10045.4.3.3'), digest: 'sha384' };
        case 'secp521r1':
          return { algorithm: named('1.2.840.10045.4.3.4'), digest: 'sha512' };
        default:
          return { algorithm: named('1.2.840.10045.4.3.2'), digest: 'sha256' };
      }
    case 'ed25519':
      return { algorithm: named('1.3.101.112'), digest: null };
    default:
      throw new KubeletError(
        'Invalid',
        `a key of type ${key.asymmetricKeyType ?? 'unknown'} cannot sign certificates; use RSA, ECDSA or Ed25519`,
      );
  }
}

const usageBits = {
  digitalSignature: 0,
  contentCommitment: 1,
  keyEncipherment: 2,
  dataEncipherment: 3,
  keyAgreement: 4,
  certSign: 5,
  crlSign: 6,
  encipherOnly: 7,
  decipherOnly: 8,
} as const;

function extensionsOf(template: CertificateTemplate, issuer: Certificate | undefined): Extension[] {
  const extension = (extnID: string, value: object, critical: boolean): Extension =>
    new Extension({ extnID, critical, extnValue: new OctetString(AsnConvert.serialize(value)) });
  const ownId = keyIdentifier(template.publicKey);
  const issuerId = issuer?.tbsCertificate.extensions?.find(
    ({ extnID }) => extnID === objectIds.subjectKeyIdentifier,
  )?.extnValue;
  const authorityId = issuerId === undefined ? undefined : AsnConvert.parse(issuerId, SubjectKeyIdentifier);
  const { isAuthority = false, keyUsages, extendedKeyUsages, altNames } = template;
  return [
    ...(keyUsages.length > 0
      ? [extension(objectIds.keyUsage, new KeyUsage(usageBytes(keyUsages), unusedBits(keyUsages)), true)]
      : []),
    ...(extendedKeyUsages.length > 0
      ? [extension(objectIds.extendedKeyUsage, new ExtendedKeyUsage([...extendedKeyUsages]), false)]
      : []),
    extension(objectIds.basicConstraints, new BasicConstraints({ cA: isAuthority }), true),
    ...(isAuthority ? [extension(objectIds.subjectKeyIdentifier, new SubjectKeyIdentifier(ownId), false)] : []),
    ...(authorityId !== undefined
      ? [
          extension(
            objectIds.authorityKeyIdentifier,
            new AuthorityKeyIdentifier({ keyIdentifier: new KeyIdentifier(authorityId.buffer) }),
            false,
          ),
        ]
      : []),
    // Critical if the certificate has no subject (RFC 5280).
    ...(hasNames(altNames)
      ? [
          extension(
            objectIds.subjectAltName,
            new SubjectAlternativeName(generalNames(altNames)),
            attributesOf(template.subject).length === 0,
          ),
        ]
      : []),
  ];
}

function keyIdentifier(key: KeyObject): ArrayBuffer {
  const info = AsnConvert.parse(key.export({ type: 'spki', format: 'der' }), SubjectPublicKeyInfo);
  return bufferOf(createHash('sha1').update(Buffer.from(info.subjectPublicKey)).digest());
}

/** Bits are counted from the highest bit of the first byte; DER omits trailing zero bits. */
function usageBytes(usages: CertificateTemplate['keyUsages']): ArrayBuffer {
  const bytes = new Uint8Array(usages.includes('decipherOnly') ? 2 : 1);
  for (const usage of usages) {
    const bit = usageBits[usage];
    bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) | (0x80 >> (bit & 7));
  }
  return bytes.buffer;
}

const unusedBits = (usages: CertificateTemplate['keyUsages']): number =>
  7 - (Math.max(...usages.map((usage) => usageBits[usage])) & 7);

export const hasNames = ({ dnsNames, ipAddresses, emailAddresses, uris }: AltNames): boolean =>
  dnsNames.length + ipAddresses.length + emailAddresses.length + uris.length > 0;

export function generalNames({ dnsNames, ipAddresses, emailAddresses, uris }: AltNames): GeneralName[] {
  return [
    ...dnsNames.map((dNSName) => new GeneralName({ dNSName })),
    ...emailAddresses.map((rfc822Name) => new GeneralName({ rfc822Name })),
    ...ipAddresses.map((address) => new GeneralName({ iPAddress: canonicalAddress(address) })),
    ...uris.map((uniformResourceIdentifier) => new GeneralName({ uniformResourceIdentifier })),
  ];
}
