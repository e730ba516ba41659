/** SelfSubjectRulesReview of authorization.k8s.io/v1: what may I do in this namespace? Which fields exist follows k8s.io/api/authorization/v1. */
import { array, boolean, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from '../core/meta.ts';

export const ResourceRuleSchema = object('ResourceRule', {
  verbs: required(array(string)),
  apiGroups: array(string),
  resources: array(string),
  resourceNames: array(string),
});
export type ResourceRule = Infer<typeof ResourceRuleSchema>;

export const NonResourceRuleSchema = object('NonResourceRule', {
  verbs: required(array(string)),
  nonResourceURLs: array(string),
});
export type NonResourceRule = Infer<typeof NonResourceRuleSchema>;

export const SelfSubjectRulesReviewSpecSchema = object('SelfSubjectRulesReviewSpec', {
  namespace: string,
});
export type SelfSubjectRulesReviewSpec = Infer<typeof SelfSubjectRulesReviewSpecSchema>;

export const SubjectRulesReviewStatusSchema = object('SubjectRulesReviewStatus', {
  resourceRules: required(array(ResourceRuleSchema)),
  nonResourceRules: required(array(NonResourceRuleSchema)),
  incomplete: required(boolean),
  evaluationError: string,
});
export type SubjectRulesReviewStatus = Infer<typeof SubjectRulesReviewStatusSchema>;

/** Not stored: the answer to a create has the status. */
export const SelfSubjectRulesReviewSchema = object('SelfSubjectRulesReview', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  spec: required(SelfSubjectRulesReviewSpecSchema),
  status: SubjectRulesReviewStatusSchema,
});
export type SelfSubjectRulesReview = Infer<typeof SelfSubjectRulesReviewSchema>;
