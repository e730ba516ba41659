import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyDefaults, applyEvictionDefaults, applyLegacyDefaults, defaultEvictionHard } from './defaults.ts';
import { computeFeatureGates } from './feature-gates.ts';
import type { KubeletConfiguration } from './schema.ts';
import { hostProblems, validateKubeletConfiguration } from './validate.ts';

const { gates } = computeFeatureGates({});
const defaulted = (given: KubeletConfiguration = {}) => applyDefaults(given, gates.enabled);

test('the defaults are those of upstream', () => {
  assert.deepEqual(defaulted(), {
    enableServer: true,
    podLogsDir: '/var/log/pods',
    syncFrequency: '1m0s',
    fileCheckFrequency: '20s',
    httpCheckFrequency: '20s',
    address: '0.0.0.0',
    port: 10250,
    authentication: { x509: {}, webhook: { enabled: true, cacheTTL: '2m0s' }, anonymous: { enabled: false } },
    authorization: { mode: 'Webhook', webhook: { cacheAuthorizedTTL: '5m0s', cacheUnauthorizedTTL: '30s' } },
    registryPullQPS: 5,
    registryBurst: 10,
    imagePullCredentialsVerificationPolicy: 'NeverVerifyPreloadedImages',
    eventRecordQPS: 50,
    eventBurst: 100,
    enableDebuggingHandlers: true,
    healthzPort: 10248,
    healthzBindAddress: '127.0.0.1',
    oomScoreAdj: -999,
    streamingConnectionIdleTimeout: '4h0m0s',
    nodeStatusUpdateFrequency: '10s',
    nodeStatusReportFrequency: '5m0s',
    nodeLeaseDurationSeconds: 40,
    imageMinimumGCAge: '2m0s',
    imageGCHighThresholdPercent: 85,
    imageGCLowThresholdPercent: 80,
    volumeStatsAggPeriod: '1m0s',
    cgroupsPerQOS: true,
    cgroupDriver: 'cgroupfs',
    cpuManagerPolicy: 'none',
    cpuManagerReconcilePeriod: '10s',
    memoryManagerPolicy: 'None',
    topologyManagerPolicy: 'none',
    topologyManagerScope: 'container',
    runtimeRequestTimeout: '2m0s',
    hairpinMode: 'promiscuous-bridge',
    maxPods: 110,
    podPidsLimit: -1,
    resolvConf: '/etc/resolv.conf',
    cpuCFSQuota: true,
    cpuCFSQuotaPeriod: '100ms',
    nodeStatusMaxImages: 50,
    maxOpenFiles: 1000000,
    contentType: 'application/vnd.kubernetes.protobuf',
    kubeAPIQPS: 50,
    kubeAPIBurst: 100,
    serializeImagePulls: true,
    evictionPressureTransitionPeriod: '5m0s',
    mergeDefaultEvictionSettings: false,
    enableControllerAttachDetach: true,
    makeIPTablesUtilChains: true,
    iptablesMasqueradeBit: 14,
    iptablesDropBit: 15,
    failSwapOn: true,
    containerLogMaxSize: '10Mi',
    containerLogMaxFiles: 5,
    containerLogMaxWorkers: 1,
    containerLogMonitorInterval: '10s',
    configMapAndSecretChangeDetectionStrategy: 'Watch',
    enforceNodeAllocatable: ['pods'],
    volumePluginDir: '/usr/libexec/kubernetes/kubelet-plugins/volume/exec/',
    logging: { format: 'text', flushFrequency: '5s', verbosity: 0 },
    enableSystemLogHandler: true,
    crashLoopBackOff: { maxContainerRestartPeriod: '5m0s' },
    enableProfilingHandler: true,
    enableDebugFlagsHandler: true,
    seccompDefault: false,
    memoryThrottlingFactor: 0.9,
    memoryReservationPolicy: 'None',
    registerNode: true,
    localStorageCapacityIsolation: true,
    containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
    failCgroupV1: true,
  });
});

test('the defaults pass validation, with a file and without', () => {
  assert.deepEqual(validateKubeletConfiguration(applyEvictionDefaults(defaulted()), gates), []);
  assert.deepEqual(validateKubeletConfiguration(applyLegacyDefaults(defaulted()), gates), []);
});

