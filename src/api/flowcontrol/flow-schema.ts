/** FlowSchema of flowcontrol.apiserver.k8s.io/v1. The fields follow k8s.io/api/flowcontrol/v1. */
import { array, boolean, field, filled, int32, object, required, set, string, time } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from '../core/meta.ts';

export const UserSubjectSchema = object('UserSubject', { name: required(1, string) });
export type UserSubject = Infer<typeof UserSubjectSchema>;

export const GroupSubjectSchema = object('GroupSubject', { name: required(1, string) });
export type GroupSubject = Infer<typeof GroupSubjectSchema>;

export const ServiceAccountSubjectSchema = object('ServiceAccountSubject', {
  namespace: required(1, string),
  name: required(2, string),
});
export type ServiceAccountSubject = Infer<typeof ServiceAccountSubjectSchema>;

export const SubjectSchema = object('Subject', {
  kind: required(1, string),
  user: field(2, UserSubjectSchema),
  group: field(3, GroupSubjectSchema),
  serviceAccount: field(4, ServiceAccountSubjectSchema),
});
export type Subject = Infer<typeof SubjectSchema>;

export const ResourcePolicyRuleSchema = object('ResourcePolicyRule', {
  verbs: required(1, set(string)),
  apiGroups: required(2, set(string)),
  resources: required(3, set(string)),
  clusterScope: field(4, boolean),
  namespaces: field(5, set(string)),
});
export type ResourcePolicyRule = Infer<typeof ResourcePolicyRuleSchema>;

export const NonResourcePolicyRuleSchema = object('NonResourcePolicyRule', {
  verbs: required(1, set(string)),
  nonResourceURLs: required(6, set(string)),
});
export type NonResourcePolicyRule = Infer<typeof NonResourcePolicyRuleSchema>;

export const PolicyRulesWithSubjectsSchema = object('PolicyRulesWithSubjects', {
  subjects: required(1, array(SubjectSchema)),
  resourceRules: field(2, array(ResourcePolicyRuleSchema)),
  nonResourceRules: field(3, array(NonResourcePolicyRuleSchema)),
});
export type PolicyRulesWithSubjects = Infer<typeof PolicyRulesWithSubjectsSchema>;

export const PriorityLevelConfigurationReferenceSchema = object('PriorityLevelConfigurationReference', {
  name: required(1, string),
});
export type PriorityLevelConfigurationReference = Infer<typeof PriorityLevelConfigurationReferenceSchema>;

export const FlowDistinguisherMethodSchema = object('FlowDistinguisherMethod', { type: required(1, string) });
export type FlowDistinguisherMethod = Infer<typeof FlowDistinguisherMethodSchema>;

export const FlowSchemaSpecSchema = object('FlowSchemaSpec', {
  priorityLevelConfiguration: required(1, PriorityLevelConfigurationReferenceSchema),
  matchingPrecedence: filled(2, int32),
  distinguisherMethod: field(3, FlowDistinguisherMethodSchema),
  rules: field(4, array(PolicyRulesWithSubjectsSchema)),
});
export type FlowSchemaSpec = Infer<typeof FlowSchemaSpecSchema>;

export const FlowSchemaConditionSchema = object('FlowSchemaCondition', {
  type: field(1, string),
  status: field(2, string),
  lastTransitionTime: field(3, time),
  reason: field(4, string),
  message: field(5, string),
});
export type FlowSchemaCondition = Infer<typeof FlowSchemaConditionSchema>;

export const FlowSchemaStatusSchema = object('FlowSchemaStatus', {
  conditions: field(1, array(FlowSchemaConditionSchema, ['type'])),
});
export type FlowSchemaStatus = Infer<typeof FlowSchemaStatusSchema>;

export const FlowSchemaSchema = object('FlowSchema', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: filled(2, FlowSchemaSpecSchema),
  status: field(3, FlowSchemaStatusSchema),
});
export type FlowSchema = Infer<typeof FlowSchemaSchema>;
