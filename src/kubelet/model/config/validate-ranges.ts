/** Rules for single numbers, ports and durations (upstream: pkg/kubelet/apis/config/validation/validation.go). */
import { formatDurationMs, parseDurationMs } from '../../../api/duration.ts';
import { sysctlPatternProblem } from '../sysctls.ts';
import type { KubeletConfiguration } from './schema.ts';
import type { ValidationContext } from './validate-context.ts';

interface Range {
  readonly field: keyof KubeletConfiguration;
  readonly flag?: string;
  readonly min: number;
  readonly max?: number;
  /** The end of upstream's message. */
  readonly says: string;
}

const NOT_NEGATIVE = 'must not be a negative number';
const PORT = 'must be between 1 and 65535, inclusive';

/** The rules in upstream's order. */
const ranges: readonly Range[] = [
  { field: 'eventBurst', flag: 'event-burst', min: 0, says: NOT_NEGATIVE },
  { field: 'eventRecordQPS', flag: 'event-qps', min: 0, says: NOT_NEGATIVE },
  { field: 'healthzPort', flag: 'healthz-port', min: 0, max: 65535, says: PORT },
  {
    field: 'imageGCHighThresholdPercent',
    flag: 'image-gc-high-threshold',
    min: 0,
    max: 100,
    says: 'must be between 0 and 100, inclusive',
  },
  {
    field: 'imageGCLowThresholdPercent',
    flag: 'image-gc-low-threshold',
    min: 0,
    max: 100,
    says: 'must be between 0 and 100, inclusive',
  },
  { field: 'iptablesDropBit', flag: 'iptables-drop-bit', min: 0, max: 31, says: 'must be between 0 and 31, inclusive' },
  {
    field: 'iptablesMasqueradeBit',
    flag: 'iptables-masquerade-bit',
    min: 0,
    max: 31,
    says: 'must be between 0 and 31, inclusive',
  },
  { field: 'kubeAPIBurst', flag: 'kube-api-burst', min: 0, says: NOT_NEGATIVE },
  { field: 'kubeAPIQPS', flag: 'kube-api-qps', min: 0, says: NOT_NEGATIVE },
  { field: 'nodeStatusMaxImages', flag: 'node-status-max-images', min: -1, says: 'must be -1 or greater' },
  { field: 'maxOpenFiles', flag: 'max-open-files', min: 0, says: NOT_NEGATIVE },
  { field: 'maxPods', flag: 'max-pods', min: 0, says: NOT_NEGATIVE },
  {
    field: 'oomScoreAdj',
    flag: 'oom-score-adj',
    min: -1000,
    max: 1000,
    says: 'must be between -1000 and 1000, inclusive',
  },
  { field: 'podsPerCore', flag: 'pods-per-core', min: 0, says: NOT_NEGATIVE },
  { field: 'port', flag: 'port', min: 1, max: 65535, says: PORT },
  { field: 'readOnlyPort', flag: 'read-only-port', min: 0, max: 65535, says: 'must be between 0 and 65535, inclusive' },
  { field: 'registryBurst', flag: 'registry-burst', min: 0, says: NOT_NEGATIVE },
  { field: 'registryPullQPS', flag: 'registry-qps', min: 0, says: NOT_NEGATIVE },
  { field: 'maxParallelImagePulls', min: 1, says: 'must be a positive number' },
];

function checkRanges({ config, fail }: ValidationContext): void {
  for (const { field, flag, min, max, says } of ranges) {
    const value = config[field];
    if (typeof value !== 'number' || (value >= min && value <= (max ?? Infinity))) continue;
    fail(field, `${field}${flag === undefined ? '' : ` (--${flag})`} ${value} ${says}`);
  }
}

/**
 * Returns the milliseconds of a duration field. An invalid text was already reported by the decoder and counts as zero.
 */
export const msOf = (text: string | undefined): number => parseDurationMs(text ?? '0') ?? 0;

