/** Names of annotations and labels the agent reads or writes, for other components to find. */
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

/** Values of the `config.source` annotation, and of the log fields that name a source. `server` is this project's own: manifests handed to the agent over HTTP. */
export type PodSource = 'file' | 'http' | 'server' | 'api';

/** Labels on sandboxes and containers in the runtime (upstream: kuberuntime/labels.go, staging kubelet/types/labels.go). */
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
  zone: 'topology.kubernetes.io/zone',
  region: 'topology.kubernetes.io/region',
  instanceType: 'node.kubernetes.io/instance-type',
} as const;

/** Priority values that change how the agent treats a pod (upstream: pkg/apis/scheduling/types.go). */
export const priorities = {
  systemCritical: 2_000_000_000,
  clusterCriticalClass: 'system-cluster-critical',
  nodeCriticalClass: 'system-node-critical',
} as const;
