/**
 * The configuration as the agent uses it: durations in milliseconds, sizes in bytes, units in the names, and no
 * optional fields if there is a default.
 */
import type { Taint } from '../../../api/core/node.ts';
import { parseCpuSet } from '../cpu-set.ts';
import type { DefaultedKubeletConfiguration } from './defaults.ts';
import type { FeatureGates } from './feature-gates.ts';
import type { LogRouting } from './log-routing.ts';
import { logRouting } from './log-routing.ts';
import { quantityNumber } from './quantity-text.ts';
import type { KubeletConfiguration } from './schema.ts';
import { msOf } from './validate-ranges.ts';

type Texts = Readonly<Record<string, string>>;

/** The sources of pods, and their polling intervals. */
export interface SourcesConfig {
  /** A file or a folder; empty for none. */
  readonly staticPodPath: string;
  readonly staticPodUrl: string;
  readonly staticPodUrlHeaders: Readonly<Record<string, readonly string[]>>;
  readonly filePeriodMs: number;
  readonly httpPeriodMs: number;
  readonly syncPeriodMs: number;
  readonly objectChangeDetection: 'Get' | 'Cache' | 'Watch';
}

export interface ServerConfig {
  readonly enabled: boolean;
  readonly address: string;
  readonly port: number;
  /** The port; 0 turns it off. */
  readonly readOnlyPort: number;
  /** The port; 0 turns it off. */
  readonly healthzPort: number;
  readonly healthzBindAddress: string;
  readonly debuggingHandlers: boolean;
  readonly profilingHandler: boolean;
  readonly debugFlagsHandler: boolean;
  readonly systemLogHandler: boolean;
  readonly systemLogQuery: boolean;
  readonly streamIdleTimeoutMs: number;
}

export interface SecurityConfig {
  readonly tlsCertFile: string;
  readonly tlsPrivateKeyFile: string;
  readonly tlsCipherSuites: readonly string[];
  readonly tlsMinVersion: string;
  /** Key exchanges by Go's numbers; empty means the default ones. */
  readonly tlsCurvePreferences: readonly number[];
  readonly clientCaFile: string;
  readonly anonymousAuth: boolean;
  readonly webhookAuth: boolean;
  readonly webhookAuthTtlMs: number;
  readonly authorizationMode: 'AlwaysAllow' | 'Webhook';
  readonly authorizedTtlMs: number;
  readonly unauthorizedTtlMs: number;
  readonly rotateClientCertificate: boolean;
  readonly requestServingCertificate: boolean;
}

export interface ImagesConfig {
  /** Pulls per second; 0 means unlimited. */
  readonly pullQps: number;
  readonly pullBurst: number;
  readonly serialPulls: boolean;
  /** The maximum number of parallel pulls; undefined means no limit. */
  readonly maxParallelPulls: number | undefined;
  readonly verificationPolicy: NonNullable<KubeletConfiguration['imagePullCredentialsVerificationPolicy']>;
  readonly preloadedAllowlist: readonly string[];
  readonly gcMinimumAgeMs: number;
  /** The maximum age; 0 turns collection by age off. */
  readonly gcMaximumAgeMs: number;
  readonly gcHighPercent: number;
  readonly gcLowPercent: number;
}

export interface NodeConfig {
  readonly register: boolean;
  readonly taints: readonly Taint[];
  readonly statusUpdatePeriodMs: number;
  readonly statusReportPeriodMs: number;
  readonly leaseDurationMs: number;
  /** The maximum number of images; -1 means all. */
  readonly statusMaxImages: number;
  readonly providerId: string;
  readonly podCidr: string;
  readonly maxPods: number;
  /** The limit of pods per core; 0 means no limit. */
  readonly podsPerCore: number;
  /** Events per second; 0 means unlimited. */
  readonly eventQps: number;
  readonly eventBurst: number;
  readonly apiQps: number;
  readonly apiBurst: number;
}

