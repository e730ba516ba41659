/** Volume sources backed by a storage system elsewhere; most are handed to a CSI driver or are no longer served. Which fields exist follows k8s.io/api/core/v1. */
import { array, boolean, int32, map, object, oneOf, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { LocalObjectReferenceSchema } from './meta.ts';

export const NFSVolumeSourceSchema = object('NFSVolumeSource', {
  server: required(string),
  path: required(string),
  readOnly: boolean,
});
export type NFSVolumeSource = Infer<typeof NFSVolumeSourceSchema>;

export const ISCSIVolumeSourceSchema = object('ISCSIVolumeSource', {
  targetPortal: required(string),
  iqn: required(string),
  lun: required(int32),
  iscsiInterface: string,
  fsType: string,
  readOnly: boolean,
  portals: array(string),
  chapAuthDiscovery: boolean,
  chapAuthSession: boolean,
  secretRef: LocalObjectReferenceSchema,
  initiatorName: string,
});
export type ISCSIVolumeSource = Infer<typeof ISCSIVolumeSourceSchema>;

export const FCVolumeSourceSchema = object('FCVolumeSource', {
  targetWWNs: array(string),
  lun: int32,
  fsType: string,
  readOnly: boolean,
  wwids: array(string),
});
export type FCVolumeSource = Infer<typeof FCVolumeSourceSchema>;

export const GCEPersistentDiskVolumeSourceSchema = object('GCEPersistentDiskVolumeSource', {
  pdName: required(string),
  fsType: string,
  partition: int32,
  readOnly: boolean,
});
export type GCEPersistentDiskVolumeSource = Infer<typeof GCEPersistentDiskVolumeSourceSchema>;

export const AWSElasticBlockStoreVolumeSourceSchema = object('AWSElasticBlockStoreVolumeSource', {
  volumeID: required(string),
  fsType: string,
  partition: int32,
  readOnly: boolean,
});
export type AWSElasticBlockStoreVolumeSource = Infer<typeof AWSElasticBlockStoreVolumeSourceSchema>;

export const GitRepoVolumeSourceSchema = object('GitRepoVolumeSource', {
  repository: required(string),
  revision: string,
  directory: string,
});
export type GitRepoVolumeSource = Infer<typeof GitRepoVolumeSourceSchema>;

export const GlusterfsVolumeSourceSchema = object('GlusterfsVolumeSource', {
  endpoints: required(string),
  path: required(string),
  readOnly: boolean,
});
export type GlusterfsVolumeSource = Infer<typeof GlusterfsVolumeSourceSchema>;

export const RBDVolumeSourceSchema = object('RBDVolumeSource', {
  monitors: required(array(string)),
  image: required(string),
  fsType: string,
  pool: string,
  user: string,
  keyring: string,
  secretRef: LocalObjectReferenceSchema,
  readOnly: boolean,
});
export type RBDVolumeSource = Infer<typeof RBDVolumeSourceSchema>;

export const FlexVolumeSourceSchema = object('FlexVolumeSource', {
  driver: required(string),
  fsType: string,
  secretRef: LocalObjectReferenceSchema,
  readOnly: boolean,
  options: map(string),
});
export type FlexVolumeSource = Infer<typeof FlexVolumeSourceSchema>;

export const CinderVolumeSourceSchema = object('CinderVolumeSource', {
  volumeID: required(string),
  fsType: string,
  readOnly: boolean,
  secretRef: LocalObjectReferenceSchema,
});
export type CinderVolumeSource = Infer<typeof CinderVolumeSourceSchema>;

export const CephFSVolumeSourceSchema = object('CephFSVolumeSource', {
  monitors: required(array(string)),
  path: string,
  user: string,
  secretFile: string,
  secretRef: LocalObjectReferenceSchema,
  readOnly: boolean,
});
export type CephFSVolumeSource = Infer<typeof CephFSVolumeSourceSchema>;

export const FlockerVolumeSourceSchema = object('FlockerVolumeSource', {
  datasetName: string,
  datasetUUID: string,
});
export type FlockerVolumeSource = Infer<typeof FlockerVolumeSourceSchema>;

export const AzureFileVolumeSourceSchema = object('AzureFileVolumeSource', {
  secretName: required(string),
  shareName: required(string),
  readOnly: boolean,
});
export type AzureFileVolumeSource = Infer<typeof AzureFileVolumeSourceSchema>;

export const VsphereVirtualDiskVolumeSourceSchema = object('VsphereVirtualDiskVolumeSource', {
  volumePath: required(string),
  fsType: string,
  storagePolicyName: string,
  storagePolicyID: string,
});
export type VsphereVirtualDiskVolumeSource = Infer<typeof VsphereVirtualDiskVolumeSourceSchema>;

export const QuobyteVolumeSourceSchema = object('QuobyteVolumeSource', {
  registry: required(string),
  volume: required(string),
  readOnly: boolean,
  user: string,
  group: string,
  tenant: string,
});
export type QuobyteVolumeSource = Infer<typeof QuobyteVolumeSourceSchema>;

export const AzureDataDiskCachingModeSchema = oneOf('None', 'ReadOnly', 'ReadWrite');
export type AzureDataDiskCachingMode = Infer<typeof AzureDataDiskCachingModeSchema>;

export const AzureDataDiskKindSchema = oneOf('Shared', 'Dedicated', 'Managed');
export type AzureDataDiskKind = Infer<typeof AzureDataDiskKindSchema>;

export const AzureDiskVolumeSourceSchema = object('AzureDiskVolumeSource', {
  diskName: required(string),
  diskURI: required(string),
  cachingMode: AzureDataDiskCachingModeSchema,
  fsType: string,
  readOnly: boolean,
  kind: AzureDataDiskKindSchema,
});
export type AzureDiskVolumeSource = Infer<typeof AzureDiskVolumeSourceSchema>;

export const PhotonPersistentDiskVolumeSourceSchema = object('PhotonPersistentDiskVolumeSource', {
  pdID: required(string),
  fsType: string,
});
export type PhotonPersistentDiskVolumeSource = Infer<typeof PhotonPersistentDiskVolumeSourceSchema>;

export const PortworxVolumeSourceSchema = object('PortworxVolumeSource', {
  volumeID: required(string),
  fsType: string,
  readOnly: boolean,
});
export type PortworxVolumeSource = Infer<typeof PortworxVolumeSourceSchema>;

export const ScaleIOVolumeSourceSchema = object('ScaleIOVolumeSource', {
  gateway: required(string),
  system: required(string),
  secretRef: LocalObjectReferenceSchema,
  sslEnabled: boolean,
  protectionDomain: string,
  storagePool: string,
  storageMode: string,
  volumeName: string,
  fsType: string,
  readOnly: boolean,
});
export type ScaleIOVolumeSource = Infer<typeof ScaleIOVolumeSourceSchema>;

export const StorageOSVolumeSourceSchema = object('StorageOSVolumeSource', {
  volumeName: string,
  volumeNamespace: string,
  fsType: string,
  readOnly: boolean,
  secretRef: LocalObjectReferenceSchema,
});
export type StorageOSVolumeSource = Infer<typeof StorageOSVolumeSourceSchema>;
