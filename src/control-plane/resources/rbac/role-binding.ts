import { roleBindings } from '../../../api/client/resource-types.ts';
import { defaultBinding } from '../../../api/defaults/default-rbac.ts';
import type { RoleBinding } from '../../../api/rbac/role-binding.ts';
import { RoleBindingSchema } from '../../../api/rbac/role-binding.ts';
import { validateRoleBinding, validateRoleBindingUpdate } from '../../../api/validation/access/validate-rbac.ts';
import { checkPathSegment } from '../../../api/validation/names.ts';
import { defineResource } from '../define-resource.ts';
import { bindingColumns } from './binding-columns.ts';

export const roleBindingResource = defineResource<RoleBinding>({
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
});
