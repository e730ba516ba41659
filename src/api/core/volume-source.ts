/** Volume sources that live on the node or in the API: the ones a kubelet serves by itself. Which fields exist follows k8s.io/api/core/v1. */
import { array, boolean, int32, int64, map, object, oneOf, quantity, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectFieldSelectorSchema, PullPolicySchema, ResourceFieldSelectorSchema } from './container.ts';
import {
  LabelSelectorSchema,
  LocalObjectReferenceSchema,
  EmbeddedObjectMetaSchema,
  TypedLocalObjectReferenceSchema,
  TypedObjectReferenceSchema,
} from './meta.ts';
import { VolumeResourceRequirementsSchema } from './resource-requirements.ts';

export const HostPathTypeSchema = oneOf(
  '',
  'DirectoryOrCreate',
  'Directory',
  'FileOrCreate',
  'File',
  'Socket',
  'CharDevice',
  'BlockDevice',
);
export type HostPathType = Infer<typeof HostPathTypeSchema>;

export const HostPathVolumeSourceSchema = object('HostPathVolumeSource', {
  path: required(string),
  type: HostPathTypeSchema,
});
export type HostPathVolumeSource = Infer<typeof HostPathVolumeSourceSchema>;

export const EmptyDirVolumeSourceSchema = object('EmptyDirVolumeSource', {
  medium: string,
  sizeLimit: quantity,
});
export type EmptyDirVolumeSource = Infer<typeof EmptyDirVolumeSourceSchema>;

export const KeyToPathSchema = object('KeyToPath', {
  key: required(string),
  path: required(string),
  mode: int32,
});
export type KeyToPath = Infer<typeof KeyToPathSchema>;

export const SecretVolumeSourceSchema = object('SecretVolumeSource', {
  secretName: string,
  items: array(KeyToPathSchema),
  defaultMode: int32,
  optional: boolean,
});
export type SecretVolumeSource = Infer<typeof SecretVolumeSourceSchema>;

export const ConfigMapVolumeSourceSchema = object('ConfigMapVolumeSource', {
  name: required(string),
  items: array(KeyToPathSchema),
  defaultMode: int32,
  optional: boolean,
});
export type ConfigMapVolumeSource = Infer<typeof ConfigMapVolumeSourceSchema>;

export const DownwardAPIVolumeFileSchema = object('DownwardAPIVolumeFile', {
  path: required(string),
  fieldRef: ObjectFieldSelectorSchema,
  resourceFieldRef: ResourceFieldSelectorSchema,
  mode: int32,
});
export type DownwardAPIVolumeFile = Infer<typeof DownwardAPIVolumeFileSchema>;

export const DownwardAPIVolumeSourceSchema = object('DownwardAPIVolumeSource', {
  items: array(DownwardAPIVolumeFileSchema),
  defaultMode: int32,
});
export type DownwardAPIVolumeSource = Infer<typeof DownwardAPIVolumeSourceSchema>;

export const SecretProjectionSchema = object('SecretProjection', {
  name: required(string),
  items: array(KeyToPathSchema),
  optional: boolean,
});
export type SecretProjection = Infer<typeof SecretProjectionSchema>;

export const DownwardAPIProjectionSchema = object('DownwardAPIProjection', {
  items: array(DownwardAPIVolumeFileSchema),
});
export type DownwardAPIProjection = Infer<typeof DownwardAPIProjectionSchema>;

export const ConfigMapProjectionSchema = object('ConfigMapProjection', {
  name: required(string),
  items: array(KeyToPathSchema),
  optional: boolean,
});
export type ConfigMapProjection = Infer<typeof ConfigMapProjectionSchema>;

export const ServiceAccountTokenProjectionSchema = object('ServiceAccountTokenProjection', {
  audience: string,
  expirationSeconds: int64,
  path: required(string),
});
export type ServiceAccountTokenProjection = Infer<typeof ServiceAccountTokenProjectionSchema>;

