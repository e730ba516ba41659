/**
 * The tests that show that a configuration field has the effect that its row in honoured-fields.ts claims.
 * scripts/parity.test.ts requires an entry for every implemented field, and requires each named test to use the field,
 * or the name under which the compose files pass it on.
 */
const feature = (name: string): string => `src/kubelet/features/${name}.test.ts`;
const command = (name: string): string => `src/kubelet/cmd/${name}.test.ts`;
const real = (name: string): string => `test/integration/${name}.test.ts`;

/** This file configures every agent of test/integration, which cannot run without these fields. */
const everyAgent = 'test/integration/support/agent.ts';
const configuration = real('configuration');
const images = feature('images/pull-queue');
const imageGc = feature('images/image-gc');
const eviction = feature('eviction/eviction-manager');
const node = feature('node/allocatable');
const qosTree = feature('container-manager/qos-tree');
const cpuManager = feature('cpu-manager/cpu-manager');
const memoryManager = feature('memory-manager/memory-manager');
const topologyManager = feature('topology-manager/topology-manager');
const dns = feature('pod-runtime/config/dns-config');
const containerResources = feature('pod-runtime/config/resources-config');

/** The tests by field names. A key may contain several names. */
const byNames: Readonly<Record<string, readonly string[]>> = {
  'kind apiVersion runOnce featureGates': [command('config/config-load')],
  'staticPodPath containerRuntimeEndpoint cgroupRoot cgroupDriver': [everyAgent],
  failCgroupV1: ['src/kubelet/model/config/defaults.test.ts', everyAgent],
  volumeStatsAggPeriod: [feature('stats/stats-provider')],
  podLogsDir: [feature('container-logs/read-logs'), real('cli')],
  syncFrequency: [feature('pod-workers/pod-workers')],
  enableControllerAttachDetach: [feature('volumes/volume-attach-waiter')],
  configMapAndSecretChangeDetectionStrategy: [feature('cluster-objects/api-cluster-objects')],
  fileCheckFrequency: [feature('pod-config/file-source')],
  httpCheckFrequency: [feature('pod-config/http-source'), real('sources')],
  'staticPodURL staticPodURLHeader': [real('sources')],
  'address readOnlyPort': [configuration],
  'rotateCertificates serverTLSBootstrap authentication.x509.clientCAFile authentication.webhook.enabled authorization.mode port':
    [real('certificates')],
  'tlsCertFile tlsPrivateKeyFile': [command('servers/compose-serving')],
  'tlsCipherSuites tlsMinVersion tlsCurvePreferences': [real('certificates')],
  'authentication.anonymous.enabled authentication.webhook.cacheTTL authorization.webhook.cacheAuthorizedTTL authorization.webhook.cacheUnauthorizedTTL':
    [real('certificates')],
  'registryPullQPS registryBurst': [images],
  'serializeImagePulls maxParallelImagePulls': [images, real('images')],
  'imagePullCredentialsVerificationPolicy preloadedImagesVerificationAllowlist': [feature('images/pull-access')],
  'imageMinimumGCAge imageMaximumGCAge imageGCHighThresholdPercent imageGCLowThresholdPercent': [imageGc],
  healthzPort: [real('sources')],
  'enableDebuggingHandlers enableProfilingHandler enableDebugFlagsHandler enableSystemLogHandler': [
    feature('server/kubelet-app'),
  ],
  enableSystemLogQuery: [feature('server/kubelet-app'), real('streams')],
  'enableServer streamingConnectionIdleTimeout': [real('streams')],
  'healthzBindAddress oomScoreAdj': [configuration],
  'tracing.endpoint tracing.samplingRatePerMillion': ['src/tracing/open-tracer.test.ts', configuration],
  'clusterDomain clusterDNS': [dns, real('identity')],
  resolvConf: [configuration],
  cgroupsPerQOS: [qosTree],
  'podPidsLimit cpuCFSQuota cpuCFSQuotaPeriod': [qosTree, configuration],
  singleProcessOOMKill: [containerResources, configuration],
  runtimeRequestTimeout: [real('runtime-faults')],
  imageServiceEndpoint: [configuration],
  maxPods: [node, real('admission')],
  podsPerCore: [node],
  systemReserved: [node],
  reservedSystemCPUs: [node, cpuManager],
  'cpuManagerPolicy cpuManagerReconcilePeriod': [real('cpu-manager')],
  cpuManagerPolicyOptions: [cpuManager],
  'memoryManagerPolicy reservedMemory': [memoryManager, real('cpu-manager')],
  'topologyManagerPolicy topologyManagerScope topologyManagerPolicyOptions': [topologyManager],
  evictionHard: [eviction, node, real('eviction-memory'), real('eviction-disk')],
  kernelMemcgNotification: [eviction],
  evictionPressureTransitionPeriod: [eviction, real('eviction-memory')],
  'evictionSoft evictionSoftGracePeriod evictionMaxPodGracePeriod evictionMinimumReclaim localStorageCapacityIsolation':
    [eviction],
  kubeReserved: [node, real('admission'), configuration],
  enforceNodeAllocatable: [configuration, real('node-setup')],
  'kubeReservedCgroup kubeletCgroups maxOpenFiles': [real('node-setup')],
  systemReservedCgroup: [feature('container-manager/reserved-cgroups'), real('node-setup')],
  systemCgroups: [feature('container-manager/system-groups')],
  qosReserved: ['src/kubelet/model/memory-qos.test.ts', feature('container-manager/container-manager')],
  'memoryThrottlingFactor memoryReservationPolicy': [
    'src/kubelet/model/memory-qos.test.ts',
    feature('pod-runtime/config/memory-qos-config'),
    feature('container-manager/qos-limits'),
  ],
  protectKernelDefaults: [feature('container-manager/create-node-setup')],
  failSwapOn: ['src/kubelet/model/config/defaults.test.ts'],
  mergeDefaultEvictionSettings: ['src/kubelet/model/config/defaults.test.ts'],
  'memorySwap.swapBehavior': [containerResources, real('resources')],
  'containerLogMaxSize containerLogMaxFiles containerLogMonitorInterval': [
    feature('container-logs/log-rotation'),
    real('cli'),
  ],
  containerLogMaxWorkers: [feature('container-logs/log-rotation')],
  allowedUnsafeSysctls: [real('security')],
  volumePluginDir: [configuration],
  'logging.format logging.verbosity': ['src/base/pino-log.test.ts', configuration],
  'logging.flushFrequency logging.options.text.splitStream logging.options.text.infoBufferSize logging.options.json.splitStream logging.options.json.infoBufferSize':
    ['src/kubelet/model/config/log-routing.test.ts'],
  'logging.vmodule': [command('log-modules')],
  'crashLoopBackOff.maxContainerRestartPeriod': [configuration],
  'shutdownGracePeriod shutdownGracePeriodCriticalPods': [
    feature('node-shutdown/node-shutdown'),
    feature('node-shutdown/priority-groups'),
    real('node-shutdown'),
  ],
  shutdownGracePeriodByPodPriority: [feature('node-shutdown/priority-groups')],
  seccompDefault: [feature('pod-runtime/config/security-config'), real('security')],
  registerWithTaints: [feature('admission/admission-chain'), real('admission'), real('node')],
  'registerNode nodeStatusUpdateFrequency nodeStatusReportFrequency': [feature('node/node-reporter'), real('node')],
  nodeLeaseDurationSeconds: [feature('node/node-lease'), real('node')],
  'nodeStatusMaxImages providerID': [real('node')],
  podCIDR: [configuration, real('node')],
  makeIPTablesUtilChains: [feature('iptables-hints/iptables-hints'), real('host/iptables-hints')],
  'kubeAPIQPS kubeAPIBurst eventRecordQPS eventBurst': ['src/kubelet/cmd/platform/compose-cluster.test.ts'],
  contentType: ['src/client/http-transport.test.ts'],
  'userNamespaces.idsPerPod': [feature('user-namespaces/user-namespaces')],
};

