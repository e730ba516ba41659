import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { parseArgs } from 'node:util';
import { flagNames, flagOf } from './control-plane-flags.ts';
import type { FlagName } from './control-plane-flags.ts';
import type { AuthorizationMode, ControlPlaneOptions, OidcOptions } from './control-plane-options.ts';
import { FlagReader } from './flag-reader.ts';
import { readNodeRanges } from './node-range-flags.ts';
import { parseGates, parseRuntimeConfig } from './runtime-config.ts';
import { firstAddress } from './service-range.ts';
import { parseStorageOverrides } from './storage-overrides.ts';
import { readRequestHeaders } from './request-header-flags.ts';
import { normalizePrefix } from '../../storage/prefixed-storage.ts';
import { allResources } from '../../resources/all.ts';

export interface GivenFile {
  readonly flag: FlagName;
  readonly file: string;
}

export interface CommandLine {
  readonly options: ControlPlaneOptions;
  /** Every file that a flag names. */
  readonly files: readonly GivenFile[];
  readonly log: { readonly format: 'text' | 'json'; readonly verbosity: number };
}

export type ParsedCommandLine =
  | { readonly kind: 'run'; readonly line: CommandLine }
  | { readonly kind: 'help' | 'version' }
  | { readonly kind: 'error'; readonly errors: readonly string[] };

/** Reads the command line. Reports all errors together, each with its flag. */
export function parseCommandLine(args: readonly string[]): ParsedCommandLine {
  let given: Readonly<Record<string, string | boolean | undefined>>;
  try {
    const options = Object.fromEntries(flagNames.map((name) => [name, { type: 'string' as const }]));
    given = parseArgs({ args: args.map(withValue), options, strict: true, allowPositionals: false }).values;
  } catch (error) {
    return {
      kind: 'error',
      errors: [error instanceof Error ? error.message : String(error), 'kubelet-control-plane --help lists all flags'],
    };
  }
  const reader = new FlagReader(given);
  if (reader.boolean('help')) return { kind: 'help' };
  if (reader.boolean('version')) return { kind: 'version' };
  const line = readLine(reader);
  return reader.errors.length > 0 ? { kind: 'error', errors: reader.errors } : { kind: 'run', line };
}

/** A boolean flag without a value is true, as in `--anonymous-auth`. */
function withValue(arg: string): string {
  const name = arg.replace(/^--?/, '');
  const flag = flagNames.find((each) => each === name);
  if (arg.startsWith('-') && flag !== undefined && flagOf(flag).type === 'boolean') return `--${name}=true`;
  return arg.replace(/^-v(?==|$)/, '--v');
}

const modes = [
  'Node',
  'RBAC',
  'ABAC',
  'Webhook',
  'AlwaysAllow',
  'AlwaysDeny',
] as const satisfies readonly AuthorizationMode[];
const optional = <Key extends string>(key: Key, value: string | undefined): Partial<Record<Key, string>> =>
  value === undefined ? {} : ({ [key]: value } as Record<Key, string>);

