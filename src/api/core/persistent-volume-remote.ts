/** Sources of persistent volumes that are served by CSI drivers or no longer supported. */
import { array, atomic, boolean, field, object, pointer, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectReferenceSchema } from './meta.ts';

/** A secret in any namespace. */
export const SecretReferenceSchema = atomic(
  object('SecretReference', { name: field(1, string), namespace: field(2, string) }),
);
export type SecretReference = Infer<typeof SecretReferenceSchema>;

export const GlusterfsPersistentVolumeSourceSchema = object('GlusterfsPersistentVolumeSource', {
  endpoints: required(1, string),
  path: required(2, string),
  readOnly: field(3, boolean),
  endpointsNamespace: pointer(4, string),
});

export const RBDPersistentVolumeSourceSchema = object('RBDPersistentVolumeSource', {
  monitors: required(1, array(string)),
  image: required(2, string),
  fsType: field(3, string),
  pool: field(4, string),
  user: field(5, string),
  keyring: field(6, string),
  secretRef: field(7, SecretReferenceSchema),
  readOnly: field(8, boolean),
});

export const CinderPersistentVolumeSourceSchema = object('CinderPersistentVolumeSource', {
  volumeID: required(1, string),
  fsType: field(2, string),
  readOnly: field(3, boolean),
  secretRef: field(4, SecretReferenceSchema),
});

export const CephFSPersistentVolumeSourceSchema = object('CephFSPersistentVolumeSource', {
  monitors: required(1, array(string)),
  path: field(2, string),
  user: field(3, string),
  secretFile: field(4, string),
  secretRef: field(5, SecretReferenceSchema),
  readOnly: field(6, boolean),
});

export const AzureFilePersistentVolumeSourceSchema = object('AzureFilePersistentVolumeSource', {
  secretName: required(1, string),
  shareName: required(2, string),
  readOnly: field(3, boolean),
  secretNamespace: pointer(4, string),
});

export const ScaleIOPersistentVolumeSourceSchema = object('ScaleIOPersistentVolumeSource', {
  gateway: required(1, string),
  system: required(2, string),
  secretRef: field(3, SecretReferenceSchema, { mustBeWritten: true }),
  sslEnabled: field(4, boolean),
  protectionDomain: field(5, string),
  storagePool: field(6, string),
  storageMode: field(7, string),
  volumeName: field(8, string),
  fsType: field(9, string),
  readOnly: field(10, boolean),
});

export const StorageOSPersistentVolumeSourceSchema = object('StorageOSPersistentVolumeSource', {
  volumeName: field(1, string),
  volumeNamespace: field(2, string),
  fsType: field(3, string),
  readOnly: field(4, boolean),
  secretRef: field(5, ObjectReferenceSchema),
});
