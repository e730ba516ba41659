import { persistentVolumeClaims, persistentVolumes } from '../../api/client/resource-types.ts';
import type { PersistentVolumeClaim } from '../../api/core/persistent-volume-claim.ts';
import { PersistentVolumeClaimSchema } from '../../api/core/persistent-volume-claim.ts';
import type { PersistentVolume } from '../../api/core/persistent-volume.ts';
import { PersistentVolumeSchema } from '../../api/core/persistent-volume.ts';
import { defaultPersistentVolume, defaultPersistentVolumeClaim } from '../../api/defaults/default-storage.ts';
import { formatTime } from '../../api/time.ts';
import { checkDnsSubdomain } from '../../api/validation/names.ts';
import { objectWarnings } from '../../api/validation/object-warnings.ts';
import { validatePersistentVolume } from '../../api/validation/volumes/validate-persistent-volume.ts';
import {
  storageClassAnnotation,
  validatePersistentVolumeClaimStatusUpdate,
  validatePersistentVolumeClaimUpdate,
  validatePersistentVolumeUpdate,
} from '../../api/validation/volumes/validate-volume-updates.ts';
import { validatePersistentVolumeClaim } from '../../api/validation/volumes/volume-claim.ts';
import type { RequestFacts, ResourceDefinition } from '../model/resource-definition.ts';
import { ageColumn } from './cells.ts';
import { defineResource } from './define-resource.ts';

const shortModes = [
  ['ReadWriteOnce', 'RWO'],
  ['ReadOnlyMany', 'ROX'],
  ['ReadWriteMany', 'RWX'],
  ['ReadWriteOncePod', 'RWOP'],
] as const;

export function formatAccessModes(modes: readonly string[] = []): string {
  return shortModes
    .filter(([mode]) => modes.includes(mode))
    .map(([, short]) => short)
    .join(',');
}

/** When the phase changed last; who knows better may say so. */
function keepTransitionTime(
  volume: PersistentVolume,
  old: PersistentVolume,
  { nowMs }: RequestFacts,
): PersistentVolume {
  const { status = {} } = volume;
  const before = old.status ?? {};
  const isSaid = status.lastPhaseTransitionTime !== undefined;
  if (status.phase === before.phase)
    return isSaid || before.lastPhaseTransitionTime === undefined
      ? volume
      : { ...volume, status: { ...status, lastPhaseTransitionTime: before.lastPhaseTransitionTime } };
  if (isSaid && status.lastPhaseTransitionTime !== before.lastPhaseTransitionTime) return volume;
  return { ...volume, status: { ...status, lastPhaseTransitionTime: formatTime(nowMs) } };
}

const volumeDefinition: ResourceDefinition<PersistentVolume> = {
  type: persistentVolumes,
  singular: 'persistentvolume',
  shortNames: ['pv'],
  schema: PersistentVolumeSchema,
  storagePath: 'persistentvolumes',
  rules: {
    applyDefaults: defaultPersistentVolume,
    prepareForCreate: (volume, { nowMs }) => ({
      ...volume,
      status: { phase: 'Pending', lastPhaseTransitionTime: formatTime(nowMs) },
    }),
    validate: validatePersistentVolume,
    validateName: checkDnsSubdomain,
    validateUpdate: validatePersistentVolumeUpdate,
    prepareForStatusUpdate: keepTransitionTime,
    warnings: (object) =>
      objectWarnings({ kind: 'PersistentVolume', object }).map(({ field, message }) => `${field}: ${message}`),
    returnsDeleted: true,
  },
  columns: [
    {
      name: 'Capacity',
      type: 'string',
      description: 'How much it holds.',
      cell: ({ spec }) => spec.capacity?.['storage'] ?? '0',
    },
    {
      name: 'Access Modes',
      type: 'string',
      description: 'In which ways it may be mounted.',
      cell: ({ spec }) => formatAccessModes(spec.accessModes),
    },
    {
      name: 'Reclaim Policy',
      type: 'string',
      description: 'What happens when its claim is gone.',
      cell: ({ spec }) => spec.persistentVolumeReclaimPolicy ?? '',
    },
    {
      name: 'Status',
      type: 'string',
      description: 'Whether it is free, bound or released.',
      cell: ({ metadata, status }) =>
        metadata.deletionTimestamp === undefined ? (status?.phase ?? '') : 'Terminating',
    },
    {
      name: 'Claim',
      type: 'string',
      description: 'The claim it is bound to.',
      cell: ({ spec: { claimRef } }) =>
        claimRef === undefined ? '' : `${claimRef.namespace ?? ''}/${claimRef.name ?? ''}`,
    },
    {
      name: 'StorageClass',
      type: 'string',
      description: 'The class it belongs to.',
      cell: ({ metadata, spec }) => metadata.annotations?.[storageClassAnnotation] ?? spec.storageClassName ?? '',
    },
    {
      name: 'VolumeAttributesClass',
      type: 'string',
      description: 'The class of its attributes.',
      cell: ({ spec }) => spec.volumeAttributesClassName ?? '<unset>',
    },
    {
      name: 'Reason',
      type: 'string',
      description: 'Why it is in its state.',
      cell: ({ status }) => status?.reason ?? '',
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
};

/** The old and the new field for the source say the same (upstream: NormalizeDataSources). */
function pairSources(claim: PersistentVolumeClaim): PersistentVolumeClaim {
  const { dataSource, dataSourceRef } = claim.spec;
  if (dataSource !== undefined && dataSourceRef === undefined)
    return { ...claim, spec: { ...claim.spec, dataSourceRef: { ...dataSource } } };
  if (dataSource !== undefined || dataSourceRef === undefined || dataSourceRef.namespace) return claim;
  const { namespace: _, ...source } = dataSourceRef;
  return { ...claim, spec: { ...claim.spec, dataSource: source } };
}

const claimDefinition: ResourceDefinition<PersistentVolumeClaim> = {
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
    warnings: (object) =>
      objectWarnings({ kind: 'PersistentVolumeClaim', object }).map(({ field, message }) => `${field}: ${message}`),
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
      cell: ({ metadata, spec }) => metadata.annotations?.[storageClassAnnotation] ?? spec.storageClassName ?? '',
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
};

export const volumeResources: readonly ResourceDefinition[] = [
  defineResource(volumeDefinition),
  defineResource(claimDefinition),
];