export interface CgroupsConfig {
  readonly perQos: boolean;
  readonly driver: 'cgroupfs' | 'systemd';
  readonly root: string;
  readonly kubelet: string;
  readonly system: string;
  readonly cpuQuota: boolean;
  readonly cpuQuotaPeriodMs: number;
  /** The maximum number of processes; -1 means the node's own limit. */
  readonly podPidsLimit: number;
  readonly maxOpenFiles: number;
  readonly oomScoreAdj: number;
  /** Undefined means true on cgroup v1 and false on v2. */
  readonly singleProcessOomKill: boolean | undefined;
  readonly failOnV1: boolean;
  readonly protectKernelDefaults: boolean;
  readonly failSwapOn: boolean;
  readonly swapBehavior: 'NoSwap' | 'LimitedSwap';
  readonly memoryThrottlingFactor: number;
  readonly memoryReservationPolicy: 'None' | 'TieredReservation';
  /** The percentage of the memory requests of a QoS class that lower classes cannot use; undefined for none. */
  readonly qosReservedMemoryPercent: number | undefined;
}

export interface ReservedConfig {
  readonly system: Texts;
  readonly kube: Texts;
  readonly systemCpus: readonly number[];
  readonly systemCgroup: string;
  readonly kubeCgroup: string;
  readonly enforce: readonly string[];
}

/** The settings for resources that belong to NUMA nodes: CPUs, memory and devices. */
export interface ManagersConfig {
  readonly cpuPolicy: 'none' | 'static';
  readonly cpuOptions: Texts;
  readonly cpuReconcilePeriodMs: number;
  readonly memoryPolicy: 'None' | 'Static';
  /** The memory and huge pages that are reserved for the system, by NUMA node. */
  readonly reservedMemory: readonly { readonly numaNode: number; readonly limits: Texts }[];
  readonly topologyPolicy: 'none' | 'best-effort' | 'restricted' | 'single-numa-node';
  readonly topologyScope: 'container' | 'pod';
  readonly topologyOptions: Texts;
  /** The gate PodLevelResourceManagers, with which pods with pod-level resources get exclusive resources. */
  readonly podLevel: boolean;
}

export interface EvictionConfig {
  readonly hard: Texts;
  readonly soft: Texts;
  readonly softGraceMs: Readonly<Record<string, number>>;
  readonly minimumReclaim: Texts;
  readonly pressureTransitionMs: number;
  readonly maxPodGraceMs: number;
}

export interface RuntimeConfig {
  /** A path or a `unix://` URL. */
  readonly endpoint: string;
  readonly imageEndpoint: string;
  readonly requestTimeoutMs: number;
  readonly seccompDefault: boolean;
  readonly allowedUnsafeSysctls: readonly string[];
  readonly userNamespaceIdsPerPod: number;
  /** The maximum back-off; undefined means the default. */
  readonly restartBackoffMaxMs: number | undefined;
}

export interface NetworkConfig {
  readonly clusterDomain: string;
  readonly clusterDns: readonly string[];
  /** The resolver file; empty means that pods inherit no resolver configuration. */
  readonly resolvConf: string;
  /** Whether the agent creates the iptables chains that other programs look for. */
  readonly utilChains: boolean;
}

export interface VolumesConfig {
  /** The folder of flexVolume drivers. */
  readonly driverDir: string;
  /** Whether the control plane attaches volumes to the node, and not the agent. */
  readonly controllerAttaches: boolean;
  /** The interval of measuring volumes; 0 or less turns it off. */
  readonly statsPeriodMs: number;
}

export interface ContainerLogsConfig {
  /** The folder that contains the log folders of pods. */
  readonly podLogsDir: string;
  readonly maxSizeBytes: number;
  readonly maxFiles: number;
  readonly maxWorkers: number;
  readonly monitorPeriodMs: number;
}

