import { honoured, notYet, partly } from './parity-state.ts';
import type { Parity } from './parity-state.ts';

const builtIn = (note: string): Parity => partly(`always on: ${note}`);
const NO_OPTIONS = 'there are no options of this stage in 1.36';
const WINDOWS = 'only on Windows';

/**
 * The feature gates that upstream's kubelet reads and that are not locked, and whether each value changes this agent's
 * behaviour. Gates of other components are accepted without effect.
 */
export const gateRows: Readonly<Record<string, Parity>> = {
  AllowDNSOnlyNodeCSR: honoured(),
  CPUManagerPolicyAlphaOptions: honoured(),
  CPUManagerPolicyBetaOptions: honoured(),
  CRIListStreaming: honoured('a call that the runtime does not implement turns streaming off for that list only'),
  CSIVolumeHealth: notYet('the agent does not query the health of volumes'),
  ChangeContainerStatusOnKubeletRestart: notYet('a restart of the agent never changes a status'),
  ClusterTrustBundleProjection: honoured(),
  ComponentFlagz: honoured(),
  ComponentStatusz: honoured(),
  ContainerCheckpoint: honoured(),
  ContainerRestartRules: honoured(),
  ContainerStopSignals: honoured(),
  CustomCPUCFSQuotaPeriod: honoured(),
  DisableCPUQuotaWithExclusiveCPUs: honoured(),
  DRAExtendedResource: builtIn('a pod has such a claim only if the scheduler created one'),
  DRAWorkloadResourceClaims: notYet('there are no workload objects'),
  EnvFiles: honoured('off: the variable is empty'),
  EventedPLEG: builtIn('the agent uses the events of the runtime, if it has any, and checks them by relists'),
  ExtendWebSocketsToKubelet: builtIn(
    'with the gate off the node declares no support, so that the API server translates',
  ),
  GracefulNodeShutdown: honoured(),
  GracefulNodeShutdownBasedOnPodPriority: honoured(),
  HostnameOverride: honoured(),
  ImageVolumeWithDigest: notYet('statuses of volume mounts have no digest'),
  InPlacePodLevelResourcesVerticalScaling: partly(
    'off: the node does not declare the feature, so the API server admits no such resize',
  ),
  InPlacePodVerticalScalingExclusiveCPUs: honoured(
    'as in upstream, the resize is admitted and the exclusive CPUs stay as they are',
  ),
  InPlacePodVerticalScalingExclusiveMemory: honoured(
    'as in upstream, the resize is admitted and the pinned memory stays as it is',
  ),
  InPlacePodVerticalScalingInitContainers: partly(
    'off: the node does not declare the feature, so the API server admits no such resize',
  ),
  KubeletCrashLoopBackOffMax: honoured('off: a configured period is refused'),
  KubeletEnsureSecretPulledImages: honoured('off: no image is verified; records are still kept'),
  KubeletInUserNamespace: notYet('the agent must run as root of the machine, and sets kernel settings'),
  KubeletPodResourcesListUseActivePods: honoured(),
  KubeletRegistrationGetOnExistsOnly: honoured(),
  KubeletSeparateDiskGC: honoured(),
  KubeletServiceAccountTokenForCredentialProviders: honoured(
    'off: `tokenAttributes` of a provider is refused at start',
  ),
  LocalStorageCapacityIsolationFSQuotaMonitoring: notYet(
    'file trees are measured: quotas are set with quotactl, which Node cannot call, and with ioctl on each folder',
  ),
  MemoryQoS: honoured(),
  NodeDeclaredFeatures: honoured(),
  PLEGOnDemandRelist: builtIn('after each change of a pod the agent lists the pod again'),
  PodAndContainerStatsFromCRI: notYet('cgroups are read'),
  PodCertificateRequest: honoured(),
  PodLevelResourceManagers: honoured(
    'devices are aligned too, a restart keeps what a pod has, and a resize of the pod is infeasible beside the static policies',
  ),
  PodLevelResources: honoured(),
  PodLogsQuerySplitStreams: honoured(),
  PodReadyToStartContainersCondition: honoured(),
  PodsAPI: honoured(
    'the event DELETED is sent when no container or sandbox of the pod is left, also for a pod that ended before',
  ),
  PreventStaticPodAPIReferences: honoured(),
  QOSReserved: honoured(),
  ReduceDefaultCrashLoopBackOffDecay: honoured(),
  ReloadKubeletClientCAFile: honoured(),
  ReloadKubeletServerCertificateFile: honoured(),
  ResourceHealthStatus: honoured(),
  ResourceHealthStatusMessage: honoured(),
  RestartAllContainersOnContainerExits: honoured(),
  RotateKubeletServerCertificate: honoured('off: `serverTLSBootstrap` is refused'),
  SELinuxMount: notYet('volumes are labelled by the runtime'),
  TaintTolerationComparisonOperators: honoured(),
  TopologyManagerPolicyAlphaOptions: honoured(NO_OPTIONS),
  TopologyManagerPolicyBetaOptions: honoured(NO_OPTIONS),
  WindowsCPUAndMemoryAffinity: honoured(WINDOWS),
  WindowsGracefulNodeShutdown: honoured(WINDOWS),
};
