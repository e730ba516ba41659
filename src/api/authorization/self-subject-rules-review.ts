/**
 * SelfSubjectRulesReview of authorization.k8s.io/v1 lists what the requester may do in a namespace. The fields follow
 * k8s.io/api/authorization/v1.
 */
import { array, boolean, field, filled, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from '../core/meta.ts';

export const ResourceRuleSchema = object('ResourceRule', {
  verbs: required(1, array(string)),
  apiGroups: field(2, array(string)),
  resources: field(3, array(string)),
  resourceNames: field(4, array(string)),
});
export type ResourceRule = Infer<typeof ResourceRuleSchema>;

export const NonResourceRuleSchema = object('NonResourceRule', {
  verbs: required(1, array(string)),
  nonResourceURLs: field(2, array(string)),
});
export type NonResourceRule = Infer<typeof NonResourceRuleSchema>;

export const SelfSubjectRulesReviewSpecSchema = object('SelfSubjectRulesReviewSpec', {
  namespace: field(1, string),
});
export type SelfSubjectRulesReviewSpec = Infer<typeof SelfSubjectRulesReviewSpecSchema>;

export const SubjectRulesReviewStatusSchema = object('SubjectRulesReviewStatus', {
  resourceRules: required(1, array(ResourceRuleSchema)),
  nonResourceRules: required(2, array(NonResourceRuleSchema)),
  incomplete: required(3, boolean),
  evaluationError: field(4, string),
});
export type SubjectRulesReviewStatus = Infer<typeof SubjectRulesReviewStatusSchema>;

/** Not stored: the response to a create contains the status. */
export const SelfSubjectRulesReviewSchema = object('SelfSubjectRulesReview', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: required(2, SelfSubjectRulesReviewSpecSchema),
  status: field(3, SubjectRulesReviewStatusSchema),
});
export type SelfSubjectRulesReview = Infer<typeof SelfSubjectRulesReviewSchema>;
