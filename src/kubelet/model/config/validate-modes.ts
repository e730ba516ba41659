/**
 * Rules for enumerations: modes, policies, addresses, paths (upstream: config validation, component-base logs and
 * tracing validation).
 */
import { parseIp } from '../../../base/ip-address.ts';
import { quantityNumber } from './quantity-text.ts';
import { insecureCipherSuites, preferredCipherSuites, tlsVersions } from './tls-names.ts';
import { quoted } from './validate-context.ts';
import { flushPeriodMs } from './log-routing.ts';
import type { ValidationContext } from './validate-context.ts';

const listed = (values: readonly string[]): string =>
  `${values.slice(0, -1).map(quoted).join(', ')} or ${quoted(values.at(-1))}`;

/**
 * Checks fields with a fixed set of values. `says` is upstream's wording if it has one; the others have the same form.
 */
function checkWords({ config, fail }: ValidationContext): void {
  const option = (
    field: string,
    flag: string | undefined,
    value: string | undefined,
    values: readonly string[],
  ): void => {
    if (value === undefined || values.includes(value)) return;
    fail(
      field,
      `option ${quoted(value)} specified for ${field}${flag === undefined ? '' : ` (--${flag})`}. Valid options are ${listed(values)}`,
    );
  };
  const topologyPolicies = ['none', 'best-effort', 'restricted', 'single-numa-node'];
  if (!topologyPolicies.includes(config.topologyManagerPolicy)) {
    fail(
      'topologyManagerPolicy',
      `topologyManagerPolicy (--topology-manager-policy) ${quoted(config.topologyManagerPolicy)} must be one of: [${topologyPolicies.map(quoted).join(' ')}]`,
    );
  }
  if (config.topologyManagerScope !== 'container' && config.topologyManagerScope !== 'pod') {
    fail(
      'topologyManagerScope',
      `topologyManagerScope (--topology-manager-scope) ${quoted(config.topologyManagerScope)} must be one of: "container", or "pod"`,
    );
  }
  option('hairpinMode', 'hairpin-mode', config.hairpinMode, ['none', 'hairpin-veth', 'promiscuous-bridge']);
  option('memoryReservationPolicy', undefined, config.memoryReservationPolicy, ['None', 'TieredReservation']);
  option('cgroupDriver', 'cgroup-driver', config.cgroupDriver, ['cgroupfs', 'systemd']);
  option('cpuManagerPolicy', 'cpu-manager-policy', config.cpuManagerPolicy, ['none', 'static']);
  option('memoryManagerPolicy', 'memory-manager-policy', config.memoryManagerPolicy, ['None', 'Static']);
  option('authorization.mode', 'authorization-mode', config.authorization.mode, ['AlwaysAllow', 'Webhook']);
  option('configMapAndSecretChangeDetectionStrategy', undefined, config.configMapAndSecretChangeDetectionStrategy, [
    'Get',
    'Cache',
    'Watch',
  ]);
  option('tlsMinVersion', 'tls-min-version', config.tlsMinVersion || undefined, tlsVersions);
}

function checkGated({ config, gates, fail }: ValidationContext): void {
  const { serverTLSBootstrap: bootstrap = false, memorySwap, memoryReservationPolicy: reservation } = config;
  if (bootstrap && !gates.enabled('RotateKubeletServerCertificate')) {
    fail('serverTLSBootstrap', `serverTLSBootstrap ${bootstrap} requires feature gate RotateKubeletServerCertificate`);
  }
  if (config.runOnce)
    fail('runOnce', 'runOnce (--runOnce) true, Runonce mode has been deprecated and should not be set');
  const swap = memorySwap?.swapBehavior ?? '';
  if (!gates.enabled('NodeSwap')) {
    if (swap !== '')
      fail('memorySwap.swapBehavior', 'memorySwap.swapBehavior cannot be set when NodeSwap feature flag is disabled');
  } else if (!['', 'LimitedSwap', 'NoSwap'].includes(swap)) {
    fail(
      'memorySwap.swapBehavior',
      `memorySwap.swapBehavior ${quoted(swap)} must be one of: "", "LimitedSwap" or "NoSwap"`,
    );
  }
  if (reservation === 'TieredReservation' && !gates.enabled('MemoryQoS')) {
    fail(
      'memoryReservationPolicy',
      `memoryReservationPolicy ${quoted(reservation)} requires MemoryQoS feature gate to be enabled`,
    );
  }
  if (config.enableSystemLogQuery && !gates.enabled('NodeLogQuery'))
    fail('enableSystemLogQuery', 'NodeLogQuery feature gate is required for enableSystemLogQuery');
  if (config.enableSystemLogQuery && !config.enableSystemLogHandler)
    fail('enableSystemLogQuery', 'enableSystemLogHandler is required for enableSystemLogQuery');
}

