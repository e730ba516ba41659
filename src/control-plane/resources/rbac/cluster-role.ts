import { clusterRoles } from '../../../api/client/resource-types.ts';
import type { ClusterRole } from '../../../api/rbac/cluster-role.ts';
import { ClusterRoleSchema } from '../../../api/rbac/cluster-role.ts';
import { validateClusterRole, validateClusterRoleUpdate } from '../../../api/validation/access/validate-rbac.ts';
import { checkPathSegment } from '../../../api/validation/names.ts';
import { defineResource } from '../define-resource.ts';

export const clusterRoleResource = defineResource<ClusterRole>({
  type: clusterRoles,
  singular: 'clusterrole',
  schema: ClusterRoleSchema,
  storagePath: 'clusterroles',
  rules: {
    applyDefaults: (role) => role,
    validate: validateClusterRole,
    validateName: checkPathSegment,
    validateUpdate: validateClusterRoleUpdate,
    allowCreateOnUpdate: true,
  },
});
