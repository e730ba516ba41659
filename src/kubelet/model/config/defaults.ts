/**
 * The defaults of the configuration, identical to upstream's (pkg/kubelet/apis/config/v1beta1/defaults.go,
 * cmd/kubelet/app/options).
 */
import { parseDurationMs } from '../../../api/duration.ts';
import type { KubeletConfiguration } from './schema.ts';

/** The socket of containerd's CRI (upstream: apis/config/v1beta1/defaults_linux.go). */
export const DEFAULT_RUNTIME_ENDPOINT = 'unix:///run/containerd/containerd.sock';

/** Applied if the field is absent. An explicit zero is kept. */
const whenAbsent = {
  enableServer: true,
  registryPullQPS: 5,
  eventRecordQPS: 50,
  enableDebuggingHandlers: true,
  healthzPort: 10248,
  oomScoreAdj: -999,
  imageGCHighThresholdPercent: 85,
  imageGCLowThresholdPercent: 80,
  cgroupsPerQOS: true,
  resolvConf: '/etc/resolv.conf',
  cpuCFSQuota: true,
  cpuCFSQuotaPeriod: '100ms',
  nodeStatusMaxImages: 50,
  kubeAPIQPS: 50,
  mergeDefaultEvictionSettings: false,
  enableControllerAttachDetach: true,
  makeIPTablesUtilChains: true,
  iptablesMasqueradeBit: 14,
  iptablesDropBit: 15,
  failSwapOn: true,
  containerLogMaxFiles: 5,
  containerLogMaxWorkers: 1,
  containerLogMonitorInterval: '10s',
  enforceNodeAllocatable: ['pods'],
  enableSystemLogHandler: true,
  enableProfilingHandler: true,
  enableDebugFlagsHandler: true,
  seccompDefault: false,
  failCgroupV1: true,
  memoryThrottlingFactor: 0.9,
  registerNode: true,
  localStorageCapacityIsolation: true,
} satisfies KubeletConfiguration;

/** Applied if the field is absent or zero, because upstream's type cannot distinguish the two. */
const whenZero = {
  syncFrequency: '1m0s',
  fileCheckFrequency: '20s',
  httpCheckFrequency: '20s',
  address: '0.0.0.0',
  port: 10250,
  registryBurst: 10,
  eventBurst: 100,
  healthzBindAddress: '127.0.0.1',
  streamingConnectionIdleTimeout: '4h0m0s',
  nodeLeaseDurationSeconds: 40,
  imageMinimumGCAge: '2m0s',
  volumeStatsAggPeriod: '1m0s',
  cgroupDriver: 'cgroupfs',
  cpuManagerPolicy: 'none',
  cpuManagerReconcilePeriod: '10s',
  memoryManagerPolicy: 'None',
  topologyManagerPolicy: 'none',
  topologyManagerScope: 'container',
  runtimeRequestTimeout: '2m0s',
  hairpinMode: 'promiscuous-bridge',
  maxPods: 110,
  maxOpenFiles: 1_000_000,
  contentType: 'application/vnd.kubernetes.protobuf',
  kubeAPIBurst: 100,
  evictionPressureTransitionPeriod: '5m0s',
  containerLogMaxSize: '10Mi',
  configMapAndSecretChangeDetectionStrategy: 'Watch',
  volumePluginDir: '/usr/libexec/kubernetes/kubelet-plugins/volume/exec/',
  memoryReservationPolicy: 'None',
  containerRuntimeEndpoint: DEFAULT_RUNTIME_ENDPOINT,
  podLogsDir: '/var/log/pods',
} satisfies KubeletConfiguration;

type AlwaysPresent =
  | keyof typeof whenAbsent
  | keyof typeof whenZero
  | 'nodeStatusUpdateFrequency'
  | 'nodeStatusReportFrequency'
  | 'podPidsLimit'
  | 'serializeImagePulls'
  | 'authentication'
  | 'authorization'
  | 'logging'
  | 'crashLoopBackOff';

/** A configuration with defaults: these fields are set. */
export type DefaultedKubeletConfiguration = KubeletConfiguration & Required<Pick<KubeletConfiguration, AlwaysPresent>>;

/**
 * The hard eviction thresholds of Linux, used when a configuration file sets none (upstream:
 * pkg/kubelet/eviction/defaults_linux.go).
 */
export const defaultEvictionHard: Readonly<Record<string, string>> = {
  'memory.available': '100Mi',
  'nodefs.available': '10%',
  'nodefs.inodesFree': '5%',
  'imagefs.available': '15%',
  'imagefs.inodesFree': '5%',
};

const isZero = (value: unknown): boolean =>
  value === undefined || value === '' || value === 0 || (typeof value === 'string' && parseDurationMs(value) === 0);