function wrongAllowlistPattern(pattern: string): string | undefined {
  if (pattern !== pattern.trim()) return `leading/trailing spaces are not allowed: ${pattern}`;
  const wildcard = pattern.endsWith('/*');
  const rest = wildcard ? pattern.slice(0, -1) : pattern;
  if (rest === '') return `the supplied pattern is too short: ${pattern}`;
  if (rest.includes('*')) return `not a valid wildcard pattern, only patterns ending with '/*' are allowed: ${pattern}`;
  if (wildcard) return rest.length === 1 ? 'at least registry hostname is required' : undefined;
  const afterSlash = rest.slice(rest.lastIndexOf('/') + 1);
  return rest.includes('@') || afterSlash.includes(':')
    ? `neither tag nor digest is accepted in an image reference: ${pattern}`
    : undefined;
}

function checkPullVerification({ config, gates, fail }: ValidationContext): void {
  const { imagePullCredentialsVerificationPolicy: policy, preloadedImagesVerificationAllowlist: allowlist = [] } =
    config;
  if (!gates.enabled('KubeletEnsureSecretPulledImages')) {
    const needs = 'must not be set if KubeletEnsureSecretPulledImages feature gate is not enabled';
    if (policy) fail('imagePullCredentialsVerificationPolicy', `\`imagePullCredentialsVerificationPolicy\` ${needs}`);
    if (allowlist.length > 0)
      fail('preloadedImagesVerificationAllowlist', `\`preloadedImagesVerificationAllowlist\` ${needs}`);
    return;
  }
  const policies = ['NeverVerify', 'NeverVerifyPreloadedImages', 'NeverVerifyAllowlistedImages', 'AlwaysVerify'];
  if (!policies.includes(policy ?? '')) {
    fail(
      'imagePullCredentialsVerificationPolicy',
      `option ${quoted(policy)} specified for imagePullCredentialsVerificationPolicy. Valid options are ${listed(policies)}`,
    );
  }
  if (allowlist.length > 0 && policy !== 'NeverVerifyAllowlistedImages') {
    fail(
      'preloadedImagesVerificationAllowlist',
      'can\'t set `preloadedImagesVerificationAllowlist` if `imagePullCredentialsVertificationPolicy` is not "NeverVerifyAllowlistedImages"',
    );
    return;
  }
  for (const [index, pattern] of allowlist.entries()) {
    const wrong = wrongAllowlistPattern(pattern);
    if (wrong !== undefined)
      fail(
        `preloadedImagesVerificationAllowlist[${index}]`,
        `invalid image pattern in \`preloadedImagesVerificationAllowlist\`: ${wrong}`,
      );
  }
}

const qualifiedName =
  /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const labelValue = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

/** Whether the text is a valid key of a label or taint. */
export const isQualifiedName = (text: string): boolean =>
  qualifiedName.test(text) && (!text.includes('/') || text.indexOf('/') <= 253);
/** Whether the text is a valid value of a label or taint. */
export const isLabelValue = (text: string): boolean => labelValue.test(text);

function checkTaints({ config, fail }: ValidationContext): void {
  const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];
  for (const [index, { key, value = '', effect, timeAdded }] of (config.registerWithTaints ?? []).entries()) {
    const path = `registerWithTaints[${index}]`;
    if (!isQualifiedName(key) || !isLabelValue(value) || ((effect as string) !== '' && !effects.includes(effect))) {
      fail(
        path,
        `invalid taint: {${key} ${value} ${effect}}; accepted are a label key, a label value and one of the effects ${effects.join(', ')}`,
      );
    }
    if (timeAdded !== undefined) fail(`${path}.timeAdded`, 'taint.TimeAdded is not nil');
  }
}

function checkAddresses({ config, fail }: ValidationContext): void {
  for (const field of ['address', 'healthzBindAddress'] as const) {
    if (parseIp(config[field]) === undefined)
      fail(field, `${field} ${quoted(config[field])} is not a valid IP address`);
  }
  for (const [index, server] of (config.clusterDNS ?? []).entries()) {
    if (parseIp(server) === undefined)
      fail(`clusterDNS[${index}]`, `clusterDNS (--cluster-dns) ${quoted(server)} is not a valid IP address`);
  }
  const url = config.staticPodURL ?? '';
  if (url !== '' && !/^https?:\/\/[^/]+/.test(url))
    fail('staticPodURL', `staticPodURL (--manifest-url) ${quoted(url)} must be a URL with scheme http or https`);
  for (const [field, endpoint] of [
    ['containerRuntimeEndpoint', config.containerRuntimeEndpoint],
    ['imageServiceEndpoint', config.imageServiceEndpoint ?? ''],
  ] as const) {
    if (endpoint !== '' && !/^unix:\/\/\/./.test(endpoint) && !endpoint.startsWith('/')) {
      fail(
        field,
        `${field} ${quoted(endpoint)} must be a unix socket such as "unix:///run/containerd/containerd.sock"`,
      );
    }
  }
}

