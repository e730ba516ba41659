import type { StatefulSet } from '../../../api/apps/stateful-set.ts';
import { StatefulSetSchema } from '../../../api/apps/stateful-set.ts';
import { statefulSets } from '../../../api/client/resource-types.ts';
import { defaultStatefulSet } from '../../../api/defaults/default-stateful-set.ts';
import { checkDnsLabel } from '../../../api/validation/names.ts';
import { objectWarnings } from '../../../api/validation/object-warnings.ts';
import { podTemplateWarnings } from '../../../api/validation/pod/pod-template.ts';
import {
  validateStatefulSet,
  validateStatefulSetStatus,
  validateStatefulSetUpdate,
} from '../../../api/validation/workloads/validate-stateful-set.ts';
import { defineResource } from '../define-resource.ts';
import { ageColumn } from '../print-cells.ts';
import { replicaScale } from './replica-scale.ts';
import { templateColumns } from './template-columns.ts';

export const statefulSetResource = defineResource<StatefulSet>({
  type: statefulSets,
  singular: 'statefulset',
  shortNames: ['sts'],
  categories: ['all'],
  schema: StatefulSetSchema,
  storagePath: 'statefulsets',
  rules: {
    applyDefaults: defaultStatefulSet,
    prepareForCreate: (set) => ({ ...set, status: { replicas: 0, availableReplicas: 0 } }),
    validate: validateStatefulSet,
    validateName: checkDnsLabel,
    validateUpdate: validateStatefulSetUpdate,
    validateStatusUpdate: validateStatefulSetStatus,
    warnings: warningsOf,
  },
  hasStatus: true,
  countsGeneration: true,
  columns: [
    {
      name: 'Ready',
      type: 'string',
      description: 'Pods that are ready, of those that are wanted.',
      cell: ({ spec, status }) => `${status?.readyReplicas ?? 0}/${spec.replicas ?? 0}`,
    },
    ageColumn,
    ...templateColumns.filter(({ name }) => name !== 'Selector'),
  ],
  views: [replicaScale(validateStatefulSetUpdate)],
});

function warningsOf(set: StatefulSet, old: StatefulSet | undefined): string[] {
  const { template, volumeClaimTemplates = [], revisionHistoryLimit = 0 } = set.spec;
  const warnings =
    old !== undefined && set.metadata.generation === old.metadata.generation
      ? []
      : podTemplateWarnings('spec.template', template);
  for (const [index, object] of volumeClaimTemplates.entries())
    for (const { field, message } of objectWarnings({ kind: 'PersistentVolumeClaim', object }))
      if (field.startsWith('spec.'))
        warnings.push(`spec.volumeClaimTemplates[${index}].${field.slice('spec.'.length)}: ${message}`);
  if (revisionHistoryLimit < 0)
    warnings.push(
      'spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended',
    );
  return warnings;
}
