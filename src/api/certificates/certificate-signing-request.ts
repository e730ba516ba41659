/** CertificateSigningRequest of certificates.k8s.io/v1. Which fields exist follows k8s.io/api/certificates/v1. */
import { array, bytes, int32, map, object, required, string, time } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ListMetaSchema, ObjectMetaSchema } from '../core/meta.ts';
import { ConditionStatusSchema } from '../core/pod-status.ts';

export const CertificateSigningRequestSpecSchema = object('CertificateSigningRequestSpec', {
  /** PKCS #10 in PEM, in base64. */
  request: required(bytes),
  signerName: required(string),
  expirationSeconds: int32,
  /** A closed set, checked by validation. */
  usages: array(string),
  /** Who asked; the API server fills these in. */
  username: string,
  uid: string,
  groups: array(string),
  extra: map(array(string)),
});
export type CertificateSigningRequestSpec = Infer<typeof CertificateSigningRequestSpecSchema>;

export const CertificateSigningRequestConditionSchema = object('CertificateSigningRequestCondition', {
  /** `Approved`, `Denied`, `Failed`, or a signer's own. */
  type: required(string),
  status: required(ConditionStatusSchema),
  reason: string,
  message: string,
  lastUpdateTime: time,
  lastTransitionTime: time,
});
export type CertificateSigningRequestCondition = Infer<typeof CertificateSigningRequestConditionSchema>;

export const CertificateSigningRequestStatusSchema = object('CertificateSigningRequestStatus', {
  conditions: array(CertificateSigningRequestConditionSchema, ['type'], { patch: 'replace' }),
  /** A chain in PEM, in base64. */
  certificate: bytes,
});
export type CertificateSigningRequestStatus = Infer<typeof CertificateSigningRequestStatusSchema>;

/** Not in any namespace. */
export const CertificateSigningRequestSchema = object('CertificateSigningRequest', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  spec: required(CertificateSigningRequestSpecSchema),
  status: CertificateSigningRequestStatusSchema,
});
export type CertificateSigningRequest = Infer<typeof CertificateSigningRequestSchema>;

export const CertificateSigningRequestListSchema = object('CertificateSigningRequestList', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  items: required(array(CertificateSigningRequestSchema)),
});
export type CertificateSigningRequestList = Infer<typeof CertificateSigningRequestListSchema>;