/** Fields that must not be negative. Upstream accepts negative durations and fails later. */
const neverNegative: readonly (keyof KubeletConfiguration)[] = [
  'syncFrequency',
  'fileCheckFrequency',
  'httpCheckFrequency',
  'streamingConnectionIdleTimeout',
  'nodeStatusUpdateFrequency',
  'nodeStatusReportFrequency',
  'cpuManagerReconcilePeriod',
  'runtimeRequestTimeout',
  'evictionPressureTransitionPeriod',
];

function checkNegativeDurations({ config, fail }: ValidationContext): void {
  for (const field of neverNegative) {
    const value = config[field];
    if (typeof value === 'string' && msOf(value) < 0)
      fail(field, `${field} ${value} must not be negative; accepted are durations such as 10s, 1m30s or 4h`);
  }
}

function checkImageGc({ config, gates, fail }: ValidationContext): void {
  const { imageGCHighThresholdPercent: high, imageGCLowThresholdPercent: low } = config;
  if (low >= high) {
    fail(
      'imageGCLowThresholdPercent',
      `imageGCLowThresholdPercent (--image-gc-low-threshold) ${low} must be less than imageGCHighThresholdPercent (--image-gc-high-threshold) ${high}`,
    );
  }
  const minimumMs = msOf(config.imageMinimumGCAge);
  const maximumMs = msOf(config.imageMaximumGCAge);
  const maximumText = formatDurationMs(maximumMs);
  if (maximumMs !== 0 && !gates.enabled('ImageMaximumGCAge'))
    fail(
      'imageMaximumGCAge',
      'ImageMaximumGCAge feature gate is required for Kubelet configuration option imageMaximumGCAge',
    );
  if (minimumMs < 0) fail('imageMinimumGCAge', `imageMinimumGCAge ${formatDurationMs(minimumMs)} must not be negative`);
  if (maximumMs < 0) fail('imageMaximumGCAge', `imageMaximumGCAge ${maximumText} must not be negative`);
  if (maximumMs > 0 && maximumMs <= minimumMs)
    fail(
      'imageMaximumGCAge',
      `imageMaximumGCAge ${maximumText} must be greater than imageMinimumGCAge ${formatDurationMs(minimumMs)}`,
    );
}

function checkCfsPeriod({ config, gates, fail }: ValidationContext): void {
  const periodMs = msOf(config.cpuCFSQuotaPeriod);
  const named = `cpuCFSQuotaPeriod (--cpu-cfs-quota-period) ${formatDurationMs(periodMs)}`;
  if (!gates.enabled('CustomCPUCFSQuotaPeriod')) {
    if (periodMs !== 100) fail('cpuCFSQuotaPeriod', `${named} requires feature gate CustomCPUCFSQuotaPeriod`);
  } else if (periodMs < 1 || periodMs > 1000)
    fail('cpuCFSQuotaPeriod', `${named} must be between 1ms and 1sec, inclusive`);
}

function checkShutdown({ config, gates, fail }: ValidationContext): void {
  const wholeMs = msOf(config.shutdownGracePeriod);
  const criticalMs = msOf(config.shutdownGracePeriodCriticalPods);
  const whole = formatDurationMs(wholeMs);
  const critical = formatDurationMs(criticalMs);
  const byPriority = (config.shutdownGracePeriodByPodPriority ?? []).length > 0;
  if (gates.enabled('GracefulNodeShutdown')) {
    if (criticalMs > wholeMs)
      fail(
        'shutdownGracePeriodCriticalPods',
        `shutdownGracePeriodCriticalPods ${critical} must be <= shutdownGracePeriod ${whole}`,
      );
    if (wholeMs < 0 || (wholeMs > 0 && wholeMs < 1000))
      fail('shutdownGracePeriod', `shutdownGracePeriod ${whole} must be either zero or otherwise >= 1 sec`);
    if (criticalMs < 0 || (criticalMs > 0 && criticalMs < 1000)) {
      fail(
        'shutdownGracePeriodCriticalPods',
        `shutdownGracePeriodCriticalPods ${critical} must be either zero or otherwise >= 1 sec`,
      );
    }
  } else if (wholeMs > 0 || criticalMs > 0) {
    fail(
      'shutdownGracePeriod',
      'specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature gate GracefulNodeShutdown',
    );
  }
  if (byPriority && gates.enabled('GracefulNodeShutdownBasedOnPodPriority')) {
    if (wholeMs > 0 || criticalMs > 0)
      fail(
        'shutdownGracePeriodByPodPriority',
        'Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time',
      );
  } else if (byPriority) {
    fail(
      'shutdownGracePeriodByPodPriority',
      'Specifying shutdownGracePeriodByPodPriority requires feature gate GracefulNodeShutdownBasedOnPodPriority',
    );
  }
}

