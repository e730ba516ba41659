/** Names of annotations and labels that more than one component reads or writes. */
export const annotations = {
  configSource: 'kubernetes.io/config.source',
  configHash: 'kubernetes.io/config.hash',
  configSeen: 'kubernetes.io/config.seen',
  configMirror: 'kubernetes.io/config.mirror',
  configFirstSeen: 'kubernetes.io/config.firstSeen',
  defaultContainer: 'kubectl.kubernetes.io/default-container',
  appArmorContainerPrefix: 'container.apparmor.security.beta.kubernetes.io/',
  seccompPod: 'seccomp.security.alpha.kubernetes.io/pod',
  seccompContainerPrefix: 'container.seccomp.security.alpha.kubernetes.io/',
  restartedAt: 'kubectl.kubernetes.io/restartedAt',
  podGid: 'pv.beta.kubernetes.io/gid',
  controllerManagedAttach: 'volumes.kubernetes.io/controller-managed-attach-detach',
  keepTerminatedVolumes: 'volumes.kubernetes.io/keep-terminated-pod-volumes',
  providedNodeIp: 'alpha.kubernetes.io/provided-node-ip',
} as const;

/**
 * Values of the `config.source` annotation, and of the log fields that name a source. `server` is this project's own:
 * manifests handed to the agent over HTTP.
 */
export type PodSource = 'file' | 'http' | 'server' | 'api';

/**
 * Labels on sandboxes and containers in the runtime (upstream: kuberuntime/labels.go, staging kubelet/types/labels.go).
 */
export const runtimeLabels = {
  podName: 'io.kubernetes.pod.name',
  podNamespace: 'io.kubernetes.pod.namespace',
  podUid: 'io.kubernetes.pod.uid',
  containerName: 'io.kubernetes.container.name',
} as const;

/** Annotations on sandboxes and containers in the runtime. */
export const runtimeAnnotations = {
  containerHash: 'io.kubernetes.container.hash',
  containerRestartCount: 'io.kubernetes.container.restartCount',
  terminationMessagePath: 'io.kubernetes.container.terminationMessagePath',
  terminationMessagePolicy: 'io.kubernetes.container.terminationMessagePolicy',
  preStopHandler: 'io.kubernetes.container.preStopHandler',
  containerPorts: 'io.kubernetes.container.ports',
  podDeletionGracePeriod: 'io.kubernetes.pod.deletionGracePeriod',
  podTerminationGracePeriod: 'io.kubernetes.pod.terminationGracePeriod',
} as const;

/** Labels of the node object. */
export const nodeLabels = {
  hostname: 'kubernetes.io/hostname',
  os: 'kubernetes.io/os',
  arch: 'kubernetes.io/arch',
  betaOs: 'beta.kubernetes.io/os',
  betaArch: 'beta.kubernetes.io/arch',
  betaZone: 'failure-domain.beta.kubernetes.io/zone',
  betaRegion: 'failure-domain.beta.kubernetes.io/region',
  zone: 'topology.kubernetes.io/zone',
  region: 'topology.kubernetes.io/region',
  instanceType: 'node.kubernetes.io/instance-type',
} as const;

/** Taints that keep pods off a node, or evict them, depending on its reported state. */
export const nodeTaints = {
  notReady: 'node.kubernetes.io/not-ready',
  unreachable: 'node.kubernetes.io/unreachable',
  unschedulable: 'node.kubernetes.io/unschedulable',
  memoryPressure: 'node.kubernetes.io/memory-pressure',
  diskPressure: 'node.kubernetes.io/disk-pressure',
  pidPressure: 'node.kubernetes.io/pid-pressure',
  networkUnavailable: 'node.kubernetes.io/network-unavailable',
} as const;

/** Labels that assign endpoints to a service and name their controller. */
export const endpointLabels = {
  serviceName: 'kubernetes.io/service-name',
  headless: 'service.kubernetes.io/headless',
  endpointsManagedBy: 'endpoints.kubernetes.io/managed-by',
  slicesManagedBy: 'endpointslice.kubernetes.io/managed-by',
} as const;

/**
 * Annotations by which binders, scheduler and provisioners exchange the state of a claim and its volume (upstream:
 * component-helpers storage/volume).
 */
export const storageAnnotations = {
  bindCompleted: 'pv.kubernetes.io/bind-completed',
  boundByController: 'pv.kubernetes.io/bound-by-controller',
  provisionedBy: 'pv.kubernetes.io/provisioned-by',
  selectedNode: 'volume.kubernetes.io/selected-node',
  provisioner: 'volume.kubernetes.io/storage-provisioner',
  betaProvisioner: 'volume.beta.kubernetes.io/storage-provisioner',
  betaClass: 'volume.beta.kubernetes.io/storage-class',
} as const;

/** Priority values that change how the agent treats a pod (upstream: pkg/apis/scheduling/types.go). */
export const priorities = {
  systemCritical: 2_000_000_000,
  clusterCriticalClass: 'system-cluster-critical',
  nodeCriticalClass: 'system-node-critical',
} as const;
