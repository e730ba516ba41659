/** PersistentVolume of core/v1. Which fields exist follows k8s.io/api/core/v1; sources that upstream hands to CSI only are kept as they came. */
import {
  array,
  atomic,
  boolean,
  granular,
  int32,
  map,
  object,
  oneOf,
  opaque,
  required,
  string,
  time,
} from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ListMetaSchema, ObjectMetaSchema, ObjectReferenceSchema } from './meta.ts';
import { ResourceListSchema } from './resource-requirements.ts';
import { NodeSelectorSchema } from './scheduling.ts';
import { FCVolumeSourceSchema, NFSVolumeSourceSchema } from './volume-source-remote.ts';
import {
  HostPathVolumeSourceSchema,
  PersistentVolumeAccessModeSchema,
  PersistentVolumeModeSchema,
} from './volume-source.ts';

/** A secret that may lie in any namespace. */
export const SecretReferenceSchema = atomic(object('SecretReference', { name: string, namespace: string }));
export type SecretReference = Infer<typeof SecretReferenceSchema>;

export const LocalVolumeSourceSchema = object('LocalVolumeSource', {
  path: required(string),
  fsType: string,
});
export type LocalVolumeSource = Infer<typeof LocalVolumeSourceSchema>;

export const ISCSIPersistentVolumeSourceSchema = object('ISCSIPersistentVolumeSource', {
  targetPortal: required(string),
  iqn: required(string),
  lun: required(int32),
  iscsiInterface: string,
  fsType: string,
  readOnly: boolean,
  portals: array(string),
  chapAuthDiscovery: boolean,
  chapAuthSession: boolean,
  secretRef: SecretReferenceSchema,
  initiatorName: string,
});
export type ISCSIPersistentVolumeSource = Infer<typeof ISCSIPersistentVolumeSourceSchema>;

export const FlexPersistentVolumeSourceSchema = object('FlexPersistentVolumeSource', {
  driver: required(string),
  fsType: string,
  secretRef: SecretReferenceSchema,
  readOnly: boolean,
  options: map(string),
});
export type FlexPersistentVolumeSource = Infer<typeof FlexPersistentVolumeSourceSchema>;

export const CSIPersistentVolumeSourceSchema = object('CSIPersistentVolumeSource', {
  driver: required(string),
  volumeHandle: required(string),
  readOnly: boolean,
  fsType: string,
  volumeAttributes: map(string),
  controllerPublishSecretRef: SecretReferenceSchema,
  nodeStageSecretRef: SecretReferenceSchema,
  nodePublishSecretRef: SecretReferenceSchema,
  controllerExpandSecretRef: SecretReferenceSchema,
  nodeExpandSecretRef: SecretReferenceSchema,
});
export type CSIPersistentVolumeSource = Infer<typeof CSIPersistentVolumeSourceSchema>;

export const PersistentVolumeReclaimPolicySchema = oneOf('Recycle', 'Delete', 'Retain');
export type PersistentVolumeReclaimPolicy = Infer<typeof PersistentVolumeReclaimPolicySchema>;

export const VolumeNodeAffinitySchema = object('VolumeNodeAffinity', {
  required: NodeSelectorSchema,
});
export type VolumeNodeAffinity = Infer<typeof VolumeNodeAffinitySchema>;

export const PersistentVolumeSpecSchema = object('PersistentVolumeSpec', {
  capacity: ResourceListSchema,
  accessModes: array(PersistentVolumeAccessModeSchema),
  claimRef: granular(ObjectReferenceSchema),
  persistentVolumeReclaimPolicy: PersistentVolumeReclaimPolicySchema,
  storageClassName: string,
  mountOptions: array(string),
  volumeMode: PersistentVolumeModeSchema,
  nodeAffinity: VolumeNodeAffinitySchema,
  volumeAttributesClassName: string,
  hostPath: HostPathVolumeSourceSchema,
  local: LocalVolumeSourceSchema,
  nfs: NFSVolumeSourceSchema,
  iscsi: ISCSIPersistentVolumeSourceSchema,
  fc: FCVolumeSourceSchema,
  csi: CSIPersistentVolumeSourceSchema,
  flexVolume: FlexPersistentVolumeSourceSchema,
  gcePersistentDisk: opaque,
  awsElasticBlockStore: opaque,
  glusterfs: opaque,
  rbd: opaque,
  cinder: opaque,
  cephfs: opaque,
  flocker: opaque,
  azureFile: opaque,
  vsphereVolume: opaque,
  quobyte: opaque,
  azureDisk: opaque,
  photonPersistentDisk: opaque,
  portworxVolume: opaque,
  scaleIO: opaque,
  storageos: opaque,
});
export type PersistentVolumeSpec = Infer<typeof PersistentVolumeSpecSchema>;

export const PersistentVolumePhaseSchema = oneOf('Pending', 'Available', 'Bound', 'Released', 'Failed');
export type PersistentVolumePhase = Infer<typeof PersistentVolumePhaseSchema>;

export const PersistentVolumeStatusSchema = object('PersistentVolumeStatus', {
  phase: PersistentVolumePhaseSchema,
  message: string,
  reason: string,
  lastPhaseTransitionTime: time,
});
export type PersistentVolumeStatus = Infer<typeof PersistentVolumeStatusSchema>;

/** Not in any namespace. */
export const PersistentVolumeSchema = object('PersistentVolume', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  spec: required(PersistentVolumeSpecSchema),
  status: PersistentVolumeStatusSchema,
});
export type PersistentVolume = Infer<typeof PersistentVolumeSchema>;

export const PersistentVolumeListSchema = object('PersistentVolumeList', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  items: required(array(PersistentVolumeSchema)),
});
export type PersistentVolumeList = Infer<typeof PersistentVolumeListSchema>;
