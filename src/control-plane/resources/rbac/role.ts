import { roles } from '../../../api/client/resource-types.ts';
import type { Role } from '../../../api/rbac/role.ts';
import { RoleSchema } from '../../../api/rbac/role.ts';
import { validateRole } from '../../../api/validation/access/validate-rbac.ts';
import { checkPathSegment } from '../../../api/validation/names.ts';
import { defineResource } from '../define-resource.ts';

/**
 * That roles and bindings give no more than their writer has (`escalate`, `bind`) is asked of the authorizer, so it is no
 * rule of these kinds: admission asks it for creates, updates and patches of all four.
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