function readLine(reader: FlagReader): CommandLine {
  const options: ControlPlaneOptions = {
    dataDir: reader.required('data-dir'),
    bindAddress: address(reader, 'bind-address') ?? '',
    securePort: reader.number('secure-port', 1, 65535),
    advertiseAddress: advertised(reader),
    certSans: reader.list('cert-sans'),
    serviceCidrs: ranges(reader),
    ...readNodeRanges(reader),
    nodePorts: portRange(reader),
    storage: storage(reader),
    api: {
      gates: parseGates(reader.list('feature-gates'), reader.errors),
      served: parseRuntimeConfig(reader.list('runtime-config'), allResources, reader.errors),
    },
    ...optional('clientCaFile', reader.text('client-ca-file')),
    requestHeaders: readRequestHeaders(reader),
    ...proxyClient(reader),
    aggregatorRouting: reader.boolean('enable-aggregator-routing'),
    anonymousAuth: reader.boolean('anonymous-auth'),
    anonymousFlagGiven: reader.isGiven('anonymous-auth'),
    ...structuredAccess(reader),
    ...optional('tokenAuthFile', reader.text('token-auth-file')),
    ...optional('basicAuthFile', reader.text('basic-auth-file')),
    ...optional('authenticationTokenWebhookConfigFile', reader.text('authentication-token-webhook-config-file')),
    ...oidc(reader),
    serviceAccountIssuer: reader.required('service-account-issuer'),
    apiAudiences:
      reader.text('api-audiences') === undefined
        ? [reader.required('service-account-issuer')]
        : reader.list('api-audiences'),
    authorizationModes: authorizationModes(reader),
    ...optional('authorizationPolicyFile', reader.text('authorization-policy-file')),
    ...optional('authorizationWebhookConfigFile', reader.text('authorization-webhook-config-file')),
    enabledAdmission: reader.list('enable-admission-plugins'),
    allowPrivileged: reader.boolean('allow-privileged'),
    disabledAdmission: reader.list('disable-admission-plugins'),
    ...optional('admissionConfigFile', reader.text('admission-control-config-file')),
    ...optional('tracingConfigFile', reader.text('tracing-config-file')),
    ...audit(reader),
    limits: {
      maxRequestsInflight: reader.number('max-requests-inflight'),
      maxMutatingRequestsInflight: reader.number('max-mutating-requests-inflight'),
      priorityAndFairness: reader.boolean('enable-priority-and-fairness'),
      clientQps: reader.number('client-qps'),
      clientBurst: reader.number('client-burst'),
    },
    eventTtlSeconds: reader.number('event-ttl-seconds', 1),
    tolerationSeconds: reader.number('default-not-ready-toleration-seconds'),
    controllers: reader.list('controllers'),
    nodeMonitorGraceMs: reader.duration('node-monitor-grace-period'),
    nodeStartupGraceMs: reader.duration('node-startup-grace-period'),
    terminatedPodThreshold: reader.number('terminated-pod-gc-threshold'),
    autoscaler: autoscaler(reader),
    legacyTokenCleanUpMs: reader.duration('legacy-service-account-token-clean-up-period'),
    scheduler: schedulerOf(reader),
    kubeletPreferredAddressTypes: reader.list('kubelet-preferred-address-types'),
    ...optional('kubeletAuthorityFile', reader.text('kubelet-certificate-authority')),
    ...kubeletClient(reader),
    signingMs: reader.duration('cluster-signing-duration'),
    approvesKubeletServing: reader.boolean('approve-kubelet-serving'),
  };
  const files = flagNames.flatMap((flag) =>
    flagOf(flag).file === true && reader.isGiven(flag) ? [{ flag, file: reader.required(flag) }] : [],
  );
  return {
    options,
    files,
    log: { format: reader.oneOf('logging-format', ['text', 'json']), verbosity: reader.number('v') },
  };
}

function schedulerOf(reader: FlagReader): ControlPlaneOptions['scheduler'] {
  const [configFile, policyFile] = [reader.text('scheduler-config'), reader.text('policy-config-file')];
  if (configFile !== undefined && policyFile !== undefined)
    reader.errors.push(
      '--scheduler-config and --policy-config-file exclude each other: a Policy is a whole configuration',
    );
  return {
    enabled: reader.boolean('scheduler'),
    ...optional('configFile', configFile),
    ...optional('policyFile', policyFile),
  };
}

function autoscaler(reader: FlagReader): ControlPlaneOptions['autoscaler'] {
  return {
    syncPeriodMs: reader.duration('horizontal-pod-autoscaler-sync-period'),
    downscaleWindowMs: reader.duration('horizontal-pod-autoscaler-downscale-stabilization'),
    tolerance: reader.fraction('horizontal-pod-autoscaler-tolerance'),
    cpuInitializationMs: reader.duration('horizontal-pod-autoscaler-cpu-initialization-period'),
    initialReadinessMs: reader.duration('horizontal-pod-autoscaler-initial-readiness-delay'),
  };
}

function kubeletClient(reader: FlagReader): Pick<ControlPlaneOptions, 'kubeletClient'> {
  const pair = pairOf(reader, 'kubelet-client-certificate', 'kubelet-client-key');
  return pair === undefined ? {} : { kubeletClient: pair };
}

function proxyClient(reader: FlagReader): Pick<ControlPlaneOptions, 'proxyClient'> {
  const pair = pairOf(reader, 'proxy-client-cert-file', 'proxy-client-key-file');
  return pair === undefined ? {} : { proxyClient: pair };
}