export interface LoggingConfig extends LogRouting {
  readonly format: 'text' | 'json';
  readonly verbosity: number;
  readonly vmodule: readonly { readonly filePattern: string; readonly verbosity: number }[];
}

/** The destination and the sampling rate of traces. */
export interface TracingConfig {
  /** The endpoint; undefined means the exporter's default. */
  readonly endpoint: string | undefined;
  readonly samplingRatePerMillion: number;
}

export interface ShutdownConfig {
  readonly graceMs: number;
  readonly criticalPodsGraceMs: number;
  readonly byPriority: readonly { readonly priority: number; readonly graceMs: number }[];
}

export interface KubeletConfig {
  readonly sources: SourcesConfig;
  readonly server: ServerConfig;
  readonly security: SecurityConfig;
  readonly images: ImagesConfig;
  readonly node: NodeConfig;
  readonly cgroups: CgroupsConfig;
  readonly reserved: ReservedConfig;
  readonly managers: ManagersConfig;
  readonly eviction: EvictionConfig;
  readonly runtime: RuntimeConfig;
  readonly network: NetworkConfig;
  readonly volumes: VolumesConfig;
  readonly containerLogs: ContainerLogsConfig;
  readonly logging: LoggingConfig;
  /** The tracing; undefined if nothing is traced. */
  readonly tracing: TracingConfig | undefined;
  readonly shutdown: ShutdownConfig;
  readonly gates: FeatureGates;
  /** The configuration in its v1beta1 form with all defaults, as `/configz` serves it. */
  readonly versioned: DefaultedKubeletConfiguration;
}

function sources(given: DefaultedKubeletConfiguration): SourcesConfig {
  return {
    staticPodPath: given.staticPodPath ?? '',
    staticPodUrl: given.staticPodURL ?? '',
    staticPodUrlHeaders: given.staticPodURLHeader ?? {},
    filePeriodMs: msOf(given.fileCheckFrequency),
    httpPeriodMs: msOf(given.httpCheckFrequency),
    syncPeriodMs: msOf(given.syncFrequency),
    objectChangeDetection: given.configMapAndSecretChangeDetectionStrategy,
  };
}

function server(given: DefaultedKubeletConfiguration): ServerConfig {
  return {
    enabled: given.enableServer,
    address: given.address,
    port: given.port,
    readOnlyPort: given.readOnlyPort ?? 0,
    healthzPort: given.healthzPort,
    healthzBindAddress: given.healthzBindAddress,
    debuggingHandlers: given.enableDebuggingHandlers,
    profilingHandler: given.enableProfilingHandler,
    debugFlagsHandler: given.enableDebugFlagsHandler,
    systemLogHandler: given.enableSystemLogHandler,
    systemLogQuery: given.enableSystemLogQuery ?? false,
    streamIdleTimeoutMs: msOf(given.streamingConnectionIdleTimeout),
  };
}

function security(given: DefaultedKubeletConfiguration): SecurityConfig {
  return {
    tlsCertFile: given.tlsCertFile ?? '',
    tlsPrivateKeyFile: given.tlsPrivateKeyFile ?? '',
    tlsCipherSuites: given.tlsCipherSuites ?? [],
    tlsMinVersion: given.tlsMinVersion ?? '',
    tlsCurvePreferences: given.tlsCurvePreferences ?? [],
    clientCaFile: given.authentication.x509?.clientCAFile ?? '',
    anonymousAuth: given.authentication.anonymous?.enabled ?? false,
    webhookAuth: given.authentication.webhook?.enabled ?? true,
    webhookAuthTtlMs: msOf(given.authentication.webhook?.cacheTTL),
    authorizationMode: given.authorization.mode ?? 'Webhook',
    authorizedTtlMs: msOf(given.authorization.webhook?.cacheAuthorizedTTL),
    unauthorizedTtlMs: msOf(given.authorization.webhook?.cacheUnauthorizedTTL),
    rotateClientCertificate: given.rotateCertificates ?? false,
    requestServingCertificate: given.serverTLSBootstrap ?? false,
  };
}

