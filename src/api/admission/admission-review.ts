/**
 * AdmissionReview of admission.k8s.io/v1: what webhooks are asked and what they answer. The fields follow
 * k8s.io/api/admission/v1.
 */
import { array, boolean, bytes, map, object, oneOf, opaque, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { UserInfoSchema } from '../authentication/token-review.ts';
import { StatusSchema } from '../status/status.ts';

const GroupVersionKindSchema = object('GroupVersionKind', {
  group: required(string),
  version: required(string),
  kind: required(string),
});
export type GroupVersionKind = Infer<typeof GroupVersionKindSchema>;

const GroupVersionResourceSchema = object('GroupVersionResource', {
  group: required(string),
  version: required(string),
  resource: required(string),
});
export type GroupVersionResource = Infer<typeof GroupVersionResourceSchema>;

const AdmissionRequestSchema = object('AdmissionRequest', {
  uid: required(string),
  /**
   * The kind in the webhook's rules; `requestKind` is that of the request, which may differ with `matchPolicy:
   * Equivalent`.
   */
  kind: required(GroupVersionKindSchema),
  resource: required(GroupVersionResourceSchema),
  subResource: string,
  requestKind: GroupVersionKindSchema,
  requestResource: GroupVersionResourceSchema,
  requestSubResource: string,
  name: string,
  namespace: string,
  operation: required(oneOf('CREATE', 'UPDATE', 'DELETE', 'CONNECT')),
  userInfo: required(UserInfoSchema),
  object: opaque,
  oldObject: opaque,
  dryRun: boolean,
  options: opaque,
});
export type AdmissionRequest = Infer<typeof AdmissionRequestSchema>;

const AdmissionResponseSchema = object('AdmissionResponse', {
  uid: required(string),
  allowed: required(boolean),
  status: StatusSchema,
  /** The patch in base64; `patchType` names its type. */
  patch: bytes,
  patchType: string,
  auditAnnotations: map(string),
  warnings: array(string),
});
export type AdmissionResponse = Infer<typeof AdmissionResponseSchema>;

/** Not an API object: it has no metadata. */
export const AdmissionReviewSchema = object('AdmissionReview', {
  kind: string,
  apiVersion: string,
  request: AdmissionRequestSchema,
  response: AdmissionResponseSchema,
});
export type AdmissionReview = Infer<typeof AdmissionReviewSchema>;
