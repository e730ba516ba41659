/** What the kinds of rbac.authorization.k8s.io/v1 share: rules, subjects, references to roles. Which fields exist follows k8s.io/api/rbac/v1. */
import { array, atomic, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';

export const PolicyRuleSchema = object('PolicyRule', {
  verbs: required(array(string)),
  apiGroups: array(string),
  resources: array(string),
  /** Empty: all names. */
  resourceNames: array(string),
  nonResourceURLs: array(string),
});
export type PolicyRule = Infer<typeof PolicyRuleSchema>;

export const SubjectSchema = atomic(
  object('Subject', {
    /** `User`, `Group` or `ServiceAccount`. */
    kind: required(string),
    apiGroup: string,
    name: required(string),
    /** Of service accounts only. */
    namespace: string,
  }),
);
export type Subject = Infer<typeof SubjectSchema>;

export const RoleRefSchema = atomic(
  object('RoleRef', {
    apiGroup: required(string),
    /** `Role` or `ClusterRole`. */
    kind: required(string),
    name: required(string),
  }),
);
export type RoleRef = Infer<typeof RoleRefSchema>;
