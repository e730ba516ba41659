import { roles } from '../../../api/client/resource-types.ts';
import type { Role } from '../../../api/rbac/role.ts';
import { RoleSchema } from '../../../api/rbac/role.ts';
import { validateRole } from '../../../api/validation/access/validate-rbac.ts';
import { checkPathSegment } from '../../../api/validation/names.ts';
import { defineResource } from '../define-resource.ts';

/**
 * Privilege escalation (`escalate`, `bind`) is checked with the authorizer, so admission does it, for creates, updates
 * and patches of all four kinds.
 */
export const roleResource = defineResource<Role>({
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
});
