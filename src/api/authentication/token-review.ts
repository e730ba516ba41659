/**
 * TokenReview of authentication.k8s.io/v1 returns the user of a token. The fields follow k8s.io/api/authentication/v1.
 */
import { array, boolean, field, filled, map, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from '../core/meta.ts';

export const UserInfoSchema = object('UserInfo', {
  username: field(1, string),
  uid: field(2, string),
  groups: field(3, array(string)),
  extra: field(4, map(array(string))),
});
export type UserInfo = Infer<typeof UserInfoSchema>;

export const TokenReviewSpecSchema = object('TokenReviewSpec', {
  token: field(1, string, { mustBeWritten: true }),
  audiences: field(2, array(string)),
});
export type TokenReviewSpec = Infer<typeof TokenReviewSpecSchema>;

export const TokenReviewStatusSchema = object('TokenReviewStatus', {
  authenticated: field(1, boolean),
  user: field(2, UserInfoSchema),
  audiences: field(4, array(string)),
  error: field(3, string),
});
export type TokenReviewStatus = Infer<typeof TokenReviewStatusSchema>;

/** Not stored: the response to a create contains the status. */
export const TokenReviewSchema = object('TokenReview', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: required(2, TokenReviewSpecSchema),
  status: field(3, TokenReviewStatusSchema),
});
export type TokenReview = Infer<typeof TokenReviewSchema>;
