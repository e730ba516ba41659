/** PersistentVolumeClaim of core/v1. Which fields exist follows k8s.io/api/core/v1. */
import { array, map, object, oneOf, required, string, time } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ListMetaSchema, ObjectMetaSchema } from './meta.ts';
import { ConditionStatusSchema } from './pod-status.ts';
import { ResourceListSchema } from './resource-requirements.ts';
import { PersistentVolumeAccessModeSchema, PersistentVolumeClaimSpecSchema } from './volume-source.ts';

export const PersistentVolumeClaimPhaseSchema = oneOf('Pending', 'Bound', 'Lost');
export type PersistentVolumeClaimPhase = Infer<typeof PersistentVolumeClaimPhaseSchema>;

export const PersistentVolumeClaimConditionSchema = object('PersistentVolumeClaimCondition', {
  type: required(string),
  status: required(ConditionStatusSchema),
  lastProbeTime: time,
  lastTransitionTime: time,
  reason: string,
  message: string,
});
export type PersistentVolumeClaimCondition = Infer<typeof PersistentVolumeClaimConditionSchema>;

export const ModifyVolumeStatusSchema = object('ModifyVolumeStatus', {
  targetVolumeAttributesClassName: string,
  status: required(string),
});
export type ModifyVolumeStatus = Infer<typeof ModifyVolumeStatusSchema>;

export const PersistentVolumeClaimStatusSchema = object('PersistentVolumeClaimStatus', {
  phase: PersistentVolumeClaimPhaseSchema,
  accessModes: array(PersistentVolumeAccessModeSchema),
  capacity: ResourceListSchema,
  conditions: array(PersistentVolumeClaimConditionSchema, ['type']),
  allocatedResources: ResourceListSchema,
  allocatedResourceStatuses: map(string),
  currentVolumeAttributesClassName: string,
  modifyVolumeStatus: ModifyVolumeStatusSchema,
});
export type PersistentVolumeClaimStatus = Infer<typeof PersistentVolumeClaimStatusSchema>;

export const PersistentVolumeClaimSchema = object('PersistentVolumeClaim', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  spec: required(PersistentVolumeClaimSpecSchema),
  status: PersistentVolumeClaimStatusSchema,
});
export type PersistentVolumeClaim = Infer<typeof PersistentVolumeClaimSchema>;

export const PersistentVolumeClaimListSchema = object('PersistentVolumeClaimList', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  items: required(array(PersistentVolumeClaimSchema)),
});
export type PersistentVolumeClaimList = Infer<typeof PersistentVolumeClaimListSchema>;
