import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { conditionDocs } from './condition.docs.ts';
import {
  PersistentVolumeClaimConditionSchema,
  ModifyVolumeStatusSchema,
  PersistentVolumeClaimStatusSchema,
  PersistentVolumeClaimSchema,
} from './persistent-volume-claim.ts';

export const docs: readonly TypeDocs[] = [
  describe(PersistentVolumeClaimConditionSchema, 'A condition of a PersistentVolumeClaim.', {
    ...conditionDocs,
  }),
  describe(ModifyVolumeStatusSchema, 'The state of a change of the VolumeAttributesClass.', {
    targetVolumeAttributesClassName: 'The class that is being applied.',
    status: 'The progress of the change: Pending, InProgress or Infeasible.',
  }),
  describe(PersistentVolumeClaimStatusSchema, 'The state of a claim.', {
    phase: 'Pending, Bound or Lost.',
    accessModes: 'The access modes of the bound volume.',
    capacity: 'The capacity of the bound volume.',
    conditions: 'Conditions of the claim, such as the progress of a resize.',
    allocatedResources: 'The capacity that a resize has allocated.',
    allocatedResourceStatuses: 'The state of the resize, by resource.',
    currentVolumeAttributesClassName: 'The VolumeAttributesClass of the volume. Absent if it has none.',
    modifyVolumeStatus: 'The state of a change of the VolumeAttributesClass.',
  }),
  describe(PersistentVolumeClaimSchema, 'Requests storage for pods.', {}),
];
