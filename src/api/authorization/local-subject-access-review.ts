/**
 * LocalSubjectAccessReview of authorization.k8s.io/v1 checks whether a user may do something in one namespace. The
 * fields follow k8s.io/api/authorization/v1.
 */
import { field, filled, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from '../core/meta.ts';
import { SubjectAccessReviewSpecSchema, SubjectAccessReviewStatusSchema } from './access-review.ts';

/** Not stored: the response to a create contains the status. */
export const LocalSubjectAccessReviewSchema = object('LocalSubjectAccessReview', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: required(2, SubjectAccessReviewSpecSchema),
  status: field(3, SubjectAccessReviewStatusSchema),
});
export type LocalSubjectAccessReview = Infer<typeof LocalSubjectAccessReviewSchema>;
