/** RoleBinding of rbac.authorization.k8s.io/v1. Which fields exist follows k8s.io/api/rbac/v1. */
import { array, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ListMetaSchema, ObjectMetaSchema } from '../core/meta.ts';
import { RoleRefSchema, SubjectSchema } from './policy-rule.ts';

export const RoleBindingSchema = object('RoleBinding', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  subjects: array(SubjectSchema),
  roleRef: required(RoleRefSchema),
});
export type RoleBinding = Infer<typeof RoleBindingSchema>;

export const RoleBindingListSchema = object('RoleBindingList', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  items: required(array(RoleBindingSchema)),
});
export type RoleBindingList = Infer<typeof RoleBindingListSchema>;
