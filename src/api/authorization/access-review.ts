/** What the access reviews of authorization.k8s.io/v1 share. Which fields exist follows k8s.io/api/authorization/v1. */
import { array, boolean, map, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { LabelSelectorRequirementSchema } from '../core/meta.ts';

/** Of meta/v1; its operators are those of label selectors, but not a closed set. */
export const FieldSelectorRequirementSchema = object('FieldSelectorRequirement', {
  key: required(string),
  operator: required(string),
  values: array(string),
});
export type FieldSelectorRequirement = Infer<typeof FieldSelectorRequirementSchema>;

/** Either of the two. */
export const FieldSelectorAttributesSchema = object('FieldSelectorAttributes', {
  rawSelector: string,
  requirements: array(FieldSelectorRequirementSchema),
});
export type FieldSelectorAttributes = Infer<typeof FieldSelectorAttributesSchema>;

/** Either of the two. */
export const LabelSelectorAttributesSchema = object('LabelSelectorAttributes', {
  rawSelector: string,
  requirements: array(LabelSelectorRequirementSchema),
});
export type LabelSelectorAttributes = Infer<typeof LabelSelectorAttributesSchema>;

export const ResourceAttributesSchema = object('ResourceAttributes', {
  /** Empty: cluster-wide, or all namespaces. */
  namespace: string,
  verb: string,
  group: string,
  version: string,
  resource: string,
  subresource: string,
  /** Empty: all. */
  name: string,
  fieldSelector: FieldSelectorAttributesSchema,
  labelSelector: LabelSelectorAttributesSchema,
});
export type ResourceAttributes = Infer<typeof ResourceAttributesSchema>;

export const NonResourceAttributesSchema = object('NonResourceAttributes', {
  path: string,
  verb: string,
});
export type NonResourceAttributes = Infer<typeof NonResourceAttributesSchema>;

/** Exactly one of resource and non-resource attributes. */
export const SubjectAccessReviewSpecSchema = object('SubjectAccessReviewSpec', {
  resourceAttributes: ResourceAttributesSchema,
  nonResourceAttributes: NonResourceAttributesSchema,
  user: string,
  groups: array(string),
  extra: map(array(string)),
  uid: string,
});
export type SubjectAccessReviewSpec = Infer<typeof SubjectAccessReviewSpecSchema>;

export const SubjectAccessReviewStatusSchema = object('SubjectAccessReviewStatus', {
  allowed: required(boolean),
  denied: boolean,
  reason: string,
  evaluationError: string,
});
export type SubjectAccessReviewStatus = Infer<typeof SubjectAccessReviewStatusSchema>;
