import { clusterRoleBindings } from '../../../api/client/resource-types.ts';
import { defaultBinding } from '../../../api/defaults/default-rbac.ts';
import type { ClusterRoleBinding } from '../../../api/rbac/cluster-role-binding.ts';
import { ClusterRoleBindingSchema } from '../../../api/rbac/cluster-role-binding.ts';
import {
  validateClusterRoleBinding,
  validateClusterRoleBindingUpdate,
} from '../../../api/validation/access/validate-rbac.ts';
import { checkPathSegment } from '../../../api/validation/names.ts';
import { defineResource } from '../define-resource.ts';
import { bindingColumns } from './binding-columns.ts';

export const clusterRoleBindingResource = defineResource<ClusterRoleBinding>({
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
});
