/**
 * All reasons that users see in events and statuses. Names follow upstream: pkg/kubelet/events/event.go,
 * images/types.go, status/generate.go, lifecycle/predicate.go.
 */

/** Events about a container. */
export const containerEvents = {
  created: 'Created',
  started: 'Started',
  failed: 'Failed',
  killing: 'Killing',
  preempting: 'Preempting',
  backOff: 'BackOff',
  exceededGracePeriod: 'ExceededGracePeriod',
  unhealthy: 'Unhealthy',
  probeWarning: 'ProbeWarning',
  failedPostStartHook: 'FailedPostStartHook',
  failedPreStopHook: 'FailedPreStopHook',
  lifecycleHTTPFallback: 'LifecycleHTTPFallback',
} as const;

/** Events about pulling an image. */
export const imageEvents = {
  pulling: 'Pulling',
  pulled: 'Pulled',
  failed: 'Failed',
  inspectFailed: 'InspectFailed',
  errImageNeverPull: 'ErrImageNeverPull',
  backOff: 'BackOff',
  failedToRetrieveImagePullSecret: 'FailedToRetrieveImagePullSecret',
  invalidImageID: 'InvalidImageID',
} as const;

/** Events about a pod as a whole. An admission reason may also be the reason of an event. */
export const podEvents = {
  failedKillPod: 'FailedKillPod',
  failedCreatePodContainer: 'FailedCreatePodContainer',
  networkNotReady: 'NetworkNotReady',
  failedSync: 'FailedSync',
  failedValidation: 'FailedValidation',
  /** Defined by this project. */
  failedCreateMirrorPod: 'FailedCreateMirrorPod',
  sandboxChanged: 'SandboxChanged',
  failedCreatePodSandBox: 'FailedCreatePodSandBox',
  failedPodSandBoxStatus: 'FailedPodSandBoxStatus',
  hostIPsIPFamilyMismatch: 'HostIPsIPFamilyMismatch',
  dnsConfigForming: 'DNSConfigForming',
  missingClusterDNS: 'MissingClusterDNS',
  evicted: 'Evicted',
  deadlineExceeded: 'DeadlineExceeded',
  failedPrepareDynamicResources: 'FailedPrepareDynamicResources',
  failedNodeDeclaredFeaturesCheck: 'FailedNodeDeclaredFeaturesCheck',
  resizeStarted: 'ResizeStarted',
  resizeCompleted: 'ResizeCompleted',
  resizeDeferred: 'ResizeDeferred',
  resizeInfeasible: 'ResizeInfeasible',
  resizeError: 'ResizeError',
  /** Defined by this project: an operator's admission step makes the pod wait. */
  admissionHeld: 'AdmissionHeld',
  /** Defined by this project: the kernel killed a process in the pod because memory ran out. */
  oomKilling: 'OOMKilling',
} as const;

/** Events about volumes. */
export const volumeEvents = {
  failedAttachVolume: 'FailedAttachVolume',
  failedMount: 'FailedMount',
  failedMapVolume: 'FailedMapVolume',
  failedMountOnFilesystemMismatch: 'FailedMountOnFilesystemMismatch',
  successfulAttachVolume: 'SuccessfulAttachVolume',
  successfulMountVolume: 'SuccessfulMountVolume',
  alreadyMountedVolume: 'AlreadyMountedVolume',
  volumeResizeFailed: 'VolumeResizeFailed',
  volumeResizeSuccessful: 'VolumeResizeSuccessful',
  fileSystemResizeFailed: 'FileSystemResizeFailed',
  fileSystemResizeSuccessful: 'FileSystemResizeSuccessful',
  volumePermissionChangeInProgress: 'VolumePermissionChangeInProgress',
  volumeConditionAbnormal: 'VolumeConditionAbnormal',
} as const;
export type VolumeEvent = (typeof volumeEvents)[keyof typeof volumeEvents];

/** Events about the node. */
export const nodeEvents = {
  starting: 'Starting',
  kubeletSetupFailed: 'KubeletSetupFailed',
  rebooted: 'Rebooted',
  shutdown: 'Shutdown',
  nodeReady: 'NodeReady',
  nodeNotReady: 'NodeNotReady',
  nodeSchedulable: 'NodeSchedulable',
  nodeNotSchedulable: 'NodeNotSchedulable',
  nodeHasSufficientMemory: 'NodeHasSufficientMemory',
  nodeHasSufficientPID: 'NodeHasSufficientPID',
  nodeHasInsufficientMemory: 'NodeHasInsufficientMemory',
  nodeHasInsufficientPID: 'NodeHasInsufficientPID',
  nodeHasNoDiskPressure: 'NodeHasNoDiskPressure',
  nodeHasDiskPressure: 'NodeHasDiskPressure',
  evictionThresholdMet: 'EvictionThresholdMet',
  systemOOM: 'SystemOOM',
  containerGCFailed: 'ContainerGCFailed',
  imageGCFailed: 'ImageGCFailed',
  freeDiskSpaceFailed: 'FreeDiskSpaceFailed',
  invalidDiskCapacity: 'InvalidDiskCapacity',
  nodeAllocatableEnforced: 'NodeAllocatableEnforced',
  failedNodeAllocatableEnforcement: 'FailedNodeAllocatableEnforcement',
  cgroupV1: 'CgroupV1',
  possibleMemoryBackedVolumesOnDisk: 'PossibleMemoryBackedVolumesOnDisk',
  checkLimitsForResolvConf: 'CheckLimitsForResolvConf',
  certificateExpired: 'CertificateExpired',
  certificateOverdueForRefresh: 'CertificateOverdueForRefresh',
} as const;
export type NodeEvent = (typeof nodeEvents)[keyof typeof nodeEvents];