function images(given: DefaultedKubeletConfiguration): ImagesConfig {
  return {
    pullQps: given.registryPullQPS,
    pullBurst: given.registryBurst,
    serialPulls: given.serializeImagePulls,
    maxParallelPulls: given.maxParallelImagePulls,
    verificationPolicy: given.imagePullCredentialsVerificationPolicy ?? 'NeverVerify',
    preloadedAllowlist: given.preloadedImagesVerificationAllowlist ?? [],
    gcMinimumAgeMs: msOf(given.imageMinimumGCAge),
    gcMaximumAgeMs: msOf(given.imageMaximumGCAge),
    gcHighPercent: given.imageGCHighThresholdPercent,
    gcLowPercent: given.imageGCLowThresholdPercent,
  };
}

function node(given: DefaultedKubeletConfiguration): NodeConfig {
  return {
    register: given.registerNode,
    taints: given.registerWithTaints ?? [],
    statusUpdatePeriodMs: msOf(given.nodeStatusUpdateFrequency),
    statusReportPeriodMs: msOf(given.nodeStatusReportFrequency),
    leaseDurationMs: given.nodeLeaseDurationSeconds * 1000,
    statusMaxImages: given.nodeStatusMaxImages,
    providerId: given.providerID ?? '',
    podCidr: given.podCIDR ?? '',
    maxPods: given.maxPods,
    podsPerCore: given.podsPerCore ?? 0,
    eventQps: given.eventRecordQPS,
    eventBurst: given.eventBurst,
    apiQps: given.kubeAPIQPS,
    apiBurst: given.kubeAPIBurst,
  };
}

function cgroups(given: DefaultedKubeletConfiguration): CgroupsConfig {
  return {
    perQos: given.cgroupsPerQOS,
    driver: given.cgroupDriver,
    root: given.cgroupRoot ?? '',
    kubelet: given.kubeletCgroups ?? '',
    system: given.systemCgroups ?? '',
    cpuQuota: given.cpuCFSQuota,
    cpuQuotaPeriodMs: msOf(given.cpuCFSQuotaPeriod),
    podPidsLimit: given.podPidsLimit,
    maxOpenFiles: given.maxOpenFiles,
    oomScoreAdj: given.oomScoreAdj,
    singleProcessOomKill: given.singleProcessOOMKill,
    failOnV1: given.failCgroupV1,
    protectKernelDefaults: given.protectKernelDefaults ?? false,
    failSwapOn: given.failSwapOn,
    swapBehavior: given.memorySwap?.swapBehavior === 'LimitedSwap' ? 'LimitedSwap' : 'NoSwap',
    memoryThrottlingFactor: given.memoryThrottlingFactor,
    memoryReservationPolicy: given.memoryReservationPolicy ?? 'None',
    qosReservedMemoryPercent: percentOf(given.qosReserved?.['memory']),
  };
}

function percentOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number.parseInt(text, 10);
}

function reserved(given: DefaultedKubeletConfiguration): ReservedConfig {
  return {
    system: given.systemReserved ?? {},
    kube: given.kubeReserved ?? {},
    systemCpus: parseCpuSet(given.reservedSystemCPUs ?? '') ?? [],
    systemCgroup: given.systemReservedCgroup ?? '',
    kubeCgroup: given.kubeReservedCgroup ?? '',
    enforce: given.enforceNodeAllocatable,
  };
}

