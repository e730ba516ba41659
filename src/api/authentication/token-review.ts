/** TokenReview of authentication.k8s.io/v1: whose is this token? Which fields exist follows k8s.io/api/authentication/v1. */
import { array, boolean, map, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from '../core/meta.ts';

export const UserInfoSchema = object('UserInfo', {
  username: string,
  uid: string,
  groups: array(string),
  extra: map(array(string)),
});
export type UserInfo = Infer<typeof UserInfoSchema>;

export const TokenReviewSpecSchema = object('TokenReviewSpec', {
  token: string,
  audiences: array(string),
});
export type TokenReviewSpec = Infer<typeof TokenReviewSpecSchema>;

export const TokenReviewStatusSchema = object('TokenReviewStatus', {
  authenticated: boolean,
  user: UserInfoSchema,
  audiences: array(string),
  error: string,
});
export type TokenReviewStatus = Infer<typeof TokenReviewStatusSchema>;

/** Not stored: the answer to a create has the status. */
export const TokenReviewSchema = object('TokenReview', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  spec: required(TokenReviewSpecSchema),
  status: TokenReviewStatusSchema,
});
export type TokenReview = Infer<typeof TokenReviewSchema>;
