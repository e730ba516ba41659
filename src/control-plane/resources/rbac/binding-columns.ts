import type { ClusterRoleBinding } from '../../../api/rbac/cluster-role-binding.ts';
import type { Subject } from '../../../api/rbac/policy-rule.ts';
import type { RoleBinding } from '../../../api/rbac/role-binding.ts';
import type { TableColumn } from '../../model/resource-definition.ts';
import { ageColumn } from '../print-cells.ts';

type AnyBinding = RoleBinding | ClusterRoleBinding;

const namesOf = (subjects: readonly Subject[] | undefined, kind: string): string =>
  (subjects ?? [])
    .filter((subject) => subject.kind === kind)
    .map(({ namespace, name }) => (kind === 'ServiceAccount' ? `${namespace ?? ''}/${name}` : name))
    .join(', ');

export const bindingColumns: readonly TableColumn<AnyBinding>[] = [
  {
    name: 'Role',
    type: 'string',
    description: 'The role that is given.',
    cell: ({ roleRef }) => `${roleRef.kind}/${roleRef.name}`,
  },
  ageColumn,
  {
    name: 'Users',
    type: 'string',
    priority: 1,
    description: 'The users that get it.',
    cell: ({ subjects }) => namesOf(subjects, 'User'),
  },
  {
    name: 'Groups',
    type: 'string',
    priority: 1,
    description: 'The groups that get it.',
    cell: ({ subjects }) => namesOf(subjects, 'Group'),
  },
  {
    name: 'ServiceAccounts',
    type: 'string',
    priority: 1,
    description: 'The service accounts that get it.',
    cell: ({ subjects }) => namesOf(subjects, 'ServiceAccount'),
  },
];
