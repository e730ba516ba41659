/** A volume of a pod: a name and exactly one source. Which fields exist follows k8s.io/api/core/v1. */
import { object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { CSIVolumeSourceSchema, ConfigMapVolumeSourceSchema, DownwardAPIVolumeSourceSchema, EmptyDirVolumeSourceSchema, EphemeralVolumeSourceSchema, HostPathVolumeSourceSchema, ImageVolumeSourceSchema, PersistentVolumeClaimVolumeSourceSchema, ProjectedVolumeSourceSchema, SecretVolumeSourceSchema } from './volume-source.ts';
import { AWSElasticBlockStoreVolumeSourceSchema, AzureDiskVolumeSourceSchema, AzureFileVolumeSourceSchema, CephFSVolumeSourceSchema, CinderVolumeSourceSchema, FCVolumeSourceSchema, FlexVolumeSourceSchema, FlockerVolumeSourceSchema, GCEPersistentDiskVolumeSourceSchema, GitRepoVolumeSourceSchema, GlusterfsVolumeSourceSchema, ISCSIVolumeSourceSchema, NFSVolumeSourceSchema, PhotonPersistentDiskVolumeSourceSchema, PortworxVolumeSourceSchema, QuobyteVolumeSourceSchema, RBDVolumeSourceSchema, ScaleIOVolumeSourceSchema, StorageOSVolumeSourceSchema, VsphereVirtualDiskVolumeSourceSchema } from './volume-source-remote.ts';

export const VolumeSchema = object('Volume', {
  name: required(string),
  hostPath: HostPathVolumeSourceSchema,
  emptyDir: EmptyDirVolumeSourceSchema,
  gcePersistentDisk: GCEPersistentDiskVolumeSourceSchema,
  awsElasticBlockStore: AWSElasticBlockStoreVolumeSourceSchema,
  gitRepo: GitRepoVolumeSourceSchema,
  secret: SecretVolumeSourceSchema,
  nfs: NFSVolumeSourceSchema,
  iscsi: ISCSIVolumeSourceSchema,
  glusterfs: GlusterfsVolumeSourceSchema,
  persistentVolumeClaim: PersistentVolumeClaimVolumeSourceSchema,
  rbd: RBDVolumeSourceSchema,
  flexVolume: FlexVolumeSourceSchema,
  cinder: CinderVolumeSourceSchema,
  cephfs: CephFSVolumeSourceSchema,
  flocker: FlockerVolumeSourceSchema,
  downwardAPI: DownwardAPIVolumeSourceSchema,
  fc: FCVolumeSourceSchema,
  azureFile: AzureFileVolumeSourceSchema,
  configMap: ConfigMapVolumeSourceSchema,
  vsphereVolume: VsphereVirtualDiskVolumeSourceSchema,
  quobyte: QuobyteVolumeSourceSchema,
  azureDisk: AzureDiskVolumeSourceSchema,
  photonPersistentDisk: PhotonPersistentDiskVolumeSourceSchema,
  projected: ProjectedVolumeSourceSchema,
  portworxVolume: PortworxVolumeSourceSchema,
  scaleIO: ScaleIOVolumeSourceSchema,
  storageos: StorageOSVolumeSourceSchema,
  csi: CSIVolumeSourceSchema,
  ephemeral: EphemeralVolumeSourceSchema,
  image: ImageVolumeSourceSchema,
});
export type Volume = Infer<typeof VolumeSchema>;
