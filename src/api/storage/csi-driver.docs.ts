import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { TokenRequestSchema, CSIDriverSpecSchema, CSIDriverSchema } from './csi-driver.ts';

export const docs: readonly TypeDocs[] = [
  describe(TokenRequestSchema, 'A service account token that the driver gets.', {
    audience: 'The audience of the token. Empty: the API server.',
    expirationSeconds: 'The lifetime of the token, in seconds. Default 3600.',
  }),
  describe(CSIDriverSpecSchema, 'The properties of a CSI driver.', {
    attachRequired: 'Volumes must be attached before they are mounted. Default true.',
    podInfoOnMount: 'The driver gets the name, namespace and uid of the pod with each mount. Default false.',
    volumeLifecycleModes:
      'The kinds of volumes that the driver supports: Persistent and Ephemeral. Default Persistent.',
    storageCapacity: 'The scheduler considers the capacity that the driver reports. Default false.',
    fsGroupPolicy:
      'Whether the kubelet applies the fsGroup of the pod to volumes: ReadWriteOnceWithFSType, File or None. Default ReadWriteOnceWithFSType.',
    tokenRequests: 'Service account tokens of the pod that the driver gets.',
    requiresRepublish:
      'The kubelet repeats the mount regularly, so that the driver can refresh its content. Default false.',
    seLinuxMount: 'The driver supports mounting with an SELinux label. Default false.',
    nodeAllocatableUpdatePeriodSeconds:
      'How often the kubelet asks for the number of volumes that the node can have, in seconds. Absent: only at registration.',
    serviceAccountTokenInSecrets:
      'Passes the tokens in the secrets of the request instead of in the volume context. Default false.',
    preventPodSchedulingIfMissing: 'Keeps pods that need the driver off nodes that do not have it. Default false.',
  }),
  describe(CSIDriverSchema, 'A CSI driver and its properties.', {}),
];
