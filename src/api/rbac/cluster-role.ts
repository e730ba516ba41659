/** ClusterRole of rbac.authorization.k8s.io/v1. Which fields exist follows k8s.io/api/rbac/v1. */
import { array, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { LabelSelectorSchema, ListMetaSchema, ObjectMetaSchema } from '../core/meta.ts';
import { PolicyRuleSchema } from './policy-rule.ts';

/** The rules are those of all cluster roles that one of the selectors selects; a controller fills them in. */
export const AggregationRuleSchema = object('AggregationRule', {
  clusterRoleSelectors: array(LabelSelectorSchema),
});
export type AggregationRule = Infer<typeof AggregationRuleSchema>;

/** Not in any namespace. */
export const ClusterRoleSchema = object('ClusterRole', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  rules: required(array(PolicyRuleSchema)),
  aggregationRule: AggregationRuleSchema,
});
export type ClusterRole = Infer<typeof ClusterRoleSchema>;

export const ClusterRoleListSchema = object('ClusterRoleList', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  items: required(array(ClusterRoleSchema)),
});
export type ClusterRoleList = Infer<typeof ClusterRoleListSchema>;
