/**
 * Volume sources on the node or in the API, which a kubelet supports without a driver. The fields follow
 * k8s.io/api/core/v1.
 */
import {
  array,
  boolean,
  field,
  filled,
  inline,
  int32,
  smallInt64,
  map,
  object,
  oneOf,
  pointer,
  quantity,
  required,
  string,
} from '../schema/schema.ts';
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

const HostPathTypeSchema = oneOf(
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
  path: required(1, string),
  type: pointer(2, HostPathTypeSchema),
});
export type HostPathVolumeSource = Infer<typeof HostPathVolumeSourceSchema>;

export const EmptyDirVolumeSourceSchema = object('EmptyDirVolumeSource', {
  medium: field(1, string),
  sizeLimit: pointer(2, quantity),
});
export type EmptyDirVolumeSource = Infer<typeof EmptyDirVolumeSourceSchema>;

export const KeyToPathSchema = object('KeyToPath', {
  key: required(1, string),
  path: required(2, string),
  mode: pointer(3, int32),
});
export type KeyToPath = Infer<typeof KeyToPathSchema>;

export const SecretVolumeSourceSchema = object('SecretVolumeSource', {
  secretName: field(1, string),
  items: field(2, array(KeyToPathSchema)),
  defaultMode: pointer(3, int32),
  optional: pointer(4, boolean),
});
export type SecretVolumeSource = Infer<typeof SecretVolumeSourceSchema>;

export const ConfigMapVolumeSourceSchema = object('ConfigMapVolumeSource', {
  ...inline(1, { name: filled(1, string) }),
  items: field(2, array(KeyToPathSchema)),
  defaultMode: pointer(3, int32),
  optional: pointer(4, boolean),
});
export type ConfigMapVolumeSource = Infer<typeof ConfigMapVolumeSourceSchema>;

export const DownwardAPIVolumeFileSchema = object('DownwardAPIVolumeFile', {
  path: required(1, string),
  fieldRef: field(2, ObjectFieldSelectorSchema),
  resourceFieldRef: field(3, ResourceFieldSelectorSchema),
  mode: pointer(4, int32),
});
export type DownwardAPIVolumeFile = Infer<typeof DownwardAPIVolumeFileSchema>;

export const DownwardAPIVolumeSourceSchema = object('DownwardAPIVolumeSource', {
  items: field(1, array(DownwardAPIVolumeFileSchema)),
  defaultMode: pointer(2, int32),
});
export type DownwardAPIVolumeSource = Infer<typeof DownwardAPIVolumeSourceSchema>;

export const SecretProjectionSchema = object('SecretProjection', {
  ...inline(1, { name: filled(1, string) }),
  items: field(2, array(KeyToPathSchema)),
  optional: pointer(4, boolean),
});
export type SecretProjection = Infer<typeof SecretProjectionSchema>;

export const DownwardAPIProjectionSchema = object('DownwardAPIProjection', {
  items: field(1, array(DownwardAPIVolumeFileSchema)),
});
export type DownwardAPIProjection = Infer<typeof DownwardAPIProjectionSchema>;

export const ConfigMapProjectionSchema = object('ConfigMapProjection', {
  ...inline(1, { name: filled(1, string) }),
  items: field(2, array(KeyToPathSchema)),
  optional: pointer(4, boolean),
});
export type ConfigMapProjection = Infer<typeof ConfigMapProjectionSchema>;

export const ServiceAccountTokenProjectionSchema = object('ServiceAccountTokenProjection', {
  audience: field(1, string),
  expirationSeconds: pointer(2, smallInt64),
  path: required(3, string),
});
export type ServiceAccountTokenProjection = Infer<typeof ServiceAccountTokenProjectionSchema>;

export const ClusterTrustBundleProjectionSchema = object('ClusterTrustBundleProjection', {
  name: pointer(1, string),
  signerName: pointer(2, string),
  labelSelector: field(3, LabelSelectorSchema),
  optional: pointer(5, boolean),
  path: required(4, string),
});
export type ClusterTrustBundleProjection = Infer<typeof ClusterTrustBundleProjectionSchema>;

export const PodCertificateProjectionSchema = object('PodCertificateProjection', {
  signerName: field(1, string, { mustBeWritten: true }),
  keyType: field(2, string, { mustBeWritten: true }),
  maxExpirationSeconds: pointer(3, int32),
  credentialBundlePath: field(4, string),
  keyPath: field(5, string),
  certificateChainPath: field(6, string),
  userAnnotations: field(7, map(string)),
});
export type PodCertificateProjection = Infer<typeof PodCertificateProjectionSchema>;

export const VolumeProjectionSchema = object('VolumeProjection', {
  secret: field(1, SecretProjectionSchema),
  downwardAPI: field(2, DownwardAPIProjectionSchema),
  configMap: field(3, ConfigMapProjectionSchema),
  serviceAccountToken: field(4, ServiceAccountTokenProjectionSchema),
  clusterTrustBundle: field(5, ClusterTrustBundleProjectionSchema),
  podCertificate: field(6, PodCertificateProjectionSchema),
});
export type VolumeProjection = Infer<typeof VolumeProjectionSchema>;

export const ProjectedVolumeSourceSchema = object('ProjectedVolumeSource', {
  sources: filled(1, array(VolumeProjectionSchema)),
  defaultMode: pointer(2, int32),
});
export type ProjectedVolumeSource = Infer<typeof ProjectedVolumeSourceSchema>;

export const PersistentVolumeClaimVolumeSourceSchema = object('PersistentVolumeClaimVolumeSource', {
  claimName: required(1, string),
  readOnly: field(2, boolean),
});
export type PersistentVolumeClaimVolumeSource = Infer<typeof PersistentVolumeClaimVolumeSourceSchema>;

export const CSIVolumeSourceSchema = object('CSIVolumeSource', {
  driver: required(1, string),
  readOnly: pointer(2, boolean),
  fsType: pointer(3, string),
  volumeAttributes: field(4, map(string)),
  nodePublishSecretRef: field(5, LocalObjectReferenceSchema),
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
  accessModes: field(1, array(PersistentVolumeAccessModeSchema)),
  selector: field(4, LabelSelectorSchema),
  resources: field(2, VolumeResourceRequirementsSchema),
  volumeName: field(3, string),
  storageClassName: pointer(5, string),
  volumeMode: pointer(6, PersistentVolumeModeSchema),
  dataSource: field(7, TypedLocalObjectReferenceSchema),
  dataSourceRef: field(8, TypedObjectReferenceSchema),
  volumeAttributesClassName: pointer(9, string),
});
export type PersistentVolumeClaimSpec = Infer<typeof PersistentVolumeClaimSpecSchema>;

export const PersistentVolumeClaimTemplateSchema = object('PersistentVolumeClaimTemplate', {
  metadata: field(1, EmbeddedObjectMetaSchema),
  spec: required(2, PersistentVolumeClaimSpecSchema),
});
export type PersistentVolumeClaimTemplate = Infer<typeof PersistentVolumeClaimTemplateSchema>;

export const EphemeralVolumeSourceSchema = object('EphemeralVolumeSource', {
  volumeClaimTemplate: field(1, PersistentVolumeClaimTemplateSchema),
});
export type EphemeralVolumeSource = Infer<typeof EphemeralVolumeSourceSchema>;

export const ImageVolumeSourceSchema = object('ImageVolumeSource', {
  reference: field(1, string),
  pullPolicy: field(2, PullPolicySchema),
});
export type ImageVolumeSource = Infer<typeof ImageVolumeSourceSchema>;