test('defaults that depend on other fields', () => {
  assert.equal(defaulted({ nodeStatusUpdateFrequency: '3s' }).nodeStatusReportFrequency, '3s');
  assert.equal(defaulted({ maxParallelImagePulls: 1 }).serializeImagePulls, true);
  assert.equal(defaulted({ maxParallelImagePulls: 2 }).serializeImagePulls, false);
  assert.equal(defaulted({ podPidsLimit: -7 }).podPidsLimit, -1);
  assert.deepEqual(applyDefaults({}, () => false).crashLoopBackOff, {});
});

test('a zero counts as absent only where upstream cannot tell the difference', () => {
  const config = defaulted({
    port: 0,
    syncFrequency: '0s',
    healthzPort: 0,
    eventRecordQPS: 0,
    resolvConf: '',
    address: '',
  });
  assert.deepEqual(
    [config.port, config.syncFrequency, config.healthzPort, config.eventRecordQPS, config.resolvConf, config.address],
    [10250, '1m0s', 0, 0, '', '0.0.0.0'],
  );
});

test('eviction thresholds are filled in only when none are set, or merged when requested', () => {
  assert.deepEqual(applyEvictionDefaults(defaulted()).evictionHard, defaultEvictionHard);
  assert.deepEqual(applyEvictionDefaults(defaulted({ evictionHard: { 'memory.available': '1Gi' } })).evictionHard, {
    'memory.available': '1Gi',
  });
  assert.deepEqual(
    applyEvictionDefaults(
      defaulted({ evictionHard: { 'memory.available': '1Gi' }, mergeDefaultEvictionSettings: true }),
    ).evictionHard,
    { ...defaultEvictionHard, 'memory.available': '1Gi' },
  );
});

test('cgroup v1 is refused unless the configuration permits it', () => {
  assert.deepEqual(hostProblems(defaulted(), { cgroupVersion: 2, isSwapOn: false }), []);
  assert.deepEqual(
    hostProblems(defaulted(), { cgroupVersion: 1, isSwapOn: false }).map(({ path }) => path),
    ['failCgroupV1'],
  );
  assert.deepEqual(
    hostProblems(defaulted({ failCgroupV1: false, singleProcessOOMKill: false }), {
      cgroupVersion: 1,
      isSwapOn: false,
    }).map(({ path }) => path),
    ['singleProcessOOMKill'],
  );
});

test('a machine that swaps is refused unless failSwapOn is off', () => {
  const problems = (config: Parameters<typeof defaulted>[0], isSwapOn: boolean) =>
    hostProblems(defaulted(config), { cgroupVersion: 2, isSwapOn }).map(({ message }) => message);
  assert.deepEqual(problems({}, true), [
    'running with swap on is not supported, please disable swap or set --fail-swap-on flag to false',
  ]);
  assert.deepEqual([problems({ failSwapOn: false }, true), problems({}, false)], [[], []]);
});

test('a whole stage can be switched, and a gate set by name takes precedence', () => {
  const result = computeFeatureGates({ AllAlpha: true, PodsAPI: false, SomethingDeprecatedIsUnknown: true });
  assert.deepEqual(['EventedPLEG', 'PodsAPI', 'SidecarContainers'].map(result.gates.enabled), [true, false, true]);
  assert.deepEqual(
    result.errors.map(({ gate }) => gate),
    ['SomethingDeprecatedIsUnknown'],
  );
});

test('gates that will be removed cause a warning, and gates are rejected without the gates they need', () => {
  const result = computeFeatureGates({
    CustomCPUCFSQuotaPeriod: true,
    ReloadKubeletClientCAFile: true,
    NodeDeclaredFeatures: false,
  });
  assert.deepEqual(
    result.warnings.map(({ message }) => message),
    ['Setting GA feature gate CustomCPUCFSQuotaPeriod=true. It will be removed in a future release.'],
  );
  assert.ok(
    result.errors.some(
      ({ message }) =>
        message ===
        'ExtendWebSocketsToKubelet is enabled, but depends on features that are disabled: [NodeDeclaredFeatures]',
    ),
  );
});
