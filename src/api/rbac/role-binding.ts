/** RoleBinding of rbac.authorization.k8s.io/v1. The fields follow k8s.io/api/rbac/v1. */
import { array, field, filled, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from '../core/meta.ts';
import { RoleRefSchema, SubjectSchema } from './policy-rule.ts';

export const RoleBindingSchema = object('RoleBinding', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  subjects: field(2, array(SubjectSchema)),
  roleRef: required(3, RoleRefSchema),
});
export type RoleBinding = Infer<typeof RoleBindingSchema>;
