import { persistentVolumeClaims } from '../../../api/client/resource-types.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import { PersistentVolumeClaimSchema } from '../../../api/core/persistent-volume-claim.ts';
import { defaultPersistentVolumeClaim } from '../../../api/defaults/default-storage.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import { objectWarnings } from '../../../api/validation/object-warnings.ts';
import { warningText } from '../../../api/validation/pod/pod-warnings.ts';
import {
  STORAGE_CLASS_ANNOTATION,
  validatePersistentVolumeClaimStatusUpdate,
  validatePersistentVolumeClaimUpdate,
} from '../../../api/validation/volumes/validate-volume-updates.ts';
import { validatePersistentVolumeClaim } from '../../../api/validation/volumes/volume-claim.ts';
import { defineResource } from '../define-resource.ts';
import { ageColumn } from '../print-cells.ts';
import { formatAccessModes } from './access-modes.ts';

/** `dataSource` and `dataSourceRef` are kept equal (upstream: NormalizeDataSources). */
function pairSources(claim: PersistentVolumeClaim): PersistentVolumeClaim {
  const { dataSource, dataSourceRef } = claim.spec;
  if (dataSource !== undefined && dataSourceRef === undefined)
    return { ...claim, spec: { ...claim.spec, dataSourceRef: { ...dataSource } } };
  if (dataSource !== undefined || dataSourceRef === undefined || dataSourceRef.namespace) return claim;
  const { namespace: _, ...source } = dataSourceRef;
  return { ...claim, spec: { ...claim.spec, dataSource: source } };
}

export const persistentVolumeClaimResource = defineResource<PersistentVolumeClaim>({
  type: persistentVolumeClaims,
  singular: 'persistentvolumeclaim',
  shortNames: ['pvc'],
  schema: PersistentVolumeClaimSchema,
  storagePath: 'persistentvolumeclaims',
  rules: {
    applyDefaults: defaultPersistentVolumeClaim,
    prepareForCreate: (claim) => pairSources({ ...claim, status: { phase: 'Pending' } }),
    validate: validatePersistentVolumeClaim,
    validateName: checkDnsSubdomain,
    prepareForUpdate: pairSources,
    validateUpdate: validatePersistentVolumeClaimUpdate,
    validateStatusUpdate: validatePersistentVolumeClaimStatusUpdate,
    warnings: (object) => objectWarnings({ kind: 'PersistentVolumeClaim', object }).map(warningText),
    returnsDeleted: true,
  },
  columns: [
    {
      name: 'Status',
      type: 'string',
      description: 'Whether it is bound.',
      cell: ({ metadata, status }) =>
        metadata.deletionTimestamp === undefined ? (status?.phase ?? '') : 'Terminating',
    },
    {
      name: 'Volume',
      type: 'string',
      description: 'The volume it is bound to.',
      cell: ({ spec }) => spec.volumeName ?? '',
    },
    {
      name: 'Capacity',
      type: 'string',
      description: 'How much that holds.',
      cell: ({ spec, status }) => (spec.volumeName ? (status?.capacity?.['storage'] ?? '0') : ''),
    },
    {
      name: 'Access Modes',
      type: 'string',
      description: 'In which ways that may be mounted.',
      cell: ({ spec, status }) => (spec.volumeName ? formatAccessModes(status?.accessModes) : ''),
    },
    {
      name: 'StorageClass',
      type: 'string',
      description: 'The class it asks for.',
      cell: ({ metadata, spec }) => metadata.annotations?.[STORAGE_CLASS_ANNOTATION] ?? spec.storageClassName ?? '',
    },
    {
      name: 'VolumeAttributesClass',
      type: 'string',
      description: 'The class of attributes it asks for.',
      cell: ({ spec }) => spec.volumeAttributesClassName ?? '<unset>',
    },
    ageColumn,
    {
      name: 'VolumeMode',
      type: 'string',
      priority: 1,
      description: 'Whether it is a file system or a raw device.',
      cell: ({ spec }) => spec.volumeMode ?? '<unset>',
    },
  ],
  hasStatus: true,
});
