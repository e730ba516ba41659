/** What the access reviews of authorization.k8s.io/v1 share. The fields follow k8s.io/api/authorization/v1. */
import { array, boolean, field, map, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { LabelSelectorRequirementSchema } from '../core/meta.ts';

/** From meta/v1. Its operators are those of label selectors, but clients must accept other values. */
export const FieldSelectorRequirementSchema = object('FieldSelectorRequirement', {
  key: required(1, string),
  operator: required(2, string),
  values: field(3, array(string)),
});
export type FieldSelectorRequirement = Infer<typeof FieldSelectorRequirementSchema>;

/** One of the two fields is set. */
export const FieldSelectorAttributesSchema = object('FieldSelectorAttributes', {
  rawSelector: field(1, string),
  requirements: field(2, array(FieldSelectorRequirementSchema)),
});
export type FieldSelectorAttributes = Infer<typeof FieldSelectorAttributesSchema>;

/** One of the two fields is set. */
export const LabelSelectorAttributesSchema = object('LabelSelectorAttributes', {
  rawSelector: field(1, string),
  requirements: field(2, array(LabelSelectorRequirementSchema)),
});
export type LabelSelectorAttributes = Infer<typeof LabelSelectorAttributesSchema>;

export const ResourceAttributesSchema = object('ResourceAttributes', {
  /** Empty: cluster-scoped, or all namespaces. */
  namespace: field(1, string),
  verb: field(2, string),
  group: field(3, string),
  version: field(4, string),
  resource: field(5, string),
  subresource: field(6, string),
  /** Empty: all names. */
  name: field(7, string),
  fieldSelector: field(8, FieldSelectorAttributesSchema),
  labelSelector: field(9, LabelSelectorAttributesSchema),
});
export type ResourceAttributes = Infer<typeof ResourceAttributesSchema>;

export const NonResourceAttributesSchema = object('NonResourceAttributes', {
  path: field(1, string),
  verb: field(2, string),
});
export type NonResourceAttributes = Infer<typeof NonResourceAttributesSchema>;

/** Exactly one of resource and non-resource attributes. */
export const SubjectAccessReviewSpecSchema = object('SubjectAccessReviewSpec', {
  resourceAttributes: field(1, ResourceAttributesSchema),
  nonResourceAttributes: field(2, NonResourceAttributesSchema),
  user: field(3, string),
  groups: field(4, array(string)),
  extra: field(5, map(array(string))),
  uid: field(6, string),
});
export type SubjectAccessReviewSpec = Infer<typeof SubjectAccessReviewSpecSchema>;

export const SubjectAccessReviewStatusSchema = object('SubjectAccessReviewStatus', {
  allowed: required(1, boolean),
  denied: field(4, boolean),
  reason: field(2, string),
  evaluationError: field(3, string),
});
export type SubjectAccessReviewStatus = Infer<typeof SubjectAccessReviewStatusSchema>;
