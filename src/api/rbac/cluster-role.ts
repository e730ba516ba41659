/** ClusterRole of rbac.authorization.k8s.io/v1. The fields follow k8s.io/api/rbac/v1. */
import { array, field, filled, object, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { LabelSelectorSchema, ObjectMetaSchema } from '../core/meta.ts';
import { PolicyRuleSchema } from './policy-rule.ts';

/** The rules are those of all cluster roles that one of the selectors matches; a controller copies them. */
export const AggregationRuleSchema = object('AggregationRule', {
  clusterRoleSelectors: field(1, array(LabelSelectorSchema)),
});
export type AggregationRule = Infer<typeof AggregationRuleSchema>;

/** Cluster-scoped. */
export const ClusterRoleSchema = object('ClusterRole', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  rules: filled(2, array(PolicyRuleSchema)),
  aggregationRule: field(3, AggregationRuleSchema),
});
export type ClusterRole = Infer<typeof ClusterRoleSchema>;
