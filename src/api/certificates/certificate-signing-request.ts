/** CertificateSigningRequest of certificates.k8s.io/v1. The fields follow k8s.io/api/certificates/v1. */
import { array, bytes, field, filled, int32, map, object, pointer, required, string, time } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from '../core/meta.ts';
import { ConditionStatusSchema } from '../core/pod-status.ts';

export const CertificateSigningRequestSpecSchema = object('CertificateSigningRequestSpec', {
  /** PKCS #10 in PEM, in base64. */
  request: required(1, bytes),
  signerName: required(7, string),
  expirationSeconds: pointer(8, int32),
  /** A closed set, checked by validation. */
  usages: field(5, array(string)),
  /** The requester. The API server sets these fields. */
  username: field(2, string),
  uid: field(3, string),
  groups: field(4, array(string)),
  extra: field(6, map(array(string))),
});
export type CertificateSigningRequestSpec = Infer<typeof CertificateSigningRequestSpecSchema>;

export const CertificateSigningRequestConditionSchema = object('CertificateSigningRequestCondition', {
  /** `Approved`, `Denied`, `Failed`, or a type that a signer defines. */
  type: required(1, string),
  status: required(6, ConditionStatusSchema),
  reason: field(2, string),
  message: field(3, string),
  lastUpdateTime: field(4, time),
  lastTransitionTime: field(5, time),
});
export type CertificateSigningRequestCondition = Infer<typeof CertificateSigningRequestConditionSchema>;

export const CertificateSigningRequestStatusSchema = object('CertificateSigningRequestStatus', {
  conditions: field(1, array(CertificateSigningRequestConditionSchema, ['type'], { patch: 'replace' })),
  /** A chain in PEM, in base64. */
  certificate: field(2, bytes),
});
export type CertificateSigningRequestStatus = Infer<typeof CertificateSigningRequestStatusSchema>;

/** Cluster-scoped. */
export const CertificateSigningRequestSchema = object('CertificateSigningRequest', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: required(2, CertificateSigningRequestSpecSchema),
  status: field(3, CertificateSigningRequestStatusSchema),
});
export type CertificateSigningRequest = Infer<typeof CertificateSigningRequestSchema>;
