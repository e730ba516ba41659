/**
 * What the kinds of rbac.authorization.k8s.io/v1 share: rules, subjects, references to roles. The fields follow
 * k8s.io/api/rbac/v1.
 */
import { array, atomic, field, filled, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';

export const PolicyRuleSchema = object('PolicyRule', {
  verbs: required(1, array(string)),
  apiGroups: field(2, array(string)),
  resources: field(3, array(string)),
  /** Empty: all names. */
  resourceNames: field(4, array(string)),
  nonResourceURLs: field(5, array(string)),
});
export type PolicyRule = Infer<typeof PolicyRuleSchema>;

export const SubjectSchema = atomic(
  object('Subject', {
    /** `User`, `Group` or `ServiceAccount`. */
    kind: required(1, string),
    apiGroup: field(2, string),
    name: required(3, string),
    /** For service accounts only. */
    namespace: field(4, string),
  }),
);
export type Subject = Infer<typeof SubjectSchema>;

export const RoleRefSchema = atomic(
  object('RoleRef', {
    apiGroup: filled(1, string),
    /** `Role` or `ClusterRole`. */
    kind: required(2, string),
    name: required(3, string),
  }),
);
export type RoleRef = Infer<typeof RoleRefSchema>;
