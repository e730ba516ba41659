/**
 * The test that shows that a gate with a row in gate-parity.ts changes the behaviour. It contains the name of the gate,
 * or the name under which it is passed on.
 */
const feature = (name: string): string => `src/kubelet/features/${name}.test.ts`;
const rules = 'src/kubelet/model/config/defaults.test.ts';
const load = 'src/kubelet/cmd/config/config-load.test.ts';

export const gateTests: Readonly<Record<string, { readonly test: string; readonly word?: string }>> = {
  CRIListStreaming: { test: 'src/cri/streamed-lists.test.ts', word: 'streamRuntimeLists' },
  AllowDNSOnlyNodeCSR: { test: feature('certificates/decisions') },
  CPUManagerPolicyAlphaOptions: { test: feature('cpu-manager/cpu-manager') },
  CPUManagerPolicyBetaOptions: { test: feature('cpu-manager/cpu-manager') },
  ComponentFlagz: { test: feature('server/kubelet-app') },
  ComponentStatusz: { test: feature('server/kubelet-app') },
  ContainerCheckpoint: { test: feature('server/kubelet-app') },
  ContainerRestartRules: { test: feature('pod-config/drop-disabled-fields') },
  ContainerStopSignals: { test: feature('status/container-statuses'), word: 'stopSignals' },
  CustomCPUCFSQuotaPeriod: { test: rules },
  DisableCPUQuotaWithExclusiveCPUs: {
    test: 'src/kubelet/loop/resource-managers.test.ts',
    word: 'quotaOffWithExclusiveCpus',
  },
  EnvFiles: { test: feature('pod-config/drop-disabled-fields') },
  GracefulNodeShutdown: { test: feature('node-shutdown/priority-groups') },
  GracefulNodeShutdownBasedOnPodPriority: { test: feature('node-shutdown/priority-groups') },
  HostnameOverride: { test: feature('pod-config/drop-disabled-fields') },
  InPlacePodVerticalScalingExclusiveCPUs: { test: feature('allocation/create-allocation') },
  InPlacePodVerticalScalingExclusiveMemory: { test: feature('allocation/create-allocation') },
  KubeletCrashLoopBackOffMax: { test: load },
  KubeletEnsureSecretPulledImages: { test: load },
  KubeletPodResourcesListUseActivePods: { test: feature('pod-resources/pod-resources'), word: 'listsActive' },
  KubeletRegistrationGetOnExistsOnly: { test: feature('node/register-node'), word: 'getOnExistsOnly' },
  KubeletSeparateDiskGC: { test: feature('eviction/signal-reader'), word: 'separateDisks' },
  KubeletServiceAccountTokenForCredentialProviders: {
    test: feature('images/credentials/exec-provider'),
    word: 'allowsTokens',
  },
  MemoryQoS: { test: 'src/kubelet/model/memory-qos.test.ts' },
  NodeDeclaredFeatures: { test: feature('node/node-object') },
  PodLevelResourceManagers: { test: feature('cpu-manager/pod-pool') },
  PodLevelResources: { test: feature('admission/predicates') },
  PodLogsQuerySplitStreams: { test: feature('server/kubelet-app') },
  PodsAPI: { test: 'test/integration/cli.test.ts' },
  PodReadyToStartContainersCondition: { test: feature('status/conditions') },
  PreventStaticPodAPIReferences: { test: feature('pod-config/file-source'), word: 'mayReference' },
  QOSReserved: { test: feature('container-manager/qos-limits'), word: 'reservedPercent' },
  ReduceDefaultCrashLoopBackOffDecay: { test: feature('pod-runtime/plan/crash-backoff') },
  ReloadKubeletClientCAFile: { test: 'src/kubelet/cmd/servers/compose-serving.test.ts' },
  ReloadKubeletServerCertificateFile: { test: 'src/kubelet/cmd/servers/compose-serving.test.ts' },
  ResourceHealthStatus: { test: feature('status/pod-status-containers'), word: 'deviceHealth' },
  ClusterTrustBundleProjection: { test: 'test/integration/pod-certificates.test.ts' },
  PodCertificateRequest: { test: 'test/integration/pod-certificates.test.ts' },
  ResourceHealthStatusMessage: { test: feature('dra/health-watcher'), word: 'withMessages' },
  RestartAllContainersOnContainerExits: { test: feature('pod-config/drop-disabled-fields') },
  RotateKubeletServerCertificate: { test: load },
  TaintTolerationComparisonOperators: { test: feature('admission/admission-chain'), word: 'taintComparisons' },
};
