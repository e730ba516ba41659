import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import {
  HostPathVolumeSourceSchema,
  EmptyDirVolumeSourceSchema,
  KeyToPathSchema,
  SecretVolumeSourceSchema,
  ConfigMapVolumeSourceSchema,
  DownwardAPIVolumeFileSchema,
  DownwardAPIVolumeSourceSchema,
  SecretProjectionSchema,
  DownwardAPIProjectionSchema,
  ConfigMapProjectionSchema,
  ServiceAccountTokenProjectionSchema,
  ClusterTrustBundleProjectionSchema,
  PodCertificateProjectionSchema,
  VolumeProjectionSchema,
  ProjectedVolumeSourceSchema,
  PersistentVolumeClaimVolumeSourceSchema,
  CSIVolumeSourceSchema,
  PersistentVolumeClaimSpecSchema,
  PersistentVolumeClaimTemplateSchema,
  EphemeralVolumeSourceSchema,
  ImageVolumeSourceSchema,
} from './volume-source.ts';

export const docs: readonly TypeDocs[] = [
  describe(HostPathVolumeSourceSchema, 'A file or directory of the node.', {
    path: 'The path on the node.',
    type: 'The required type, such as Directory or File; DirectoryOrCreate and FileOrCreate create it. Default: no check.',
  }),
  describe(EmptyDirVolumeSourceSchema, 'An empty directory that is deleted with the pod.', {
    medium: 'The storage medium: empty for the disk of the node, Memory for a tmpfs, or HugePages. Default empty.',
    sizeLimit: 'The maximum size. Default: no limit.',
  }),
  describe(KeyToPathSchema, 'Maps a key to a file.', {
    key: 'The key.',
    path: 'The path of the file in the volume.',
    mode: 'The mode of the file. Default: defaultMode of the volume.',
  }),
  describe(SecretVolumeSourceSchema, 'The values of a Secret as files.', {
    secretName: 'The name of the Secret.',
    items: 'The keys to use, with their paths. Default: all keys.',
    defaultMode: 'The mode of the files. Default 0644 (420 in JSON).',
    optional: 'Whether the Secret or its keys may be missing. Default false.',
  }),
  describe(ConfigMapVolumeSourceSchema, 'The values of a ConfigMap as files.', {
    name: 'The name of the ConfigMap.',
    items: 'The keys to use, with their paths. Default: all keys.',
    defaultMode: 'The mode of the files. Default 0644 (420 in JSON).',
    optional: 'Whether the ConfigMap or its keys may be missing. Default false.',
  }),
  describe(DownwardAPIVolumeFileSchema, 'A field of the pod as a file.', {
    path: 'The path of the file in the volume.',
    fieldRef: 'A field of the pod: its name, namespace, uid, labels or annotations.',
    resourceFieldRef: 'A limit or request of a container.',
    mode: 'The mode of the file. Default: defaultMode of the volume.',
  }),
  describe(DownwardAPIVolumeSourceSchema, 'Fields of the pod as files.', {
    items: 'The files.',
    defaultMode: 'The mode of the files. Default 0644 (420 in JSON).',
  }),
  describe(SecretProjectionSchema, 'The values of a Secret as files.', {
    name: 'The name of the Secret.',
    items: 'The keys to use, with their paths. Default: all keys.',
    optional: 'Whether the Secret or its keys may be missing. Default false.',
  }),
  describe(DownwardAPIProjectionSchema, 'Fields of the pod as files.', {
    items: 'The files.',
  }),
  describe(ConfigMapProjectionSchema, 'The values of a ConfigMap as files.', {
    name: 'The name of the ConfigMap.',
    items: 'The keys to use, with their paths. Default: all keys.',
    optional: 'Whether the ConfigMap or its keys may be missing. Default false.',
  }),
  describe(ServiceAccountTokenProjectionSchema, 'A token of the service account of the pod.', {
    audience: 'The audience of the token. Default: the API server.',
    expirationSeconds: 'The lifetime of the token, in seconds; at least 600. It is renewed in time. Default 3600.',
    path: 'The path of the file in the volume.',
  }),
  describe(ClusterTrustBundleProjectionSchema, 'Certificates of ClusterTrustBundles as a file.', {
    name: 'The ClusterTrustBundle; not together with signerName.',
    signerName: 'All ClusterTrustBundles of this signer; not together with name.',
    labelSelector: 'With signerName, only bundles with these labels. Absent selects none.',
    optional: 'Whether the bundles may be missing. Default false.',
    path: 'The file, relative to the volume.',
  }),
  describe(PodCertificateProjectionSchema, 'A private key and a certificate that the kubelet requests for the pod.', {
    signerName: 'The signer that issues the certificate.',
    keyType: 'The type of the key: RSA3072, RSA4096, ECDSAP256, ECDSAP384, ECDSAP521 or ED25519.',
    maxExpirationSeconds: 'The longest lifetime of the certificate, in seconds. Default 86400, at least 3600.',
    credentialBundlePath: 'The file for the key followed by the certificate chain, in PEM.',
    keyPath: 'The file for the key.',
    certificateChainPath: 'The file for the certificate chain.',
    userAnnotations: 'Values by key that are passed to the signer.',
  }),
  describe(VolumeProjectionSchema, 'A source of a projected volume. Exactly one must be set.', {
    secret: 'A Secret.',
    downwardAPI: 'Fields of the pod.',
    configMap: 'A ConfigMap.',
    serviceAccountToken: 'A token of the service account of the pod.',
    clusterTrustBundle: 'Certificates of a ClusterTrustBundle.',
    podCertificate: 'A key and certificate for the pod.',
  }),
  describe(ProjectedVolumeSourceSchema, 'Several sources in one directory.', {
    sources: 'The sources.',
    defaultMode: 'The mode of the files. Default 0644 (420 in JSON).',
  }),
  describe(PersistentVolumeClaimVolumeSourceSchema, 'A PersistentVolumeClaim in the same namespace.', {
    claimName: 'The name of the claim.',
    readOnly: 'Whether the volume is read-only. Default false.',
  }),
  describe(CSIVolumeSourceSchema, 'A volume of a CSI driver that is deleted with the pod.', {
    driver: 'The name of the driver.',
    readOnly: 'Whether the volume is read-only. Default false.',
    fsType: 'The file system, such as ext4.',
    volumeAttributes: 'Parameters for the driver.',
    nodePublishSecretRef: 'The Secret that is passed to the driver.',
  }),
  describe(PersistentVolumeClaimSpecSchema, 'The requested storage.', {
    accessModes: 'The required access modes.',
    selector: 'The required labels of the volume.',
    resources: 'The requested size.',
    volumeName: 'The name of the bound volume.',
    storageClassName: 'The StorageClass. Absent: the default class; empty: none.',
    volumeMode: 'Filesystem or Block. Default Filesystem.',
    dataSource: 'The initial content: a VolumeSnapshot or another claim.',
    dataSourceRef: 'The initial content: an object of any kind that a populator supports.',
    volumeAttributesClassName: 'The VolumeAttributesClass that the volume should have. Can be changed.',
  }),
  describe(PersistentVolumeClaimTemplateSchema, 'The template from which a claim is created.', {
    metadata: 'The labels and annotations of the claim.',
    spec: 'The requested storage.',
  }),
  describe(EphemeralVolumeSourceSchema, 'A claim that is created and deleted with the pod.', {
    volumeClaimTemplate: 'The template of the claim.',
  }),
  describe(ImageVolumeSourceSchema, 'The files of a container image, read-only.', {
    reference: 'The image, such as registry/name:tag.',
    pullPolicy:
      'When the image is pulled: Always, IfNotPresent or Never. Default Always for the tag latest, otherwise IfNotPresent.',
  }),
];
