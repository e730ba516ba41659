import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { PolicyRuleSchema, SubjectSchema, RoleRefSchema } from './policy-rule.ts';

export const docs: readonly TypeDocs[] = [
  describe(PolicyRuleSchema, 'A permission.', {
    verbs: 'The verbs; * grants all.',
    apiGroups: 'The API groups; "" is the core group, * all.',
    resources: 'The resources, such as pods or pods/log; * grants all.',
    resourceNames: 'The names of the objects. Empty: all.',
    nonResourceURLs: 'Paths that are not resources, such as /healthz or /metrics/*. Only in cluster roles.',
  }),
  describe(SubjectSchema, 'A user, group or service account.', {
    kind: 'User, Group or ServiceAccount.',
    apiGroup:
      'The group of the kind. Default rbac.authorization.k8s.io for users and groups, empty for service accounts.',
    name: 'The name.',
    namespace: 'The namespace of a service account.',
  }),
  describe(RoleRefSchema, 'The role that a binding grants.', {
    apiGroup: 'The group of the role. Default rbac.authorization.k8s.io.',
    kind: 'Role or ClusterRole.',
    name: 'The name of the role.',
  }),
];
