/**
 * SelfSubjectAccessReview of authorization.k8s.io/v1 checks whether the requester may do something. The fields follow
 * k8s.io/api/authorization/v1.
 */
import { field, filled, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from '../core/meta.ts';
import {
  NonResourceAttributesSchema,
  ResourceAttributesSchema,
  SubjectAccessReviewStatusSchema,
} from './access-review.ts';

/** Exactly one of the two. */
export const SelfSubjectAccessReviewSpecSchema = object('SelfSubjectAccessReviewSpec', {
  resourceAttributes: field(1, ResourceAttributesSchema),
  nonResourceAttributes: field(2, NonResourceAttributesSchema),
});
export type SelfSubjectAccessReviewSpec = Infer<typeof SelfSubjectAccessReviewSpecSchema>;

/** Not stored: the response to a create contains the status. */
export const SelfSubjectAccessReviewSchema = object('SelfSubjectAccessReview', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: required(2, SelfSubjectAccessReviewSpecSchema),
  status: field(3, SubjectAccessReviewStatusSchema),
});
export type SelfSubjectAccessReview = Infer<typeof SelfSubjectAccessReviewSchema>;
