/**
 * TokenRequest of authentication.k8s.io/v1: the body of a service account's `token`. The fields follow
 * k8s.io/api/authentication/v1.
 */
import { array, field, filled, smallInt64, object, pointer, string, time } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from '../core/meta.ts';

/** The token expires with this object. */
export const BoundObjectReferenceSchema = object('BoundObjectReference', {
  kind: field(1, string),
  apiVersion: field(2, string),
  name: field(3, string),
  uid: field(4, string),
});
export type BoundObjectReference = Infer<typeof BoundObjectReferenceSchema>;

export const TokenRequestSpecSchema = object('TokenRequestSpec', {
  /** Empty: the audience of the API server. */
  audiences: filled(1, array(string)),
  expirationSeconds: pointer(4, smallInt64),
  boundObjectRef: field(3, BoundObjectReferenceSchema),
});
export type TokenRequestSpec = Infer<typeof TokenRequestSpecSchema>;

export const TokenRequestStatusSchema = object('TokenRequestStatus', {
  token: filled(1, string),
  expirationTimestamp: field(2, time),
});
export type TokenRequestStatus = Infer<typeof TokenRequestStatusSchema>;

export const TokenRequestSchema = object('TokenRequest', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: filled(2, TokenRequestSpecSchema),
  status: field(3, TokenRequestStatusSchema),
});
export type TokenRequest = Infer<typeof TokenRequestSchema>;
