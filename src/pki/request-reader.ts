/** Certificate requests (PKCS 10). Imported only when one is read, like `x509-writer.ts`. */
import { createPublicKey, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { CertificationRequest } from '@peculiar/asn1-csr';
import { AsnConvert } from '@peculiar/asn1-schema';
import { Extensions, Name, SubjectAlternativeName } from '@peculiar/asn1-x509';
import { KubeletError } from '../base/errors.ts';
import type { AltNames } from './certificate-template.ts';
import { fromPem } from './pem.ts';

export interface CertificateRequest extends AltNames {
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** What of the subject a certificate may carry: the attributes that everybody knows. */
  readonly subjectDer: Uint8Array;
  readonly publicKey: KeyObject;
  /** Whether who asks has the private key. */
  readonly isSignedByItself: boolean;
}

const objectIds = {
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  subjectAltName: '2.5.29.17',
  extensionRequest: '1.2.840.113549.1.9.14',
} as const;

/** Country, organization, unit, common name, serial number, locality, province, street, postal code: Go's signers drop all others, a user's UID among them. */
const carried: ReadonlySet<string> = new Set([
  '2.5.4.6',
  '2.5.4.10',
  '2.5.4.11',
  '2.5.4.3',
  '2.5.4.5',
  '2.5.4.7',
  '2.5.4.8',
  '2.5.4.9',
  '2.5.4.17',
]);

/** By object identifier of the signature. SHA-1 and what is older is not trusted. */
const digests: Readonly<Record<string, string | null>> = {
  '1.2.840.113549.1.1.11': 'sha256',
  '1.2.840.113549.1.1.12': 'sha384',
  '1.2.840.113549.1.1.13': 'sha512',
  '1.2.840.10045.4.3.2': 'sha256',
  '1.2.840.10045.4.3.3': 'sha384',
  '1.2.840.10045.4.3.4': 'sha512',
  '1.3.101.112': null,
};

/** Reads a request in PEM. Throws `Invalid` for what is none. */
export function readCertificateRequest(pem: string): CertificateRequest {
  const block = fromPem(pem);
  if (block === undefined || block.label !== 'CERTIFICATE REQUEST')
    throw new KubeletError('Invalid', 'PEM block type must be CERTIFICATE REQUEST');
  try {
    return readDer(block.der);
  } catch (error) {
    throw new KubeletError(
      'Invalid',
      `the certificate request cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    );
  }
}

function readDer(der: Uint8Array): CertificateRequest {
  const request = AsnConvert.parse(der, CertificationRequest);
  const { subject, subjectPKInfo } = request.certificationRequestInfo;
  const publicKey = createPublicKey({
    key: Buffer.from(AsnConvert.serialize(subjectPKInfo)),
    format: 'der',
    type: 'spki',
  });
  const values = (type: string): string[] =>
    [...subject].flatMap((part) => part.filter((each) => each.type === type).map(({ value }) => value.toString()));
  return {
    commonName: values(objectIds.commonName).at(-1) ?? '',
    organizations: values(objectIds.organization),
    subjectDer: new Uint8Array(
      AsnConvert.serialize(new Name(subject.filter((part) => part.every(({ type }) => carried.has(type))))),
    ),
    publicKey,
    isSignedByItself: verifySignature(request, publicKey),
    ...altNamesOf(request),
  };
}

function verifySignature(request: CertificationRequest, publicKey: KeyObject): boolean {
  const digest = digests[request.signatureAlgorithm.algorithm];
  const signed = request.certificationRequestInfoRaw;
  return (
    digest !== undefined &&
    signed !== undefined &&
    verify(digest, Buffer.from(signed), publicKey, Buffer.from(request.signature))
  );
}

function altNamesOf({ certificationRequestInfo }: CertificationRequest): AltNames {
  const wanted = (certificationRequestInfo.attributes ?? []).find(({ type }) => type === objectIds.extensionRequest)
    ?.values[0];
  const extension =
    wanted === undefined
      ? undefined
      : AsnConvert.parse(wanted, Extensions).find(({ extnID }) => extnID === objectIds.subjectAltName);
  const names = extension === undefined ? [] : [...AsnConvert.parse(extension.extnValue, SubjectAlternativeName)];
  return {
    dnsNames: names.flatMap(({ dNSName }) => dNSName ?? []),
    ipAddresses: names.flatMap(({ iPAddress }) => iPAddress ?? []),
    emailAddresses: names.flatMap(({ rfc822Name }) => rfc822Name ?? []),
    uris: names.flatMap(({ uniformResourceIdentifier }) => uniformResourceIdentifier ?? []),
  };
}
