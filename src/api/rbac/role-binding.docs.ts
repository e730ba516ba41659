import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { RoleBindingSchema } from './role-binding.ts';

export const docs: readonly TypeDocs[] = [
  describe(RoleBindingSchema, 'Grants a role in one namespace.', {
    subjects: 'The users, groups and service accounts that get the role.',
    roleRef: 'The role. Cannot be changed.',
  }),
];
