import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { ClusterRoleBindingSchema } from './cluster-role-binding.ts';

export const docs: readonly TypeDocs[] = [
  describe(ClusterRoleBindingSchema, 'Grants a cluster role in the whole cluster.', {
    subjects: 'The users, groups and service accounts that get the role.',
    roleRef: 'The role. Cannot be changed.',
  }),
];