function pairOf(
  reader: FlagReader,
  certificate: FlagName,
  key: FlagName,
): { readonly certificateFile: string; readonly keyFile: string } | undefined {
  const [certificateFile, keyFile] = [reader.text(certificate), reader.text(key)];
  if ((certificateFile === undefined) !== (keyFile === undefined))
    reader.errors.push(`--${certificate} and --${key} must be given together`);
  return certificateFile === undefined || keyFile === undefined ? undefined : { certificateFile, keyFile };
}

function advertised(reader: FlagReader): string {
  return address(reader, 'advertise-address') ?? reachableAddress() ?? '127.0.0.1';
}

function address(reader: FlagReader, name: FlagName): string | undefined {
  const value = reader.text(name);
  if (value !== undefined && isIP(value) === 0)
    reader.errors.push(`--${name}: ${JSON.stringify(value)} is not an IP address`);
  return value;
}

function reachableAddress(): string | undefined {
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return addresses.find(({ internal, family }) => !internal && family === 'IPv4')?.address;
}

function ranges(reader: FlagReader): readonly string[] {
  const found = reader.list('service-cluster-ip-range');
  for (const range of found) {
    try {
      firstAddress(range);
    } catch (error) {
      reader.errors.push(error instanceof Error ? error.message : String(error));
    }
  }
  return found;
}

function portRange(reader: FlagReader): { first: number; last: number } {
  const value = reader.required('service-node-port-range');
  const [, first = '', last = ''] = /^(\d{1,5})-(\d{1,5})$/.exec(value) ?? [];
  const range = { first: Number(first), last: Number(last) };
  if (first === '' || range.first < 1 || range.last > 65535 || range.first > range.last)
    reader.errors.push(`--service-node-port-range: ${JSON.stringify(value)} is not a range such as 30000-32767`);
  return range;
}

const etcdFlags = [
  'etcd-servers',
  'etcd-cafile',
  'etcd-certfile',
  'etcd-keyfile',
  'etcd-prefix',
  'etcd-servers-overrides',
  'storage-media-type',
] as const satisfies readonly FlagName[];

const mediaTypes = ['application/json', 'application/vnd.kubernetes.protobuf'] as const;

function storage(reader: FlagReader): ControlPlaneOptions['storage'] {
  if (reader.oneOf('storage-backend', ['sqlite', 'etcd3']) === 'sqlite') {
    // A user of kube-apiserver, which always uses etcd, must not get an empty cluster.
    const forEtcd = etcdFlags.filter((name) => reader.isGiven(name));
    if (forEtcd.length > 0)
      reader.errors.push(`${forEtcd.map((name) => `--${name}`).join(', ')}: only with --storage-backend=etcd3`);
    return { backend: 'sqlite' };
  }
  if (reader.list('etcd-servers').length === 0) reader.errors.push('--etcd-servers names no server');
  if (reader.isGiven('etcd-certfile') !== reader.isGiven('etcd-keyfile'))
    reader.errors.push('--etcd-certfile and --etcd-keyfile go together');
  const files = {
    ...optional('caFile', reader.text('etcd-cafile')),
    ...optional('certFile', reader.text('etcd-certfile')),
    ...optional('keyFile', reader.text('etcd-keyfile')),
  };
  const prefix = reader.required('etcd-prefix');
  if (!/^[\w./-]+$/.test(prefix))
    reader.errors.push(
      `--etcd-prefix: ${JSON.stringify(prefix)} is not a path of letters, digits and the characters . _ - /, such as /registry`,
    );
  return {
    backend: 'etcd3',
    servers: reader.list('etcd-servers'),
    ...files,
    prefix: normalizePrefix(prefix),
    mediaType: reader.oneOf('storage-media-type', mediaTypes),
    overrides: parseStorageOverrides(reader.list('etcd-servers-overrides'), allResources, reader.errors),
  };
}

function authorizationModes(reader: FlagReader): readonly AuthorizationMode[] {
  const found: AuthorizationMode[] = [];
  for (const name of reader.list('authorization-mode')) {
    const mode = modes.find((each) => each === name);
    if (mode === undefined)
      reader.errors.push(`--authorization-mode: ${JSON.stringify(name)} is not one of ${modes.join(', ')}`);
    else if (found.includes(mode)) reader.errors.push(`--authorization-mode: ${mode} is named twice`);
    else found.push(mode);
  }
  if (reader.list('authorization-mode').length === 0) reader.errors.push('--authorization-mode names none');
  if (found.includes('ABAC') && reader.text('authorization-policy-file') === undefined)
    reader.errors.push('--authorization-mode=ABAC needs --authorization-policy-file');
  if (found.includes('Webhook') && reader.text('authorization-webhook-config-file') === undefined)
    reader.errors.push('--authorization-mode=Webhook needs --authorization-webhook-config-file');
  return found;
}

