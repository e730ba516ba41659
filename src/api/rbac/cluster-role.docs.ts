import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { AggregationRuleSchema, ClusterRoleSchema } from './cluster-role.ts';

export const docs: readonly TypeDocs[] = [
  describe(AggregationRuleSchema, 'Combines the rules of other cluster roles.', {
    clusterRoleSelectors: 'Selectors of cluster roles; one of them must match.',
  }),
  describe(ClusterRoleSchema, 'Permissions in all namespaces, and for cluster-scoped objects.', {
    rules: 'The permissions.',
    aggregationRule: 'Selects cluster roles whose rules are copied into this one.',
  }),
];
