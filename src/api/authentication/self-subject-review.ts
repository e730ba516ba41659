/**
 * SelfSubjectReview of authentication.k8s.io/v1 returns the identity of the requester. The fields follow
 * k8s.io/api/authentication/v1.
 */
import { field, filled, object, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from '../core/meta.ts';
import { UserInfoSchema } from './token-review.ts';

export const SelfSubjectReviewStatusSchema = object('SelfSubjectReviewStatus', {
  userInfo: field(1, UserInfoSchema),
});
export type SelfSubjectReviewStatus = Infer<typeof SelfSubjectReviewStatusSchema>;

/** Not stored: the response to a create contains the status. */
export const SelfSubjectReviewSchema = object('SelfSubjectReview', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  status: field(2, SelfSubjectReviewStatusSchema),
});
export type SelfSubjectReview = Infer<typeof SelfSubjectReviewSchema>;
