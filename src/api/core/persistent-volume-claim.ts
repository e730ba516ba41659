/** PersistentVolumeClaim of core/v1. The fields follow k8s.io/api/core/v1. */
import { array, field, filled, map, object, oneOf, pointer, required, string, time } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from './meta.ts';
import { ConditionStatusSchema } from './pod-status.ts';
import { ResourceListSchema } from './resource-requirements.ts';
import { PersistentVolumeAccessModeSchema, PersistentVolumeClaimSpecSchema } from './volume-source.ts';

const PersistentVolumeClaimPhaseSchema = oneOf('Pending', 'Bound', 'Lost');
export type PersistentVolumeClaimPhase = Infer<typeof PersistentVolumeClaimPhaseSchema>;

export const PersistentVolumeClaimConditionSchema = object('PersistentVolumeClaimCondition', {
  type: required(1, string),
  status: required(2, ConditionStatusSchema),
  lastProbeTime: field(3, time),
  lastTransitionTime: field(4, time),
  reason: field(5, string),
  message: field(6, string),
});
export type PersistentVolumeClaimCondition = Infer<typeof PersistentVolumeClaimConditionSchema>;

export const ModifyVolumeStatusSchema = object('ModifyVolumeStatus', {
  targetVolumeAttributesClassName: field(1, string),
  status: required(2, oneOf('Pending', 'InProgress', 'Infeasible')),
});
export type ModifyVolumeStatus = Infer<typeof ModifyVolumeStatusSchema>;

export const PersistentVolumeClaimStatusSchema = object('PersistentVolumeClaimStatus', {
  phase: field(1, PersistentVolumeClaimPhaseSchema),
  accessModes: field(2, array(PersistentVolumeAccessModeSchema)),
  capacity: field(3, ResourceListSchema),
  conditions: field(4, array(PersistentVolumeClaimConditionSchema, ['type'])),
  allocatedResources: field(5, ResourceListSchema),
  allocatedResourceStatuses: field(7, map(string)),
  currentVolumeAttributesClassName: pointer(8, string),
  modifyVolumeStatus: field(9, ModifyVolumeStatusSchema),
});
export type PersistentVolumeClaimStatus = Infer<typeof PersistentVolumeClaimStatusSchema>;

export const PersistentVolumeClaimSchema = object('PersistentVolumeClaim', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: filled(2, PersistentVolumeClaimSpecSchema),
  status: field(3, PersistentVolumeClaimStatusSchema),
});
export type PersistentVolumeClaim = Infer<typeof PersistentVolumeClaimSchema>;