function managers(given: DefaultedKubeletConfiguration, gates: FeatureGates): ManagersConfig {
  return {
    cpuPolicy: given.cpuManagerPolicy,
    cpuOptions: given.cpuManagerPolicyOptions ?? {},
    cpuReconcilePeriodMs: msOf(given.cpuManagerReconcilePeriod),
    memoryPolicy: given.memoryManagerPolicy,
    reservedMemory: (given.reservedMemory ?? []).map(({ numaNode, limits }) => ({ numaNode, limits: limits ?? {} })),
    topologyPolicy: given.topologyManagerPolicy,
    topologyScope: given.topologyManagerScope,
    topologyOptions: given.topologyManagerPolicyOptions ?? {},
    podLevel: gates.enabled('PodLevelResourceManagers'),
  };
}

function eviction(given: DefaultedKubeletConfiguration): EvictionConfig {
  return {
    hard: given.evictionHard ?? {},
    soft: given.evictionSoft ?? {},
    softGraceMs: Object.fromEntries(
      Object.entries(given.evictionSoftGracePeriod ?? {}).map(([signal, text]) => [signal, msOf(text)]),
    ),
    minimumReclaim: given.evictionMinimumReclaim ?? {},
    pressureTransitionMs: msOf(given.evictionPressureTransitionPeriod),
    maxPodGraceMs: (given.evictionMaxPodGracePeriod ?? 0) * 1000,
  };
}

function runtime(given: DefaultedKubeletConfiguration): RuntimeConfig {
  return {
    endpoint: given.containerRuntimeEndpoint,
    imageEndpoint: given.imageServiceEndpoint || given.containerRuntimeEndpoint,
    requestTimeoutMs: msOf(given.runtimeRequestTimeout),
    seccompDefault: given.seccompDefault,
    allowedUnsafeSysctls: given.allowedUnsafeSysctls ?? [],
    userNamespaceIdsPerPod: given.userNamespaces?.idsPerPod ?? 65536,
    restartBackoffMaxMs:
      given.crashLoopBackOff.maxContainerRestartPeriod === undefined
        ? undefined
        : msOf(given.crashLoopBackOff.maxContainerRestartPeriod),
  };
}

/** Converts a validated configuration to the agent's form. */
export function toKubeletConfig(given: DefaultedKubeletConfiguration, gates: FeatureGates): KubeletConfig {
  return {
    sources: sources(given),
    server: server(given),
    security: security(given),
    images: images(given),
    node: node(given),
    cgroups: cgroups(given),
    reserved: reserved(given),
    managers: managers(given, gates),
    eviction: eviction(given),
    runtime: runtime(given),
    network: {
      clusterDomain: given.clusterDomain ?? '',
      clusterDns: given.clusterDNS ?? [],
      resolvConf: given.resolvConf,
      utilChains: given.makeIPTablesUtilChains,
    },
    volumes: {
      controllerAttaches: given.enableControllerAttachDetach,
      driverDir: given.volumePluginDir.replace(/(?<!\/)\/+$/, ''),
      statsPeriodMs: msOf(given.volumeStatsAggPeriod),
    },
    containerLogs: {
      podLogsDir: given.podLogsDir,
      maxSizeBytes: quantityNumber(given.containerLogMaxSize) ?? 0,
      maxFiles: given.containerLogMaxFiles,
      maxWorkers: given.containerLogMaxWorkers,
      monitorPeriodMs: msOf(given.containerLogMonitorInterval),
    },
    tracing: given.tracing && {
      endpoint: given.tracing.endpoint,
      samplingRatePerMillion: given.tracing.samplingRatePerMillion ?? 0,
    },
    logging: {
      format: given.logging.format ?? 'text',
      verbosity: given.logging.verbosity ?? 0,
      ...logRouting(given.logging),
      vmodule: given.logging.vmodule ?? [],
    },
    shutdown: {
      graceMs: msOf(given.shutdownGracePeriod),
      criticalPodsGraceMs: msOf(given.shutdownGracePeriodCriticalPods),
      byPriority: (given.shutdownGracePeriodByPodPriority ?? []).map((row) => ({
        priority: row.priority,
        graceMs: row.shutdownGracePeriodSeconds * 1000,
      })),
    },
    gates,
    versioned: given,
  };
}