/** Why a container is waiting. */
export const waitingReasons = {
  containerCreating: 'ContainerCreating',
  podInitializing: 'PodInitializing',
  crashLoopBackOff: 'CrashLoopBackOff',
  errImagePull: 'ErrImagePull',
  imagePullBackOff: 'ImagePullBackOff',
  errImageNeverPull: 'ErrImageNeverPull',
  imageInspectError: 'ImageInspectError',
  invalidImageName: 'InvalidImageName',
  registryUnavailable: 'RegistryUnavailable',
  signatureValidationFailed: 'SignatureValidationFailed',
  imageVolumeMountFailed: 'ImageVolumeMountFailed',
  rroUnsupported: 'RROUnsupported',
  createContainerConfigError: 'CreateContainerConfigError',
  createContainerError: 'CreateContainerError',
  preCreateHookError: 'PreCreateHookError',
  preStartHookError: 'PreStartHookError',
  postStartHookError: 'PostStartHookError',
  runContainerError: 'RunContainerError',
  createPodSandboxError: 'CreatePodSandboxError',
  configPodSandboxError: 'ConfigPodSandboxError',
  killContainerError: 'KillContainerError',
  killPodSandboxError: 'KillPodSandboxError',
  restartingAllContainers: 'RestartingAllContainers',
} as const;

/** Why a container has ended; the first four come from the runtime. */
export const terminatedReasons = {
  completed: 'Completed',
  error: 'Error',
  oomKilled: 'OOMKilled',
  startError: 'StartError',
  containerCannotRun: 'ContainerCannotRun',
  containerStatusUnknown: 'ContainerStatusUnknown',
  restartingAllContainers: 'RestartingAllContainers',
} as const;

/** Reasons in `status.reason` of a pod, admission refusals included. */
export const podReasons = {
  evicted: 'Evicted',
  preempting: 'Preempting',
  deadlineExceeded: 'DeadlineExceeded',
  unexpectedAdmissionError: 'UnexpectedAdmissionError',
  nodeAffinity: 'NodeAffinity',
  nodePorts: 'NodePorts',
  nodeName: 'NodeName',
  taintToleration: 'TaintToleration',
  podOSNotSupported: 'PodOSNotSupported',
  podOSSelectorNodeLabelDoesNotMatch: 'PodOSSelectorNodeLabelDoesNotMatch',
  invalidNodeInfo: 'InvalidNodeInfo',
  sysctlForbidden: 'SysctlForbidden',
  appArmor: 'AppArmor',
  topologyAffinityError: 'TopologyAffinityError',
  smtAlignmentError: 'SMTAlignmentError',
  emptyPodSharedPoolError: 'EmptyPodSharedPoolError',
  podLevelResourcesNotSupported: 'PodLevelResourcesNotSupported',
  podFeatureUnsupported: 'PodFeatureUnsupported',
  initContainerRestartPolicyForbidden: 'InitContainerRestartPolicyForbidden',
  supplementalGroupsPolicyNotSupported: 'SupplementalGroupsPolicyNotSupported',
  volumeAttachmentLimitExceeded: 'VolumeAttachmentLimitExceeded',
  unknownReason: 'UnknownReason',
  unexpectedPredicateFailureType: 'UnexpectedPredicateFailureType',
  terminated: 'Terminated',
  nodeShutdown: 'NodeShutdown',
  /** Defined by this project: the pod waits for an admission step, or for resources. */
  admissionHeld: 'AdmissionHeld',
} as const;

/** Reasons in pod conditions. */
export const podConditionReasons = {
  podCompleted: 'PodCompleted',
  podFailed: 'PodFailed',
  containersNotReady: 'ContainersNotReady',
  containersNotInitialized: 'ContainersNotInitialized',
  readinessGatesNotReady: 'ReadinessGatesNotReady',
  unknownContainerStatuses: 'UnknownContainerStatuses',
  restartAllContainersStarted: 'RestartAllContainersStarted',
  deferred: 'Deferred',
  infeasible: 'Infeasible',
  error: 'Error',
  terminationByKubelet: 'TerminationByKubelet',
  /** Defined by this project. */
  processKilled: 'ProcessKilled',
} as const;

/** Reasons in node conditions. */
export const nodeConditionReasons = {
  kubeletReady: 'KubeletReady',
  kubeletNotReady: 'KubeletNotReady',
  kubeletHasSufficientMemory: 'KubeletHasSufficientMemory',
  kubeletHasInsufficientMemory: 'KubeletHasInsufficientMemory',
  kubeletHasSufficientPID: 'KubeletHasSufficientPID',
  kubeletHasInsufficientPID: 'KubeletHasInsufficientPID',
  kubeletHasNoDiskPressure: 'KubeletHasNoDiskPressure',
  kubeletHasDiskPressure: 'KubeletHasDiskPressure',
} as const;

/**
 * Admission rejected the pod because a resource is insufficient: `OutOfcpu`, `OutOfephemeral-storage` (the resource
 * name is appended unchanged).
 */
export function outOfReason(resource: string): string {
  return `OutOf${resource}`;
}

/** The type of the condition that marks a disrupted pod. */
export const DISRUPTION_TARGET = 'DisruptionTarget';
