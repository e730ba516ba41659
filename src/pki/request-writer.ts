/** Encodes certificate requests (PKCS 10). It is imported only when one is needed, like `x509-writer.ts`. */
import { createPublicKey, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { Attributes, CertificationRequest, CertificationRequestInfo } from '@peculiar/asn1-csr';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import { Attribute, Extension, Extensions, SubjectAlternativeName, SubjectPublicKeyInfo } from '@peculiar/asn1-x509';
import type { AltNames, CertificateTemplate } from './certificate-template.ts';
import { toPem } from './pem.ts';
import { generalNames, hasNames, objectIds, signatureOf, subjectName } from './x509-writer.ts';

const EXTENSION_REQUEST = '1.2.840.113549.1.9.14';

export interface RequestTemplate {
  readonly subject: CertificateTemplate['subject'];
  /** The private key. It signs the request, which proves that the requester has it. */
  readonly key: KeyObject;
  readonly altNames: AltNames;
}

/** The request as PEM. */
export function writeCertificateRequest({ subject, key, altNames }: RequestTemplate): string {
  const info = new CertificationRequestInfo({
    subject: subjectName(subject),
    subjectPKInfo: AsnConvert.parse(createPublicKey(key).export({ type: 'spki', format: 'der' }), SubjectPublicKeyInfo),
    attributes: new Attributes(hasNames(altNames) ? [extensionRequest(altNames)] : []),
  });
  const { algorithm, digest } = signatureOf(key);
  const signature = sign(digest, Buffer.from(AsnConvert.serialize(info)), key);
  const request = new CertificationRequest({
    certificationRequestInfo: info,
    signatureAlgorithm: algorithm,
    signature: Uint8Array.from(signature).buffer,
  });
  return toPem('CERTIFICATE REQUEST', new Uint8Array(AsnConvert.serialize(request)));
}

function extensionRequest(altNames: AltNames): Attribute {
  const names = new Extension({
    extnID: objectIds.subjectAltName,
    critical: false,
    extnValue: new OctetString(AsnConvert.serialize(new SubjectAlternativeName(generalNames(altNames)))),
  });
  return new Attribute({ type: EXTENSION_REQUEST, values: [AsnConvert.serialize(new Extensions([names]))] });
}