function checkRestartPeriod({ config, gates, fail }: ValidationContext): void {
  const path = 'crashLoopBackOff.maxContainerRestartPeriod';
  const given = config.crashLoopBackOff.maxContainerRestartPeriod;
  if (given === undefined) return;
  if (!gates.enabled('KubeletCrashLoopBackOffMax')) {
    fail(
      path,
      'FeatureGate KubeletCrashLoopBackOffMax not enabled, CrashLoopBackOff.MaxContainerRestartPeriod must not be set',
    );
    return;
  }
  const periodMs = Math.trunc(msOf(given));
  if (periodMs < 1000 || periodMs > 300_000) {
    fail(
      path,
      `CrashLoopBackOff.MaxContainerRestartPeriod (got: ${msOf(given) / 1000} seconds) must be set between 1s and 300s`,
    );
  }
}

function checkContainerLogs({ config, fail }: ValidationContext): void {
  if (config.containerLogMaxWorkers < 1)
    fail('containerLogMaxWorkers', 'containerLogMaxWorkers must be greater than or equal to 1');
  if (msOf(config.containerLogMonitorInterval) < 3000) {
    fail(
      'containerLogMonitorInterval',
      'containerLogMonitorInterval must be a positive time duration greater than or equal to 3s',
    );
  }
  if (config.containerLogMaxFiles <= 1) fail('containerLogMaxFiles', 'containerLogMaxFiles must be greater than 1');
}

const USER_NAMESPACE_UNIT = 65536;

function checkUserNamespaces({ config, fail }: ValidationContext): void {
  const path = 'userNamespaces.idsPerPod';
  const ids = config.userNamespaces?.idsPerPod;
  if (ids === undefined) return;
  if (ids < USER_NAMESPACE_UNIT) fail(path, `${path} must not be less than ${USER_NAMESPACE_UNIT}`);
  else if (ids % USER_NAMESPACE_UNIT !== 0) fail(path, `${path} must be a multiple of ${USER_NAMESPACE_UNIT}`);
  else if (ids > 0xffffffff) fail(path, `${path} must not be more than ${0xffffffff}`);
}

/**
 * Checks sysctls. Upstream reports these problems when the kubelet is created (sysctl.NewAllowlist), and does not start
 * either.
 */
function checkSysctls({ config, fail }: ValidationContext): void {
  for (const entry of config.allowedUnsafeSysctls ?? []) {
    const problem = sysctlPatternProblem(entry);
    if (problem !== undefined) fail('allowedUnsafeSysctls', problem);
  }
}

export function checkNumbers(context: ValidationContext): void {
  const { config, fail } = context;
  if (config.nodeLeaseDurationSeconds <= 0)
    fail('nodeLeaseDurationSeconds', 'nodeLeaseDurationSeconds must be greater than 0');
  checkRanges(context);
  checkNegativeDurations(context);
  checkCfsPeriod(context);
  checkImageGc(context);
  if (config.serializeImagePulls && (config.maxParallelImagePulls ?? 0) > 1) {
    fail(
      'maxParallelImagePulls',
      'maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls (--serialize-image-pulls) is set to false',
    );
  }
  checkShutdown(context);
  checkRestartPeriod(context);
  checkContainerLogs(context);
  checkUserNamespaces(context);
  checkSysctls(context);
  const factor = config.memoryThrottlingFactor;
  if (factor <= 0 || factor > 1)
    fail(
      'memoryThrottlingFactor',
      `memoryThrottlingFactor ${factor} must be greater than 0 and less than or equal to 1.0`,
    );
}
