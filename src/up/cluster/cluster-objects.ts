/**
 * The objects that `up` creates in a new cluster first: the name service as a Service, the default StorageClass, and
 * the rights of the programs behind them. Pure.
 */
import type { ApiObject, ResourceType } from '../../api/client/resource-type.ts';
import {
  clusterRoleBindings,
  clusterRoles,
  endpointSlices,
  secrets,
  services,
} from '../../api/client/resource-types.ts';
import { endpointLabels, nodeLabels } from '../../api/annotations.ts';
import type { CSIDriver } from '../../api/storage/csi-driver.ts';
import type { StorageClass } from '../../api/storage/storage-class.ts';
import { familyOf } from '../ip-families.ts';
import { PROVISIONER } from '../../node-storage/provisioner/volume-name.ts';

export interface WantedObject {
  readonly type: ResourceType;
  readonly object: ApiObject;
}

/** The user of the program for DNS, services and policies, in its client certificate. */
export const NODE_NETWORK_USER = 'kubelet-ts:node-network';
/** The user of the program for volumes. */
export const NODE_STORAGE_USER = 'kubelet-ts:node-storage';
/** The group whose first node certificates are approved automatically, as in kubeadm. */
export const NODE_GROUP = 'system:bootstrappers:kubeadm:default-node-token';
export const DNS_PORT = 10_053;

/**
 * Read access to the objects that DNS, services and policies are computed from; write access to the load balancer
 * addresses in the status of services.
 */
/** `overlay`: in a cluster with several nodes it writes annotations on its node, as flannel does. */
export function nodeNetworkRights(overlay = false): WantedObject[] {
  const verbs = ['list', 'watch'];
  return rightsOf(NODE_NETWORK_USER, [
    { apiGroups: [''], resources: ['services', 'namespaces', 'pods'], verbs },
    { apiGroups: ['networking.k8s.io'], resources: ['networkpolicies'], verbs },
    { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs },
    { apiGroups: [''], resources: ['services/status'], verbs: ['update'] },
    { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
    ...(overlay
      ? [
          { apiGroups: [''], resources: ['nodes'], verbs },
          { apiGroups: [''], resources: ['nodes/status'], verbs: ['patch'] },
        ]
      : []),
  ]);
}

/** The rights that the external provisioner and resizer of a CSI driver have, without Secrets. */
export function nodeStorageRights(): WantedObject[] {
  const read = ['list', 'watch'];
  return rightsOf(NODE_STORAGE_USER, [
    { apiGroups: [''], resources: ['persistentvolumes'], verbs: [...read, 'get', 'create', 'update', 'delete'] },
    { apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: [...read, 'update'] },
    { apiGroups: [''], resources: ['persistentvolumeclaims/status'], verbs: ['update'] },
    { apiGroups: [''], resources: ['nodes'], verbs: ['get'] },
    { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
    { apiGroups: ['storage.k8s.io'], resources: ['storageclasses'], verbs: read },
    {
      apiGroups: ['storage.k8s.io'],
      resources: ['csistoragecapacities'],
      verbs: [...read, 'create', 'update', 'delete'],
    },
  ]);
}

/** Says that the provisioners publish the free space of their nodes, which the scheduler then looks at. */
export const storageDriver: CSIDriver = {
  metadata: { name: PROVISIONER, namespace: '', uid: '' },
  spec: { attachRequired: false, podInfoOnMount: false, storageCapacity: true, volumeLifecycleModes: ['Persistent'] },
};

export const DEFAULT_CLASS = 'standard';

/**
 * The default StorageClass: volumes on the disk of a node, created when the first pod that uses the claim is scheduled.
 * Only nodes with a provisioner may be selected; undefined means that every node has one.
 */
export const defaultStorageClass = (hostnames: readonly string[] | undefined): StorageClass => ({
  metadata: {
    name: DEFAULT_CLASS,
    namespace: '',
    uid: '',
    annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' },
  },
  provisioner: PROVISIONER,
  reclaimPolicy: 'Delete',
  volumeBindingMode: 'WaitForFirstConsumer',
  allowVolumeExpansion: true,
  ...(hostnames !== undefined && {
    allowedTopologies: [{ matchLabelExpressions: [{ key: nodeLabels.hostname, values: [...hostnames] }] }],
  }),
});

function rightsOf(user: string, rules: readonly object[]): WantedObject[] {
  const metadata = { name: user, namespace: '', uid: '' };
  const group = 'rbac.authorization.k8s.io';
  return [
    { type: clusterRoles, object: { metadata, rules } as ApiObject },
    {
      type: clusterRoleBindings,
      object: {
        metadata,
        roleRef: { apiGroup: group, kind: 'ClusterRole', name: user },
        subjects: [{ apiGroup: group, kind: 'User', name: user }],
      } as ApiObject,
    },
  ];
}

/**
 * `kube-dns`, with the name and label by which pods and tools find the DNS service. It has no selector: its endpoint is
 * on the node itself. `kubectl cluster-info` shows the label `kubernetes.io/name`; it is the name of the Service,
 * because no CoreDNS runs here.
 */
export function nameService(clusterIps: readonly string[], nodeAddresses: readonly string[]): WantedObject[] {
  const metadata = {
    name: 'kube-dns',
    namespace: 'kube-system',
    uid: '',
    labels: { 'k8s-app': 'kube-dns', 'kubernetes.io/name': 'kube-dns', 'kubernetes.io/cluster-service': 'true' },
  };
  const ports = [
    { name: 'dns', protocol: 'UDP' },
    { name: 'dns-tcp', protocol: 'TCP' },
  ];
  const slice = (address: string, index: number): WantedObject => ({
    type: endpointSlices,
    object: {
      metadata: {
        name: index === 0 ? 'kube-dns' : `kube-dns-${familyOf(address).toLowerCase()}`,
        namespace: 'kube-system',
        uid: '',
        labels: { [endpointLabels.serviceName]: 'kube-dns', [endpointLabels.slicesManagedBy]: 'kubelet-ts' },
      },
      addressType: familyOf(address),
      endpoints: [{ addresses: [address], conditions: { ready: true } }],
      ports: ports.map((port) => ({ ...port, port: DNS_PORT })),
    } as ApiObject,
  });
  const both = clusterIps.length === 2 && { clusterIPs: [...clusterIps], ipFamilyPolicy: 'RequireDualStack' };
  return [
    {
      type: services,
      object: {
        metadata,
        spec: {
          ...{ clusterIP: clusterIps[0], ...both },
          ports: ports.map((port) => ({ ...port, port: 53, targetPort: DNS_PORT })),
        },
      } as ApiObject,
    },
    ...nodeAddresses.map(slice),
  ];
}

export interface BootstrapToken {
  readonly id: string;
  readonly secret: string;
  /** RFC 3339. */
  readonly expiration: string;
}

/** A token as `kubeadm token create` creates it. Nodes use it to get their first certificate, until it expires. */
export function bootstrapTokenSecret(
  { id, secret, expiration }: BootstrapToken,
  description = 'for the node that npm run up starts',
): WantedObject {
  const data = {
    'token-id': id,
    'token-secret': secret,
    expiration,
    description,
    'usage-bootstrap-authentication': 'true',
    'usage-bootstrap-signing': 'true',
    'auth-extra-groups': NODE_GROUP,
  };
  const encoded = Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
  );
  return {
    type: secrets,
    object: {
      metadata: { name: `bootstrap-token-${id}`, namespace: 'kube-system', uid: '' },
      type: 'bootstrap.kubernetes.io/token',
      data: encoded,
    } as ApiObject,
  };
}
