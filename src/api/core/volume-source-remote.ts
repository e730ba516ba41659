/**
 * Volume sources with storage outside of the node. Most are served by CSI drivers or no longer supported. The fields
 * follow k8s.io/api/core/v1.
 */
import { array, boolean, field, int32, map, object, oneOf, pointer, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { LocalObjectReferenceSchema } from './meta.ts';

export const NFSVolumeSourceSchema = object('NFSVolumeSource', {
  server: required(1, string),
  path: required(2, string),
  readOnly: field(3, boolean),
});
export type NFSVolumeSource = Infer<typeof NFSVolumeSourceSchema>;

export const ISCSIVolumeSourceSchema = object('ISCSIVolumeSource', {
  targetPortal: required(1, string),
  iqn: required(2, string),
  lun: required(3, int32),
  iscsiInterface: field(4, string),
  fsType: field(5, string),
  readOnly: field(6, boolean),
  portals: field(7, array(string)),
  chapAuthDiscovery: field(8, boolean),
  chapAuthSession: field(11, boolean),
  secretRef: field(10, LocalObjectReferenceSchema),
  initiatorName: pointer(12, string),
});
export type ISCSIVolumeSource = Infer<typeof ISCSIVolumeSourceSchema>;

export const FCVolumeSourceSchema = object('FCVolumeSource', {
  targetWWNs: field(1, array(string)),
  lun: pointer(2, int32),
  fsType: field(3, string),
  readOnly: field(4, boolean),
  wwids: field(5, array(string)),
});
export type FCVolumeSource = Infer<typeof FCVolumeSourceSchema>;

export const GCEPersistentDiskVolumeSourceSchema = object('GCEPersistentDiskVolumeSource', {
  pdName: required(1, string),
  fsType: field(2, string),
  partition: field(3, int32),
  readOnly: field(4, boolean),
});
export type GCEPersistentDiskVolumeSource = Infer<typeof GCEPersistentDiskVolumeSourceSchema>;

export const AWSElasticBlockStoreVolumeSourceSchema = object('AWSElasticBlockStoreVolumeSource', {
  volumeID: required(1, string),
  fsType: field(2, string),
  partition: field(3, int32),
  readOnly: field(4, boolean),
});
export type AWSElasticBlockStoreVolumeSource = Infer<typeof AWSElasticBlockStoreVolumeSourceSchema>;

export const GitRepoVolumeSourceSchema = object('GitRepoVolumeSource', {
  repository: required(1, string),
  revision: field(2, string),
  directory: field(3, string),
});
export type GitRepoVolumeSource = Infer<typeof GitRepoVolumeSourceSchema>;

export const GlusterfsVolumeSourceSchema = object('GlusterfsVolumeSource', {
  endpoints: required(1, string),
  path: required(2, string),
  readOnly: field(3, boolean),
});
export type GlusterfsVolumeSource = Infer<typeof GlusterfsVolumeSourceSchema>;

export const RBDVolumeSourceSchema = object('RBDVolumeSource', {
  monitors: required(1, array(string)),
  image: required(2, string),
  fsType: field(3, string),
  pool: field(4, string),
  user: field(5, string),
  keyring: field(6, string),
  secretRef: field(7, LocalObjectReferenceSchema),
  readOnly: field(8, boolean),
});
export type RBDVolumeSource = Infer<typeof RBDVolumeSourceSchema>;

export const FlexVolumeSourceSchema = object('FlexVolumeSource', {
  driver: required(1, string),
  fsType: field(2, string),
  secretRef: field(3, LocalObjectReferenceSchema),
  readOnly: field(4, boolean),
  options: field(5, map(string)),
});
export type FlexVolumeSource = Infer<typeof FlexVolumeSourceSchema>;

export const CinderVolumeSourceSchema = object('CinderVolumeSource', {
  volumeID: required(1, string),
  fsType: field(2, string),
  readOnly: field(3, boolean),
  secretRef: field(4, LocalObjectReferenceSchema),
});
export type CinderVolumeSource = Infer<typeof CinderVolumeSourceSchema>;

export const CephFSVolumeSourceSchema = object('CephFSVolumeSource', {
  monitors: required(1, array(string)),
  path: field(2, string),
  user: field(3, string),
  secretFile: field(4, string),
  secretRef: field(5, LocalObjectReferenceSchema),
  readOnly: field(6, boolean),
});
export type CephFSVolumeSource = Infer<typeof CephFSVolumeSourceSchema>;

export const FlockerVolumeSourceSchema = object('FlockerVolumeSource', {
  datasetName: field(1, string),
  datasetUUID: field(2, string),
});
export type FlockerVolumeSource = Infer<typeof FlockerVolumeSourceSchema>;

export const AzureFileVolumeSourceSchema = object('AzureFileVolumeSource', {
  secretName: required(1, string),
  shareName: required(2, string),
  readOnly: field(3, boolean),
});
export type AzureFileVolumeSource = Infer<typeof AzureFileVolumeSourceSchema>;

export const VsphereVirtualDiskVolumeSourceSchema = object('VsphereVirtualDiskVolumeSource', {
  volumePath: required(1, string),
  fsType: field(2, string),
  storagePolicyName: field(3, string),
  storagePolicyID: field(4, string),
});
export type VsphereVirtualDiskVolumeSource = Infer<typeof VsphereVirtualDiskVolumeSourceSchema>;

export const QuobyteVolumeSourceSchema = object('QuobyteVolumeSource', {
  registry: required(1, string),
  volume: required(2, string),
  readOnly: field(3, boolean),
  user: field(4, string),
  group: field(5, string),
  tenant: field(6, string),
});
export type QuobyteVolumeSource = Infer<typeof QuobyteVolumeSourceSchema>;

const AzureDataDiskCachingModeSchema = oneOf('None', 'ReadOnly', 'ReadWrite');
export type AzureDataDiskCachingMode = Infer<typeof AzureDataDiskCachingModeSchema>;

const AzureDataDiskKindSchema = oneOf('Shared', 'Dedicated', 'Managed');
export type AzureDataDiskKind = Infer<typeof AzureDataDiskKindSchema>;

export const AzureDiskVolumeSourceSchema = object('AzureDiskVolumeSource', {
  diskName: required(1, string),
  diskURI: required(2, string),
  cachingMode: pointer(3, AzureDataDiskCachingModeSchema),
  fsType: pointer(4, string),
  readOnly: pointer(5, boolean),
  kind: pointer(6, AzureDataDiskKindSchema),
});
export type AzureDiskVolumeSource = Infer<typeof AzureDiskVolumeSourceSchema>;

export const PhotonPersistentDiskVolumeSourceSchema = object('PhotonPersistentDiskVolumeSource', {
  pdID: required(1, string),
  fsType: field(2, string),
});
export type PhotonPersistentDiskVolumeSource = Infer<typeof PhotonPersistentDiskVolumeSourceSchema>;

export const PortworxVolumeSourceSchema = object('PortworxVolumeSource', {
  volumeID: required(1, string),
  fsType: field(2, string),
  readOnly: field(3, boolean),
});
export type PortworxVolumeSource = Infer<typeof PortworxVolumeSourceSchema>;

export const ScaleIOVolumeSourceSchema = object('ScaleIOVolumeSource', {
  gateway: required(1, string),
  system: required(2, string),
  secretRef: field(3, LocalObjectReferenceSchema, { mustBeWritten: true }),
  sslEnabled: field(4, boolean),
  protectionDomain: field(5, string),
  storagePool: field(6, string),
  storageMode: field(7, string),
  volumeName: field(8, string),
  fsType: field(9, string),
  readOnly: field(10, boolean),
});
export type ScaleIOVolumeSource = Infer<typeof ScaleIOVolumeSourceSchema>;

export const StorageOSVolumeSourceSchema = object('StorageOSVolumeSource', {
  volumeName: field(1, string),
  volumeNamespace: field(2, string),
  fsType: field(3, string),
  readOnly: field(4, boolean),
  secretRef: field(5, LocalObjectReferenceSchema),
});
export type StorageOSVolumeSource = Infer<typeof StorageOSVolumeSourceSchema>;