function defaultAuthentication(
  given: KubeletConfiguration['authentication'],
): NonNullable<KubeletConfiguration['authentication']> {
  return {
    x509: { ...given?.x509 },
    webhook: {
      enabled: given?.webhook?.enabled ?? true,
      cacheTTL: isZero(given?.webhook?.cacheTTL) ? '2m0s' : given?.webhook?.cacheTTL,
    },
    anonymous: { enabled: given?.anonymous?.enabled ?? false },
  };
}

function defaultAuthorization(
  given: KubeletConfiguration['authorization'],
): NonNullable<KubeletConfiguration['authorization']> {
  const webhook = given?.webhook;
  return {
    mode: isZero(given?.mode) ? 'Webhook' : given?.mode,
    webhook: {
      cacheAuthorizedTTL: isZero(webhook?.cacheAuthorizedTTL) ? '5m0s' : webhook?.cacheAuthorizedTTL,
      cacheUnauthorizedTTL: isZero(webhook?.cacheUnauthorizedTTL) ? '30s' : webhook?.cacheUnauthorizedTTL,
    },
  };
}

/** Returns the defaults that depend on other fields. */
function dependentDefaults(
  given: KubeletConfiguration,
  gateEnabled: (gate: string) => boolean,
): Partial<KubeletConfiguration> {
  const update = isZero(given.nodeStatusUpdateFrequency) ? undefined : given.nodeStatusUpdateFrequency;
  const parallel = given.maxParallelImagePulls;
  const restartPeriod =
    given.crashLoopBackOff?.maxContainerRestartPeriod ??
    (gateEnabled('KubeletCrashLoopBackOffMax') ? '5m0s' : undefined);
  const verification = given.imagePullCredentialsVerificationPolicy;
  return {
    nodeStatusUpdateFrequency: update ?? '10s',
    nodeStatusReportFrequency: isZero(given.nodeStatusReportFrequency)
      ? (update ?? '5m0s')
      : given.nodeStatusReportFrequency,
    podPidsLimit: given.podPidsLimit === undefined || given.podPidsLimit < 0 ? -1 : given.podPidsLimit,
    serializeImagePulls: given.serializeImagePulls ?? (parallel === undefined || parallel < 2),
    authentication: defaultAuthentication(given.authentication),
    authorization: defaultAuthorization(given.authorization),
    logging: {
      ...given.logging,
      format: isZero(given.logging?.format) ? 'text' : given.logging?.format,
      flushFrequency: isZero(given.logging?.flushFrequency) ? '5s' : given.logging?.flushFrequency,
      verbosity: given.logging?.verbosity ?? 0,
    },
    crashLoopBackOff: restartPeriod === undefined ? {} : { maxContainerRestartPeriod: restartPeriod },
    imagePullCredentialsVerificationPolicy:
      isZero(verification) && gateEnabled('KubeletEnsureSecretPulledImages')
        ? 'NeverVerifyPreloadedImages'
        : verification,
  };
}

/** Applies upstream's defaults. `gateEnabled` returns whether a feature gate of this configuration is enabled. */
export function applyDefaults(
  given: KubeletConfiguration,
  gateEnabled: (gate: string) => boolean,
): DefaultedKubeletConfiguration {
  const result: Record<string, unknown> = { ...given, ...dependentDefaults(given, gateEnabled) };
  for (const [field, value] of Object.entries(whenAbsent)) result[field] ??= structuredClone(value);
  for (const [field, value] of Object.entries(whenZero)) if (isZero(result[field])) result[field] = value;
  for (const field of Object.keys(result)) if (result[field] === undefined) delete result[field];
  return result as DefaultedKubeletConfiguration;
}

/**
 * Returns the configuration of a kubelet without a configuration file: the old, permissive command line defaults
 * (upstream: options.go applyLegacyDefaults).
 */
export function applyLegacyDefaults(config: DefaultedKubeletConfiguration): DefaultedKubeletConfiguration {
  return {
    ...config,
    authentication: {
      ...config.authentication,
      anonymous: { enabled: true },
      webhook: { ...config.authentication.webhook, enabled: false },
    },
    authorization: { ...config.authorization, mode: 'AlwaysAllow' },
    readOnlyPort: 10255,
  };
}

/**
 * Returns the hard eviction thresholds of a configuration file: the defaults if it sets none, or merged with the
 * defaults if it requests that.
 */
export function applyEvictionDefaults(config: DefaultedKubeletConfiguration): DefaultedKubeletConfiguration {
  if (config.evictionHard === undefined) return { ...config, evictionHard: { ...defaultEvictionHard } };
  return config.mergeDefaultEvictionSettings
    ? { ...config, evictionHard: { ...defaultEvictionHard, ...config.evictionHard } }
    : config;
}
