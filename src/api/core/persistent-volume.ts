/** PersistentVolume of core/v1. The fields follow k8s.io/api/core/v1. */
import {
  array,
  boolean,
  field,
  filled,
  granular,
  inline,
  int32,
  map,
  object,
  oneOf,
  pointer,
  required,
  string,
  time,
} from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema, ObjectReferenceSchema } from './meta.ts';
import { ResourceListSchema } from './resource-requirements.ts';
import { NodeSelectorSchema } from './scheduling.ts';
import {
  AzureFilePersistentVolumeSourceSchema,
  CephFSPersistentVolumeSourceSchema,
  CinderPersistentVolumeSourceSchema,
  GlusterfsPersistentVolumeSourceSchema,
  RBDPersistentVolumeSourceSchema,
  ScaleIOPersistentVolumeSourceSchema,
  SecretReferenceSchema,
  StorageOSPersistentVolumeSourceSchema,
} from './persistent-volume-remote.ts';
import {
  AWSElasticBlockStoreVolumeSourceSchema,
  AzureDiskVolumeSourceSchema,
  FCVolumeSourceSchema,
  FlockerVolumeSourceSchema,
  GCEPersistentDiskVolumeSourceSchema,
  NFSVolumeSourceSchema,
  PhotonPersistentDiskVolumeSourceSchema,
  PortworxVolumeSourceSchema,
  QuobyteVolumeSourceSchema,
  VsphereVirtualDiskVolumeSourceSchema,
} from './volume-source-remote.ts';
import {
  HostPathVolumeSourceSchema,
  PersistentVolumeAccessModeSchema,
  PersistentVolumeModeSchema,
} from './volume-source.ts';

export const LocalVolumeSourceSchema = object('LocalVolumeSource', {
  path: required(1, string),
  fsType: pointer(2, string),
});
export type LocalVolumeSource = Infer<typeof LocalVolumeSourceSchema>;

export const ISCSIPersistentVolumeSourceSchema = object('ISCSIPersistentVolumeSource', {
  targetPortal: required(1, string),
  iqn: required(2, string),
  lun: required(3, int32),
  iscsiInterface: field(4, string),
  fsType: field(5, string),
  readOnly: field(6, boolean),
  portals: field(7, array(string)),
  chapAuthDiscovery: field(8, boolean),
  chapAuthSession: field(11, boolean),
  secretRef: field(10, SecretReferenceSchema),
  initiatorName: pointer(12, string),
});
export type ISCSIPersistentVolumeSource = Infer<typeof ISCSIPersistentVolumeSourceSchema>;

export const FlexPersistentVolumeSourceSchema = object('FlexPersistentVolumeSource', {
  driver: required(1, string),
  fsType: field(2, string),
  secretRef: field(3, SecretReferenceSchema),
  readOnly: field(4, boolean),
  options: field(5, map(string)),
});
export type FlexPersistentVolumeSource = Infer<typeof FlexPersistentVolumeSourceSchema>;

export const CSIPersistentVolumeSourceSchema = object('CSIPersistentVolumeSource', {
  driver: required(1, string),
  volumeHandle: required(2, string),
  readOnly: field(3, boolean),
  fsType: field(4, string),
  volumeAttributes: field(5, map(string)),
  controllerPublishSecretRef: field(6, SecretReferenceSchema),
  nodeStageSecretRef: field(7, SecretReferenceSchema),
  nodePublishSecretRef: field(8, SecretReferenceSchema),
  controllerExpandSecretRef: field(9, SecretReferenceSchema),
  nodeExpandSecretRef: field(10, SecretReferenceSchema),
});
export type CSIPersistentVolumeSource = Infer<typeof CSIPersistentVolumeSourceSchema>;

export const PersistentVolumeReclaimPolicySchema = oneOf('Recycle', 'Delete', 'Retain');
export type PersistentVolumeReclaimPolicy = Infer<typeof PersistentVolumeReclaimPolicySchema>;

export const VolumeNodeAffinitySchema = object('VolumeNodeAffinity', {
  required: field(1, NodeSelectorSchema),
});
export type VolumeNodeAffinity = Infer<typeof VolumeNodeAffinitySchema>;

export const PersistentVolumeSpecSchema = object('PersistentVolumeSpec', {
  capacity: field(1, ResourceListSchema),
  accessModes: field(3, array(PersistentVolumeAccessModeSchema)),
  claimRef: field(4, granular(ObjectReferenceSchema)),
  persistentVolumeReclaimPolicy: field(5, PersistentVolumeReclaimPolicySchema),
  storageClassName: field(6, string),
  mountOptions: field(7, array(string)),
  volumeMode: pointer(8, PersistentVolumeModeSchema),
  nodeAffinity: field(9, VolumeNodeAffinitySchema),
  volumeAttributesClassName: pointer(10, string),
  ...inline(2, {
    hostPath: field(3, HostPathVolumeSourceSchema),
    local: field(20, LocalVolumeSourceSchema),
    nfs: field(5, NFSVolumeSourceSchema),
    iscsi: field(7, ISCSIPersistentVolumeSourceSchema),
    fc: field(10, FCVolumeSourceSchema),
    csi: field(22, CSIPersistentVolumeSourceSchema),
    flexVolume: field(12, FlexPersistentVolumeSourceSchema),
    gcePersistentDisk: field(1, GCEPersistentDiskVolumeSourceSchema),
    awsElasticBlockStore: field(2, AWSElasticBlockStoreVolumeSourceSchema),
    glusterfs: field(4, GlusterfsPersistentVolumeSourceSchema),
    rbd: field(6, RBDPersistentVolumeSourceSchema),
    cinder: field(8, CinderPersistentVolumeSourceSchema),
    cephfs: field(9, CephFSPersistentVolumeSourceSchema),
    flocker: field(11, FlockerVolumeSourceSchema),
    azureFile: field(13, AzureFilePersistentVolumeSourceSchema),
    vsphereVolume: field(14, VsphereVirtualDiskVolumeSourceSchema),
    quobyte: field(15, QuobyteVolumeSourceSchema),
    azureDisk: field(16, AzureDiskVolumeSourceSchema),
    photonPersistentDisk: field(17, PhotonPersistentDiskVolumeSourceSchema),
    portworxVolume: field(18, PortworxVolumeSourceSchema),
    scaleIO: field(19, ScaleIOPersistentVolumeSourceSchema),
    storageos: field(21, StorageOSPersistentVolumeSourceSchema),
  }),
});
export type PersistentVolumeSpec = Infer<typeof PersistentVolumeSpecSchema>;

const PersistentVolumePhaseSchema = oneOf('Pending', 'Available', 'Bound', 'Released', 'Failed');
export type PersistentVolumePhase = Infer<typeof PersistentVolumePhaseSchema>;

export const PersistentVolumeStatusSchema = object('PersistentVolumeStatus', {
  phase: field(1, PersistentVolumePhaseSchema),
  message: field(2, string),
  reason: field(3, string),
  lastPhaseTransitionTime: field(4, time),
});
export type PersistentVolumeStatus = Infer<typeof PersistentVolumeStatusSchema>;

/** Cluster-scoped. */
export const PersistentVolumeSchema = object('PersistentVolume', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: filled(2, PersistentVolumeSpecSchema),
  status: field(3, PersistentVolumeStatusSchema),
});
export type PersistentVolume = Infer<typeof PersistentVolumeSchema>;