/** The names that features use, if they differ from the last part of the field's name. */
export const configFieldNames: Readonly<Record<string, readonly string[]>> = {
  enableControllerAttachDetach: ['byController'],
  shutdownGracePeriodCriticalPods: ['criticalPodsGraceMs', 'shutdownGracePeriodCriticalPods'],
  shutdownGracePeriod: ['graceMs', 'shutdownGracePeriod'],
  shutdownGracePeriodByPodPriority: ['byPriority'],
  enableDebuggingHandlers: ['debuggingHandlers'],
  enableProfilingHandler: ['profilingHandler'],
  enableDebugFlagsHandler: ['debugFlagsHandler'],
  enableSystemLogHandler: ['systemLogHandler'],
  enableSystemLogQuery: ['systemLogQuery'],
  configMapAndSecretChangeDetectionStrategy: ['strategy'],
  syncFrequency: ['resyncMs'],
  fileCheckFrequency: ['periodMs'],
  httpCheckFrequency: ['periodMs'],
  registryPullQPS: ['qps'],
  registryBurst: ['burst'],
  serializeImagePulls: ['maxParallel'],
  maxParallelImagePulls: ['maxParallel'],
  imagePullCredentialsVerificationPolicy: ['policy'],
  preloadedImagesVerificationAllowlist: ['allowlist'],
  volumeStatsAggPeriod: ['volumePeriodMs'],
  imageMinimumGCAge: ['minAgeMs'],
  imageMaximumGCAge: ['maxAgeMs'],
  imageGCHighThresholdPercent: ['highPercent'],
  imageGCLowThresholdPercent: ['lowPercent'],
  clusterDNS: ['clusterDns'],
  cpuCFSQuotaPeriod: ['cpuCFSQuotaPeriodUs'],
  singleProcessOOMKill: ['singleProcessOomKill'],
  systemReserved: ['system'],
  qosReserved: ['reservedPercent'],
  memoryThrottlingFactor: ['throttlingFactor'],
  memoryReservationPolicy: ['reservesRequests'],
  systemReservedCgroup: ['systemCgroup'],
  systemCgroups: ['systemGroup'],
  kubeReserved: ['kube'],
  reservedSystemCPUs: ['systemCpus'],
  topologyManagerPolicy: ['topologyPolicy'],
  topologyManagerScope: ['topologyScope'],
  topologyManagerPolicyOptions: ['topologyOptions'],
  containerLogMaxSize: ['maxSizeBytes'],
  containerLogMaxFiles: ['maxFiles'],
  containerLogMonitorInterval: ['intervalMs'],
  containerLogMaxWorkers: ['workers'],
  registerWithTaints: ['taints'],
  registerNode: ['register'],
  nodeStatusUpdateFrequency: ['updatePeriodMs'],
  nodeStatusReportFrequency: ['reportPeriodMs'],
  nodeLeaseDurationSeconds: ['durationMs'],
  kubeAPIQPS: ['apiQps'],
  makeIPTablesUtilChains: ['IptablesHints'],
  kubeAPIBurst: ['apiBurst'],
  eventRecordQPS: ['eventQps'],
  contentType: ['content-type'],
};

/** The fields without an observable effect, here as in upstream. Their rows give the reason. */
export const configFieldsWithoutEffect: readonly string[] = [
  'enableContentionProfiling',
  'showHiddenMetricsForVersion',
  'hairpinMode',
  'iptablesMasqueradeBit',
  'iptablesDropBit',
];

export const configFieldTests: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(byNames).flatMap(([names, tests]) => names.split(' ').map((name) => [name, tests] as const)),
);
