/** TokenRequest of authentication.k8s.io/v1: the body of a service account's `token`. Which fields exist follows k8s.io/api/authentication/v1. */
import { array, int64, object, required, string, time } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from '../core/meta.ts';

/** The token ends with this object. */
export const BoundObjectReferenceSchema = object('BoundObjectReference', {
  kind: string,
  apiVersion: string,
  name: string,
  uid: string,
});
export type BoundObjectReference = Infer<typeof BoundObjectReferenceSchema>;

export const TokenRequestSpecSchema = object('TokenRequestSpec', {
  /** Empty: the API server's own. */
  audiences: required(array(string)),
  expirationSeconds: int64,
  boundObjectRef: BoundObjectReferenceSchema,
});
export type TokenRequestSpec = Infer<typeof TokenRequestSpecSchema>;

export const TokenRequestStatusSchema = object('TokenRequestStatus', {
  token: required(string),
  expirationTimestamp: time,
});
export type TokenRequestStatus = Infer<typeof TokenRequestStatusSchema>;

export const TokenRequestSchema = object('TokenRequest', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  spec: required(TokenRequestSpecSchema),
  status: TokenRequestStatusSchema,
});
export type TokenRequest = Infer<typeof TokenRequestSchema>;
