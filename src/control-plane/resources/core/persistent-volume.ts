import { persistentVolumes } from '../../../api/client/resource-types.ts';
import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import { PersistentVolumeSchema } from '../../../api/core/persistent-volume.ts';
import { defaultPersistentVolume } from '../../../api/defaults/default-storage.ts';
import { formatTime } from '../../../api/time.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import { objectWarnings } from '../../../api/validation/object-warnings.ts';
import { warningText } from '../../../api/validation/pod/pod-warnings.ts';
import { validatePersistentVolume } from '../../../api/validation/volumes/validate-persistent-volume.ts';
import {
  STORAGE_CLASS_ANNOTATION,
  validatePersistentVolumeUpdate,
} from '../../../api/validation/volumes/validate-volume-updates.ts';
import type { RequestFacts } from '../../model/resource-definition.ts';
import { defineResource } from '../define-resource.ts';
import { ageColumn } from '../print-cells.ts';
import { formatAccessModes } from './access-modes.ts';

/** Sets the time of the last change of the phase, unless the writer sets another one. */
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

export const persistentVolumeResource = defineResource<PersistentVolume>({
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
    warnings: (object) => objectWarnings({ kind: 'PersistentVolume', object }).map(warningText),
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
      cell: ({ metadata, spec }) => metadata.annotations?.[STORAGE_CLASS_ANNOTATION] ?? spec.storageClassName ?? '',
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
});
