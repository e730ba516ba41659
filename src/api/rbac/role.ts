/** Role of rbac.authorization.k8s.io/v1. Which fields exist follows k8s.io/api/rbac/v1. */
import { array, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ListMetaSchema, ObjectMetaSchema } from '../core/meta.ts';
import { PolicyRuleSchema } from './policy-rule.ts';

export const RoleSchema = object('Role', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  rules: required(array(PolicyRuleSchema)),
});
export type Role = Infer<typeof RoleSchema>;

export const RoleListSchema = object('RoleList', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  items: required(array(RoleSchema)),
});
export type RoleList = Infer<typeof RoleListSchema>;
