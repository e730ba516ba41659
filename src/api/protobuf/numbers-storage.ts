/** Field numbers of storage, v1: see `field-numbers.ts` for how to read them. */
export const storageNumbers = {
  CSIDriver: 'metadata:1 spec:2',
  CSIDriverSpec: `
    attachRequired:1? podInfoOnMount:2? volumeLifecycleModes:3 storageCapacity:4? fsGroupPolicy:5? tokenRequests:6 requiresRepublish:7? seLinuxMount:8?
    nodeAllocatableUpdatePeriodSeconds:9? serviceAccountTokenInSecrets:10? preventPodSchedulingIfMissing:11?
  `,
  CSINode: 'metadata:1 spec:2',
  CSINodeDriver: 'name:1 nodeID:2 topologyKeys:3 allocatable:4?',
  CSINodeSpec: 'drivers:1',
  StorageClass:
    'metadata:1 provisioner:2 parameters:3 reclaimPolicy:4? mountOptions:5 allowVolumeExpansion:6? volumeBindingMode:7? allowedTopologies:8',
  TokenRequest: 'audience:1 expirationSeconds:2?',
  VolumeAttachment: 'metadata:1 spec:2 status:3',
  VolumeAttachmentSource: 'persistentVolumeName:1? inlineVolumeSpec:2?',
  VolumeAttachmentSpec: 'attacher:1 source:2 nodeName:3',
  VolumeAttachmentStatus: 'attached:1 attachmentMetadata:2 attachError:3? detachError:4?',
  VolumeError: 'time:1 message:2 errorCode:3?',
  VolumeNodeResources: 'count:1?',
} as const;
