/** PodCertificateRequest of certificates.k8s.io/v1beta1. The fields follow k8s.io/api/certificates/v1beta1. */
import { array, bytes, field, filled, int32, map, object, pointer, required, string, time } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ConditionSchema } from '../core/condition.ts';
import { ObjectMetaSchema } from '../core/meta.ts';

export const PodCertificateRequestSpecSchema = object('PodCertificateRequestSpec', {
  signerName: required(1, string),
  podName: required(2, string),
  podUID: required(3, string),
  serviceAccountName: required(4, string),
  serviceAccountUID: required(5, string),
  nodeName: required(6, string),
  nodeUID: required(7, string),
  maxExpirationSeconds: pointer(8, int32),
  /** Deprecated, with proofOfPossession: a public key, and the UID of the pod signed with it. */
  pkixPublicKey: field(9, bytes),
  proofOfPossession: field(10, bytes),
  /** PKCS #10 as DER, in base64. */
  stubPKCS10Request: field(12, bytes, { mustBeWritten: true }),
  unverifiedUserAnnotations: field(11, map(string)),
});
export type PodCertificateRequestSpec = Infer<typeof PodCertificateRequestSpecSchema>;

export const PodCertificateRequestStatusSchema = object('PodCertificateRequestStatus', {
  /** At most one condition: `Issued`, `Denied` or `Failed`. */
  conditions: field(1, array(ConditionSchema, ['type'])),
  /** PEM. */
  certificateChain: field(2, string),
  notBefore: field(4, time),
  beginRefreshAt: field(5, time),
  notAfter: field(6, time),
});
export type PodCertificateRequestStatus = Infer<typeof PodCertificateRequestStatusSchema>;

export const PodCertificateRequestSchema = object('PodCertificateRequest', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: required(2, PodCertificateRequestSpecSchema),
  status: field(3, PodCertificateRequestStatusSchema),
});
export type PodCertificateRequest = Infer<typeof PodCertificateRequestSchema>;
