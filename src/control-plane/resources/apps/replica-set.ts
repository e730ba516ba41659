import type { ReplicaSet } from '../../../api/apps/replica-set.ts';
import { ReplicaSetSchema } from '../../../api/apps/replica-set.ts';
import { replicaSets } from '../../../api/client/resource-types.ts';
import { defaultReplicaSet } from '../../../api/defaults/default-apps.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import {
  validateReplicaSet,
  validateReplicaSetStatus,
  validateReplicaSetUpdate,
} from '../../../api/validation/workloads/validate-replica-set.ts';
import { defineResource } from '../define-resource.ts';
import { replicaScale } from './replica-scale.ts';
import { replicaColumns, templateColumns } from './template-columns.ts';
import { templateWarnings } from './template-warnings.ts';

export const replicaSetResource = defineResource<ReplicaSet>({
  type: replicaSets,
  singular: 'replicaset',
  shortNames: ['rs'],
  categories: ['all'],
  schema: ReplicaSetSchema,
  storagePath: 'replicasets',
  rules: {
    applyDefaults: defaultReplicaSet,
    prepareForCreate: (set) => ({ ...set, status: { replicas: 0 } }),
    validate: validateReplicaSet,
    validateName: checkDnsSubdomain,
    validateUpdate: validateReplicaSetUpdate,
    validateStatusUpdate: validateReplicaSetStatus,
    warnings: templateWarnings,
  },
  hasStatus: true,
  countsGeneration: true,
  columns: [...replicaColumns, ...templateColumns],
  views: [replicaScale(validateReplicaSetUpdate)],
});
