import { clusterRoleBindings, clusterRoles, roleBindings, roles } from '../../api/client/resource-types.ts';
import { defaultBinding } from '../../api/defaults/default-rbac.ts';
import type { ClusterRoleBinding } from '../../api/rbac/cluster-role-binding.ts';
import { ClusterRoleBindingSchema } from '../../api/rbac/cluster-role-binding.ts';
import type { ClusterRole } from '../../api/rbac/cluster-role.ts';
import { ClusterRoleSchema } from '../../api/rbac/cluster-role.ts';
import type { Subject } from '../../api/rbac/policy-rule.ts';
import type { RoleBinding } from '../../api/rbac/role-binding.ts';
import { RoleBindingSchema } from '../../api/rbac/role-binding.ts';
import type { Role } from '../../api/rbac/role.ts';
import { RoleSchema } from '../../api/rbac/role.ts';
import { checkPathSegment } from '../../api/validation/names.ts';
import {
  validateClusterRole,
  validateClusterRoleBinding,
  validateClusterRoleBindingUpdate,
  validateRole,
  validateRoleBinding,
  validateRoleBindingUpdate,
} from '../../api/validation/access/validate-rbac.ts';
import type { ResourceDefinition, TableColumn } from '../model/resource-definition.ts';
import { ageColumn } from './cells.ts';
import { defineResource } from './define-resource.ts';

/*
 * Nobody may write a role that gives more than they have, or bind to one, unless they may `escalate` or `bind`. That is asked of the authorizer and
 * so no rule of these kinds: admission asks it for creates, updates and patches of all four.
 */

const roleDefinition: ResourceDefinition<Role> = {
  type: roles,
  singular: 'role',
  schema: RoleSchema,
  storagePath: 'roles',
  rules: {
    applyDefaults: (role) => role,
    validate: validateRole,
    validateName: checkPathSegment,
    validateUpdate: validateRole,
    allowCreateOnUpdate: true,
  },
};

const clusterRoleDefinition: ResourceDefinition<ClusterRole> = {
  type: clusterRoles,
  singular: 'clusterrole',
  schema: ClusterRoleSchema,
  storagePath: 'clusterroles',
  rules: {
    applyDefaults: (role) => role,
    validate: validateClusterRole,
    validateName: checkPathSegment,
    validateUpdate: validateClusterRole,
    allowCreateOnUpdate: true,
  },
};

type AnyBinding = RoleBinding | ClusterRoleBinding;

const namesOf = (subjects: readonly Subject[] | undefined, kind: string): string =>
  (subjects ?? [])
    .filter((subject) => subject.kind === kind)
    .map(({ namespace, name }) => (kind === 'ServiceAccount' ? `${namespace ?? ''}/${name}` : name))
    .join(', ');

const bindingColumns: readonly TableColumn<AnyBinding>[] = [
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

const roleBindingDefinition: ResourceDefinition<RoleBinding> = {
  type: roleBindings,
  singular: 'rolebinding',
  schema: RoleBindingSchema,
  storagePath: 'rolebindings',
  rules: {
    applyDefaults: defaultBinding,
    validate: validateRoleBinding,
    validateName: checkPathSegment,
    validateUpdate: validateRoleBindingUpdate,
    allowCreateOnUpdate: true,
  },
  columns: bindingColumns,
};

const clusterRoleBindingDefinition: ResourceDefinition<ClusterRoleBinding> = {
  type: clusterRoleBindings,
  singular: 'clusterrolebinding',
  schema: ClusterRoleBindingSchema,
  storagePath: 'clusterrolebindings',
  rules: {
    applyDefaults: defaultBinding,
    validate: validateClusterRoleBinding,
    validateName: checkPathSegment,
    validateUpdate: validateClusterRoleBindingUpdate,
    allowCreateOnUpdate: true,
  },
  columns: bindingColumns,
};

export const rbacResources: readonly ResourceDefinition[] = [
  defineResource(clusterRoleBindingDefinition),
  defineResource(clusterRoleDefinition),
  defineResource(roleBindingDefinition),
  defineResource(roleDefinition),
];
