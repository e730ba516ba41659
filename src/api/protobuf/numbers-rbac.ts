/** Field numbers of rbac, v1: see `field-numbers.ts` for how to read them. */
export const rbacNumbers = {
  AggregationRule: 'clusterRoleSelectors:1',
  ClusterRole: 'metadata:1 rules:2 aggregationRule:3?',
  ClusterRoleBinding: 'metadata:1 subjects:2 roleRef:3',
  PolicyRule: 'verbs:1 apiGroups:2 resources:3 resourceNames:4 nonResourceURLs:5',
  Role: 'metadata:1 rules:2',
  RoleBinding: 'metadata:1 subjects:2 roleRef:3',
  RoleRef: 'apiGroup:1 kind:2 name:3',
  Subject: 'kind:1 apiGroup:2 name:3 namespace:4',
} as const;
