import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { conditionDocs } from '../core/condition.docs.ts';
import {
  CertificateSigningRequestSpecSchema,
  CertificateSigningRequestConditionSchema,
  CertificateSigningRequestStatusSchema,
  CertificateSigningRequestSchema,
} from './certificate-signing-request.ts';

export const docs: readonly TypeDocs[] = [
  describe(CertificateSigningRequestSpecSchema, 'The request and the user that created it.', {
    request: 'The request: PKCS #10 in PEM, in base64.',
    signerName: 'The signer, such as kubernetes.io/kubelet-serving.',
    expirationSeconds:
      'The desired lifetime of the certificate, in seconds; at least 600. The signer may choose another.',
    usages: 'The key usages of the certificate.',
    username: 'The name of the user who created the request. Set by the API server.',
    uid: 'The uid of that user. Set by the API server.',
    groups: 'The groups of that user. Set by the API server.',
    extra: 'Other attributes of that user. Set by the API server.',
  }),
  describe(CertificateSigningRequestConditionSchema, 'A condition of a CertificateSigningRequest.', {
    ...conditionDocs,
  }),
  describe(CertificateSigningRequestStatusSchema, 'The state of the request.', {
    conditions: 'Conditions of the request: Approved, Denied and Failed.',
    certificate: 'The issued certificate: PEM, in base64.',
  }),
  describe(CertificateSigningRequestSchema, 'Requests a certificate from a signer.', {}),
];
