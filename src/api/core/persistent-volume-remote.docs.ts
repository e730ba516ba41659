import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
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

export const docs: readonly TypeDocs[] = [
  describe(SecretReferenceSchema, 'A reference to a Secret.', {
    name: 'The name of the Secret.',
    namespace: 'The namespace of the Secret.',
  }),
  describe(GlusterfsPersistentVolumeSourceSchema, 'A Glusterfs volume. Removed from Kubernetes.', {
    endpoints: 'The name of the Endpoints with the addresses of the servers.',
    path: 'The name of the volume.',
    readOnly: 'Whether the volume is read-only. Default false.',
    endpointsNamespace: 'The namespace of the Endpoints. Default: that of the claim.',
  }),
  describe(RBDPersistentVolumeSourceSchema, 'A block device of Ceph. Removed from Kubernetes.', {
    monitors: 'The addresses of the monitors.',
    image: 'The name of the image.',
    fsType: 'The file system, such as ext4.',
    pool: 'The pool. Default rbd.',
    user: 'The user. Default admin.',
    keyring: 'The path of the key ring on the node. Default /etc/ceph/keyring.',
    secretRef: 'The Secret with the key, in place of the key ring.',
    readOnly: 'Whether the volume is read-only. Default false.',
  }),
  describe(CinderPersistentVolumeSourceSchema, 'A disk of OpenStack Cinder, which its CSI driver mounts.', {
    volumeID: 'The id of the volume.',
    fsType: 'The file system, such as ext4.',
    readOnly: 'Whether the volume is read-only. Default false.',
    secretRef: 'The Secret with the credentials for OpenStack.',
  }),
  describe(CephFSPersistentVolumeSourceSchema, 'A Ceph file system. Removed from Kubernetes.', {
    monitors: 'The addresses of the monitors.',
    path: 'The directory to mount. Default /.',
    user: 'The user. Default admin.',
    secretFile: 'The path of the key on the node. Default /etc/ceph/user.secret.',
    secretRef: 'The Secret with the key, in place of the file.',
    readOnly: 'Whether the volume is read-only. Default false.',
  }),
  describe(AzureFilePersistentVolumeSourceSchema, 'A file share of Azure, which its CSI driver mounts.', {
    secretName: 'The name of the Secret with the name and the key of the storage account.',
    shareName: 'The name of the share.',
    readOnly: 'Whether the volume is read-only. Default false.',
    secretNamespace: 'The namespace of the Secret. Default: that of the claim.',
  }),
  describe(ScaleIOPersistentVolumeSourceSchema, 'A ScaleIO volume. Removed from Kubernetes.', {
    gateway: 'The address of the gateway.',
    system: 'The name of the storage system.',
    secretRef: 'The Secret with the credentials.',
    sslEnabled: 'Whether to speak TLS with the gateway. Default false.',
    protectionDomain: 'The name of the protection domain.',
    storagePool: 'The storage pool of the protection domain.',
    storageMode: 'ThickProvisioned or ThinProvisioned. Default ThinProvisioned.',
    volumeName: 'The name of the volume.',
    fsType: 'The file system. Default xfs.',
    readOnly: 'Whether the volume is read-only. Default false.',
  }),
  describe(StorageOSPersistentVolumeSourceSchema, 'A StorageOS volume. Removed from Kubernetes.', {
    volumeName: 'The name of the volume.',
    volumeNamespace: 'The namespace of the volume in StorageOS.',
    fsType: 'The file system, such as ext4.',
    readOnly: 'Whether the volume is read-only. Default false.',
    secretRef: 'The Secret with the credentials for StorageOS.',
  }),
];