function checkTls({ config, fail }: ValidationContext): void {
  for (const [index, suite] of (config.tlsCipherSuites ?? []).entries()) {
    if (preferredCipherSuites.includes(suite) || insecureCipherSuites.includes(suite)) continue;
    fail(
      `tlsCipherSuites[${index}]`,
      `Cipher suite ${suite} not supported or doesn't exist; accepted are ${preferredCipherSuites.join(', ')}`,
    );
  }
  if (Boolean(config.tlsCertFile) !== Boolean(config.tlsPrivateKeyFile)) {
    const missing = config.tlsCertFile ? 'tlsPrivateKeyFile' : 'tlsCertFile';
    fail(
      missing,
      `tlsCertFile (--tls-cert-file) and tlsPrivateKeyFile (--tls-private-key-file) must be set together; ${missing} is missing`,
    );
  }
}

function checkPodLogsDir({ config, fail }: ValidationContext): void {
  const dir = config.podLogsDir;
  if (!dir.startsWith('/')) fail('podLogsDir', `pod logs path ${quoted(dir)} must be absolute path`);
  if (/\/\/|\/\.{1,2}(\/|$)|.\/$|^\.{1,2}\//.test(dir))
    fail('podLogsDir', `pod logs path ${quoted(dir)} must be normalized`);
  if (!/^[\x00-\x7f]*$/.test(dir))
    fail('podLogsDir', `pod logs path ${quoted(dir)} mut contains ASCII characters only`);
}

const MAX_INT32 = 2_147_483_647;

/** Checks the log options. The messages have upstream's `field.Error` wording, without its common prefix. */
function checkLogging({ config, gates }: ValidationContext, report: (path: string, message: string) => void): void {
  const { format, flushFrequency = '5s', verbosity = 0, vmodule = [], options } = config.logging;
  const flushMs = flushPeriodMs(flushFrequency);
  if (flushMs === undefined)
    report(
      'logging.flushFrequency',
      `invalid duration ${quoted(String(flushFrequency))}; accepted are durations such as 5s and whole numbers of nanoseconds`,
    );
  else if (flushMs <= 0)
    report('logging.flushFrequency', `Invalid value: ${quoted(String(flushFrequency))}: Must be greater than zero`);
  if (format !== 'text' && format !== 'json')
    report(
      'logging.format',
      `Invalid value: ${quoted(format)}: Unsupported log format; accepted are "text" and "json"`,
    );
  if (verbosity > MAX_INT32 || verbosity < 0)
    report('logging.verbosity', `Invalid value: ${verbosity}: Must be >= 0 and <= ${MAX_INT32}`);
  if (vmodule.length > 0 && format !== 'text')
    report('logging.vmodule', 'Forbidden: Only supported for text log format');
  for (const [index, { filePattern, verbosity: level }] of vmodule.entries()) {
    const path = `logging.vmodule[${index}]`;
    if (filePattern === '') report(path, 'Required value: File pattern must not be empty');
    if (/[=,]/.test(filePattern))
      report(path, `Invalid value: ${quoted(filePattern)}: File pattern must not contain equal sign or comma`);
    if (level > MAX_INT32 || level < 0) report(path, `Invalid value: ${level}: Must be >= 0 and <= ${MAX_INT32}`);
  }
  if (gates.enabled('LoggingAlphaOptions')) return;
  for (const [kind, routing] of Object.entries(options ?? {})) {
    if (routing?.splitStream)
      report(`logging.options.${kind}.splitStream`, 'Forbidden: Feature LoggingAlphaOptions is disabled');
    if (routing?.infoBufferSize !== undefined && quantityNumber(routing.infoBufferSize) !== 0) {
      report(`logging.options.${kind}.infoBufferSize`, 'Forbidden: Feature LoggingAlphaOptions is disabled');
    }
  }
}

function checkTracing({ config }: ValidationContext, report: (path: string, message: string) => void): void {
  const { endpoint, samplingRatePerMillion: rate } = config.tracing ?? {};
  if (rate !== undefined && rate < 0)
    report('tracing.samplingRatePerMillion', `Invalid value: ${rate}: sampling rate must be positive`);
  if (rate !== undefined && rate > 1_000_000) {
    report(
      'tracing.samplingRatePerMillion',
      `Invalid value: ${rate}: sampling rate per million must be less than or equal to one million`,
    );
  }
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(endpoint ?? '')?.[1];
  if (scheme !== undefined && !['dns', 'unix', 'unix-abstract'].includes(scheme)) {
    report(
      'tracing.endpoint',
      `Invalid value: ${quoted(endpoint)}: unsupported scheme: ${scheme}. Options are none, dns, unix, or unix-abstract`,
    );
  }
}

function checkHiddenMetricsVersion({ config, fail }: ValidationContext): void {
  const version = config.showHiddenMetricsForVersion ?? '';
  if (version !== '' && version !== '1.35') {
    fail(
      'showHiddenMetricsForVersion',
      `--show-hidden-metrics-for-version must be omitted or have the value '1.35'. Only the previous minor version is allowed`,
    );
  }
}

export function checkModes(context: ValidationContext, report: (path: string, message: string) => void): void {
  checkWords(context);
  checkGated(context);
  checkPullVerification(context);
  checkTaints(context);
  checkAddresses(context);
  checkTls(context);
  checkPodLogsDir(context);
  checkHiddenMetricsVersion(context);
  checkLogging(context, report);
  checkTracing(context, report);
}
