import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { VolumeSchema } from './volume.ts';

export const docs: readonly TypeDocs[] = [
  describe(VolumeSchema, 'A volume of a pod. Exactly one source must be set.', {
    name: 'The name of the volume, a DNS label; unique in the pod.',
    hostPath: 'A file or directory of the node.',
    emptyDir: 'An empty directory that is deleted with the pod.',
    gcePersistentDisk: 'A disk of Google Compute Engine.',
    awsElasticBlockStore: 'A disk of Amazon EC2.',
    gitRepo: 'A git repository. Deprecated and not served: clone it in an init container.',
    secret: 'The values of a Secret as files.',
    nfs: 'A directory of an NFS server.',
    iscsi: 'A disk reached over iSCSI.',
    glusterfs: 'A Glusterfs volume.',
    persistentVolumeClaim: 'The volume that is bound to a claim.',
    rbd: 'A block device of Ceph.',
    flexVolume: 'A volume of a FlexVolume driver. Deprecated: use a CSI driver.',
    cinder: 'A disk of OpenStack Cinder.',
    cephfs: 'A Ceph file system.',
    flocker: 'A Flocker dataset.',
    downwardAPI: 'Fields of the pod as files.',
    fc: 'A Fibre Channel disk.',
    azureFile: 'A file share of Azure.',
    configMap: 'The values of a ConfigMap as files.',
    vsphereVolume: 'A disk of vSphere.',
    quobyte: 'A Quobyte volume.',
    azureDisk: 'A disk of Azure.',
    photonPersistentDisk: 'A disk of the Photon controller.',
    projected: 'Several sources in one directory.',
    portworxVolume: 'A Portworx volume.',
    scaleIO: 'A ScaleIO volume.',
    storageos: 'A StorageOS volume.',
    csi: 'A volume of a CSI driver that is deleted with the pod.',
    ephemeral: 'A claim that is created and deleted with the pod.',
    image: 'The files of a container image, read-only.',
  }),
];