const oidcFlags = flagNames.filter((name) => name.startsWith('oidc-'));
const authorizationFlags = [
  'authorization-mode',
  'authorization-webhook-config-file',
] as const satisfies readonly FlagName[];

/** Refuses flags that conflict with files of structured configuration (upstream: kubeapiserver/options). */
function structuredAccess(
  reader: FlagReader,
): Pick<ControlPlaneOptions, 'authenticationConfigFile' | 'authorizationConfigFile'> {
  const [authentication, authorization] = [reader.text('authentication-config'), reader.text('authorization-config')];
  if (authentication !== undefined && oidcFlags.some((name) => reader.isGiven(name)))
    reader.errors.push('--authentication-config and --oidc-* flags are mutually exclusive');
  if (authorization !== undefined && authorizationFlags.some((name) => reader.isGiven(name)))
    reader.errors.push(
      '--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined',
    );
  return {
    ...optional('authenticationConfigFile', authentication),
    ...optional('authorizationConfigFile', authorization),
  };
}

function oidc(reader: FlagReader): { oidc?: OidcOptions } {
  const [issuerUrl, clientId] = [reader.text('oidc-issuer-url'), reader.text('oidc-client-id')];
  if (issuerUrl === undefined && clientId === undefined) return {};
  if (issuerUrl === undefined || clientId === undefined)
    reader.errors.push('--oidc-issuer-url and --oidc-client-id go together');
  if (issuerUrl !== undefined && !issuerUrl.startsWith('https://'))
    reader.errors.push(`--oidc-issuer-url: ${JSON.stringify(issuerUrl)} is not an https URL`);
  const wrongPairs = reader.list('oidc-required-claim').filter((pair) => pair.indexOf('=') < 1);
  if (wrongPairs.length > 0)
    reader.errors.push(`--oidc-required-claim: ${wrongPairs.join(', ')} is not of the form key=value`);
  const usernameClaim = reader.required('oidc-username-claim');
  const prefix = reader.text('oidc-username-prefix') ?? (usernameClaim === 'email' ? '-' : `${issuerUrl ?? ''}#`);
  const pairs = reader
    .list('oidc-required-claim')
    .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)] as const);
  return {
    oidc: {
      issuerUrl: issuerUrl ?? '',
      clientId: clientId ?? '',
      usernameClaim,
      usernamePrefix: prefix === '-' ? '' : prefix,
      ...optional('groupsClaim', reader.text('oidc-groups-claim')),
      groupsPrefix: reader.required('oidc-groups-prefix'),
      requiredClaims: Object.fromEntries(pairs),
      signingAlgs: reader.list('oidc-signing-algs'),
      ...optional('caFile', reader.text('oidc-ca-file')),
    },
  };
}

function audit(reader: FlagReader): Pick<ControlPlaneOptions, 'audit'> {
  const policyFile = reader.text('audit-policy-file');
  const [logPath, configFile] = [reader.text('audit-log-path'), reader.text('audit-webhook-config-file')];
  if (logPath === undefined && configFile === undefined) {
    if (policyFile !== undefined)
      reader.errors.push('--audit-policy-file needs --audit-log-path or --audit-webhook-config-file');
    return {};
  }
  if (policyFile === undefined)
    reader.errors.push(
      `--${logPath === undefined ? 'audit-webhook-config-file' : 'audit-log-path'} needs --audit-policy-file`,
    );
  return {
    audit: {
      policyFile: policyFile ?? '',
      ...(logPath !== undefined && {
        file: {
          logPath,
          maxAgeDays: reader.number('audit-log-maxage'),
          maxBackups: reader.number('audit-log-maxbackup'),
          maxSizeMib: reader.number('audit-log-maxsize', 1),
        },
      }),
      ...(configFile !== undefined && {
        webhook: {
          configFile,
          maxSize: reader.number('audit-webhook-batch-max-size', 1),
          maxWaitMs: reader.duration('audit-webhook-batch-max-wait'),
          bufferSize: reader.number('audit-webhook-batch-buffer-size', 1),
          initialBackoffMs: reader.duration('audit-webhook-initial-backoff'),
        },
      }),
    },
  };
}
