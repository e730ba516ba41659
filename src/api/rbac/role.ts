/** Role of rbac.authorization.k8s.io/v1. The fields follow k8s.io/api/rbac/v1. */
import { array, filled, object, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from '../core/meta.ts';
import { PolicyRuleSchema } from './policy-rule.ts';

export const RoleSchema = object('Role', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  rules: filled(2, array(PolicyRuleSchema)),
});
export type Role = Infer<typeof RoleSchema>;
