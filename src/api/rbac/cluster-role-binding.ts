/** ClusterRoleBinding of rbac.authorization.k8s.io/v1. Which fields exist follows k8s.io/api/rbac/v1. */
import { array, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ListMetaSchema, ObjectMetaSchema } from '../core/meta.ts';
import { RoleRefSchema, SubjectSchema } from './policy-rule.ts';

/** Not in any namespace. */
export const ClusterRoleBindingSchema = object('ClusterRoleBinding', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  subjects: array(SubjectSchema),
  roleRef: required(RoleRefSchema),
});
export type ClusterRoleBinding = Infer<typeof ClusterRoleBindingSchema>;

export const ClusterRoleBindingListSchema = object('ClusterRoleBindingList', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  items: required(array(ClusterRoleBindingSchema)),
});
export type ClusterRoleBindingList = Infer<typeof ClusterRoleBindingListSchema>;