export const ClusterTrustBundleProjectionSchema = object('ClusterTrustBundleProjection', {
  name: string,
  signerName: string,
  labelSelector: LabelSelectorSchema,
  optional: boolean,
  path: required(string),
});
export type ClusterTrustBundleProjection = Infer<typeof ClusterTrustBundleProjectionSchema>;

export const PodCertificateProjectionSchema = object('PodCertificateProjection', {
  signerName: string,
  keyType: string,
  maxExpirationSeconds: int32,
  credentialBundlePath: string,
  keyPath: string,
  certificateChainPath: string,
  userAnnotations: map(string),
});
export type PodCertificateProjection = Infer<typeof PodCertificateProjectionSchema>;

export const VolumeProjectionSchema = object('VolumeProjection', {
  secret: SecretProjectionSchema,
  downwardAPI: DownwardAPIProjectionSchema,
  configMap: ConfigMapProjectionSchema,
  serviceAccountToken: ServiceAccountTokenProjectionSchema,
  clusterTrustBundle: ClusterTrustBundleProjectionSchema,
  podCertificate: PodCertificateProjectionSchema,
});
export type VolumeProjection = Infer<typeof VolumeProjectionSchema>;

export const ProjectedVolumeSourceSchema = object('ProjectedVolumeSource', {
  sources: required(array(VolumeProjectionSchema)),
  defaultMode: int32,
});
export type ProjectedVolumeSource = Infer<typeof ProjectedVolumeSourceSchema>;

export const PersistentVolumeClaimVolumeSourceSchema = object('PersistentVolumeClaimVolumeSource', {
  claimName: required(string),
  readOnly: boolean,
});
export type PersistentVolumeClaimVolumeSource = Infer<typeof PersistentVolumeClaimVolumeSourceSchema>;

export const CSIVolumeSourceSchema = object('CSIVolumeSource', {
  driver: required(string),
  readOnly: boolean,
  fsType: string,
  volumeAttributes: map(string),
  nodePublishSecretRef: LocalObjectReferenceSchema,
});
export type CSIVolumeSource = Infer<typeof CSIVolumeSourceSchema>;

export const PersistentVolumeAccessModeSchema = oneOf(
  'ReadWriteOnce',
  'ReadOnlyMany',
  'ReadWriteMany',
  'ReadWriteOncePod',
);
export type PersistentVolumeAccessMode = Infer<typeof PersistentVolumeAccessModeSchema>;

export const PersistentVolumeModeSchema = oneOf('Block', 'Filesystem');
export type PersistentVolumeMode = Infer<typeof PersistentVolumeModeSchema>;

export const PersistentVolumeClaimSpecSchema = object('PersistentVolumeClaimSpec', {
  accessModes: array(PersistentVolumeAccessModeSchema),
  selector: LabelSelectorSchema,
  resources: VolumeResourceRequirementsSchema,
  volumeName: string,
  storageClassName: string,
  volumeMode: PersistentVolumeModeSchema,
  dataSource: TypedLocalObjectReferenceSchema,
  dataSourceRef: TypedObjectReferenceSchema,
  volumeAttributesClassName: string,
});
export type PersistentVolumeClaimSpec = Infer<typeof PersistentVolumeClaimSpecSchema>;

export const PersistentVolumeClaimTemplateSchema = object('PersistentVolumeClaimTemplate', {
  metadata: EmbeddedObjectMetaSchema,
  spec: required(PersistentVolumeClaimSpecSchema),
});
export type PersistentVolumeClaimTemplate = Infer<typeof PersistentVolumeClaimTemplateSchema>;

export const EphemeralVolumeSourceSchema = object('EphemeralVolumeSource', {
  volumeClaimTemplate: PersistentVolumeClaimTemplateSchema,
});
export type EphemeralVolumeSource = Infer<typeof EphemeralVolumeSourceSchema>;

export const ImageVolumeSourceSchema = object('ImageVolumeSource', {
  reference: string,
  pullPolicy: PullPolicySchema,
});
export type ImageVolumeSource = Infer<typeof ImageVolumeSourceSchema>;
