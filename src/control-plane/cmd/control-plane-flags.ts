import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { parseArgs } from 'node:util';
import { parseDurationMs } from '../../api/duration.ts';
import type { AuthorizationMode, ControlPlaneOptions, OidcOptions } from './control-plane-options.ts';
import { firstAddress } from './service-range.ts';

interface Flag {
  readonly type: 'string' | 'boolean' | 'list';
  /** As it would be written on the command line. */
  readonly default?: string;
  /** Names a file. An unreadable file is reported before anything starts. */
  readonly file?: true;
  readonly help: string;
}

/**
 * Every flag; names and meanings are those of kube-apiserver, kube-controller-manager and kube-scheduler where they
 * have it.
 */
const flags = {
  'data-dir': {
    type: 'string',
    default: '/var/lib/kubelet-ts/control-plane',
    help: 'directory for certificates, kubeconfigs and the SQLite store',
  },
  'bind-address': { type: 'string', default: '0.0.0.0', help: 'address to listen on' },
  'secure-port': { type: 'string', default: '6443', help: 'port to listen on' },
  'advertise-address': {
    type: 'string',
    help: 'address at which pods and nodes reach the API server; default: the first externally reachable address of this machine',
  },
  'cert-sans': { type: 'list', help: 'additional names and addresses for the serving certificate' },
  'service-cluster-ip-range': { type: 'list', default: '10.96.0.0/12', help: 'address ranges for services' },
  'service-node-port-range': {
    type: 'string',
    default: '30000-32767',
    help: 'port range for services of type NodePort',
  },
  'storage-backend': { type: 'string', default: 'sqlite', help: 'sqlite or etcd3' },
  'etcd-servers': { type: 'list', default: 'http://127.0.0.1:2379', help: 'members of the etcd cluster' },
  'etcd-cafile': { type: 'string', file: true, help: 'CA of members with https' },
  'etcd-certfile': { type: 'string', file: true, help: 'client certificate for etcd' },
  'etcd-keyfile': { type: 'string', file: true, help: 'key of the certificate' },
  'anonymous-auth': {
    type: 'boolean',
    default: 'true',
    help: 'allow requests without credentials as system:anonymous',
  },
  'token-auth-file': { type: 'string', file: true, help: 'CSV of token,user,uid,"groups"' },
  'basic-auth-file': { type: 'string', file: true, help: 'CSV of password,user,uid,"groups"; off unless given' },
  'authentication-token-webhook-config-file': {
    type: 'string',
    file: true,
    help: 'kubeconfig of a webhook that receives TokenReviews',
  },
  'oidc-issuer-url': { type: 'string', help: 'OpenID Connect issuer; needs --oidc-client-id' },
  'oidc-client-id': { type: 'string', help: 'audience of the OpenID Connect tokens' },
  'oidc-username-claim': { type: 'string', default: 'sub', help: 'claim with the user name' },
  'oidc-username-prefix': {
    type: 'string',
    help: 'prefix of user names; "-" for none; default: ISSUER# unless the claim is email',
  },
  'oidc-groups-claim': { type: 'string', help: 'claim with the groups' },
  'oidc-groups-prefix': { type: 'string', default: '', help: 'prefix of groups' },
  'oidc-required-claim': { type: 'list', help: 'key=value claims that a token must have' },
  'oidc-signing-algs': { type: 'list', default: 'RS256', help: 'accepted signature algorithms' },
  'oidc-ca-file': { type: 'string', file: true, help: 'CA of the issuer' },
  'service-account-issuer': {
    type: 'string',
    default: 'https://kubernetes.default.svc.cluster.local',
    help: 'issuer of service account tokens',
  },
  'api-audiences': { type: 'list', help: 'audiences of the API server; default: the issuer' },
  'authorization-mode': {
    type: 'list',
    default: 'Node,RBAC',
    help: 'ordered list of Node, RBAC, ABAC, Webhook, AlwaysAllow, AlwaysDeny',
  },
  'authorization-policy-file': { type: 'string', file: true, help: 'ABAC policies, one JSON object per line' },
  'authorization-webhook-config-file': {
    type: 'string',
    file: true,
    help: 'kubeconfig of a webhook that receives SubjectAccessReviews',
  },
  'allow-privileged': {
    type: 'boolean',
    default: 'true',
    help: 'allow privileged containers; the default of kube-apiserver is false',
  },
  'enable-admission-plugins': { type: 'list', help: 'additional plugins to enable' },
  'disable-admission-plugins': { type: 'list', help: 'plugins to disable' },
  'admission-control-config-file': {
    type: 'string',
    file: true,
    help: 'AdmissionConfiguration with plugin settings',
  },
  'tracing-config-file': {
    type: 'string',
    file: true,
    help: 'apiserver.config.k8s.io/v1 TracingConfiguration: where traces of requests are sent',
  },
  'audit-policy-file': { type: 'string', file: true, help: 'audit.k8s.io/v1 Policy; needs --audit-log-path' },
  'audit-log-path': {
    type: 'string',
    help: 'file for audit events, one JSON object per line; "-" for standard output',
  },
  'audit-log-maxage': { type: 'string', default: '0', help: 'days to keep old files; 0 for no limit' },
  'audit-log-maxbackup': { type: 'string', default: '0', help: 'number of old files to keep; 0 for no limit' },
  'audit-log-maxsize': { type: 'string', default: '100', help: 'maximum size of a file in megabytes' },
  'max-requests-inflight': { type: 'string', default: '400', help: 'maximum number of concurrent read requests' },
  'max-mutating-requests-inflight': {
    type: 'string',
    default: '200',
    help: 'maximum number of concurrent write requests',
  },
  'enable-priority-and-fairness': {
    type: 'boolean',
    default: 'true',
    help: 'share concurrent requests fairly between users',
  },
  'client-qps': { type: 'string', default: '0', help: 'requests per second and user; 0 for no limit' },
  'client-burst': { type: 'string', default: '0', help: 'burst of requests per user above --client-qps' },
  'event-ttl-seconds': { type: 'string', default: '3600', help: 'lifetime of events in seconds' },
  'default-not-ready-toleration-seconds': {
    type: 'string',
    default: '300',
    help: 'how long pods stay on a node that is not ready or unreachable',
  },
  'kubelet-preferred-address-types': {
    type: 'list',
    default: 'Hostname,InternalDNS,InternalIP,ExternalDNS,ExternalIP',
    help: 'ordered list of node address types to try',
  },
  'kubelet-certificate-authority': {
    type: 'string',
    help: 'CA of the kubelets’ serving certificates, such as DATA-DIR/pki/ca.crt; if empty, they are not verified',
  },
  'kubelet-client-certificate': {
    type: 'string',
    file: true,
    help: 'client certificate for kubelets instead of the cluster’s own; needs --kubelet-client-key',
  },
  'kubelet-client-key': { type: 'string', file: true, help: 'key of the certificate' },
  'cluster-signing-duration': {
    type: 'string',
    default: '8760h0m0s',
    help: 'maximum lifetime of certificates signed for a CertificateSigningRequest',
  },
  'approve-kubelet-serving': {
    type: 'boolean',
    default: 'false',
    help: 'approve serving certificates of kubelets that name only the node’s own addresses; upstream requires manual approval',
  },
  controllers: { type: 'list', default: '*', help: '* for all, NAME to enable one, -NAME to disable one' },
  'node-monitor-grace-period': {
    type: 'string',
    default: '50s',
    help: 'time without a heartbeat after which a node is not ready',
  },
  'node-startup-grace-period': {
    type: 'string',
    default: '1m0s',
    help: 'the same for a node that has never sent a heartbeat',
  },
  'terminated-pod-gc-threshold': {
    type: 'string',
    default: '12500',
    help: 'number of terminated pods to keep; 0 for no limit',
  },
  'legacy-service-account-token-clean-up-period': {
    type: 'string',
    default: '8760h0m0s',
    help: 'time without use after which a generated token in a Secret is marked as invalid, and deleted as much later',
  },
  'horizontal-pod-autoscaler-sync-period': {
    type: 'string',
    default: '15s',
    help: 'how often autoscalers read their metrics',
  },
  'horizontal-pod-autoscaler-downscale-stabilization': {
    type: 'string',
    default: '5m0s',
    help: 'how far back autoscalers look before they remove pods',
  },
  'horizontal-pod-autoscaler-tolerance': {
    type: 'string',
    default: '0.1',
    help: 'how far a metric may be from its target without a change, as a fraction',
  },
  'horizontal-pod-autoscaler-cpu-initialization-period': {
    type: 'string',
    default: '5m0s',
    help: 'time after its start in which the CPU of a pod counts only while it is ready',
  },
  'horizontal-pod-autoscaler-initial-readiness-delay': {
    type: 'string',
    default: '30s',
    help: 'time after its start in which a pod that is not ready counts as never having been ready',
  },
  scheduler: { type: 'boolean', default: 'true', help: 'run the scheduler' },
  'scheduler-config': { type: 'string', file: true, help: 'KubeSchedulerConfiguration' },
  'logging-format': { type: 'string', default: 'text', help: 'text (klog format) or json' },
  v: { type: 'string', default: '0', help: 'log verbosity' },
  help: { type: 'boolean', help: 'show this help' },
  version: { type: 'boolean', help: 'print the version' },
} as const satisfies Readonly<Record<string, Flag>>;

export type FlagName = keyof typeof flags;
const names = Object.keys(flags) as FlagName[];
const flagOf = (name: FlagName): Flag => flags[name];

/** A flag as people see it: in the help text and in the documents. */
export interface DescribedFlag {
  readonly name: FlagName;
  readonly default: string;
  readonly help: string;
}

export function describeFlags(): readonly DescribedFlag[] {
  return names.map((name) => ({ name, default: flagOf(name).default ?? '', help: flagOf(name).help }));
}

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
    const options = Object.fromEntries(names.map((name) => [name, { type: 'string' as const }]));
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
  const flag = names.find((each) => each === name);
  if (arg.startsWith('-') && flag !== undefined && flagOf(flag).type === 'boolean') return `--${name}=true`;
  return arg.replace(/^-v(?==|$)/, '--v');
}

export function helpText(): string {
  const rows = names.map((name) => {
    const { type, default: byDefault, help } = flagOf(name);
    const value = type === 'boolean' ? '' : type === 'list' ? ' A,B' : ' VALUE';
    return `  ${`--${name}${value}`.padEnd(50)} ${help}${byDefault === undefined || byDefault === '' ? '' : ` (default ${byDefault})`}`;
  });
  return `usage: kubelet-control-plane [FLAGS]\n\nAn API server, controllers and a scheduler in one process. To use it as administrator: kubectl --kubeconfig DATA-DIR/admin.conf.\nTurn a boolean flag off with --NAME=false. \`kubelet-control-plane token create\` creates a token for joining nodes,\n\`kubelet-control-plane explain\` explains why pods do not run, in any cluster.\n\n${rows.join('\n')}\n`;
}

class FlagReader {
  readonly errors: string[] = [];
  readonly #given: Readonly<Record<string, string | boolean | undefined>>;

  constructor(given: Readonly<Record<string, string | boolean | undefined>>) {
    this.#given = given;
  }

  text(name: FlagName): string | undefined {
    const value = this.#given[name] ?? flagOf(name).default;
    return value === undefined ? undefined : String(value);
  }

  required(name: FlagName): string {
    return this.text(name) ?? '';
  }

  list(name: FlagName): readonly string[] {
    return (this.text(name) ?? '')
      .split(',')
      .map((each) => each.trim())
      .filter((each) => each !== '');
  }

  isGiven(name: FlagName): boolean {
    return this.#given[name] !== undefined;
  }

  boolean(name: FlagName): boolean {
    const value = this.text(name) ?? 'false';
    if (value !== 'true' && value !== 'false')
      this.errors.push(`--${name}: ${JSON.stringify(value)} is neither true nor false`);
    return value === 'true';
  }

  number(name: FlagName, least = 0, most = Number.MAX_SAFE_INTEGER): number {
    const value = this.required(name);
    const number = /^\d+$/.test(value) ? Number(value) : NaN;
    if (!(number >= least && number <= most))
      this.errors.push(
        `--${name}: ${JSON.stringify(value)} is no whole number of at least ${least}${most === Number.MAX_SAFE_INTEGER ? '' : ` and at most ${most}`}`,
      );
    return number;
  }

  fraction(name: FlagName): number {
    const value = this.required(name);
    const number = /^\d+(\.\d+)?$/.test(value) ? Number(value) : NaN;
    if (!Number.isFinite(number)) this.errors.push(`--${name}: ${JSON.stringify(value)} is no number such as 0.1`);
    return number;
  }

  /** Milliseconds, more than none. */
  duration(name: FlagName): number {
    const value = this.required(name);
    const ms = parseDurationMs(value);
    if (ms === undefined || ms <= 0)
      this.errors.push(`--${name}: ${JSON.stringify(value)} is no time such as 50s or 1m30s`);
    return ms ?? 0;
  }

  oneOf<const Values extends readonly string[]>(name: FlagName, values: Values): Values[number] {
    const value = this.required(name);
    const found = values.find((each) => each === value);
    if (found === undefined) this.errors.push(`--${name}: ${JSON.stringify(value)} is none of ${values.join(', ')}`);
    return found ?? (values[0] as Values[number]);
  }
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
    nodePorts: portRange(reader),
    storage: storage(reader),
    anonymousAuth: reader.boolean('anonymous-auth'),
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
    scheduler: { enabled: reader.boolean('scheduler'), ...optional('configFile', reader.text('scheduler-config')) },
    kubeletPreferredAddressTypes: reader.list('kubelet-preferred-address-types'),
    ...optional('kubeletAuthorityFile', reader.text('kubelet-certificate-authority')),
    ...kubeletClient(reader),
    signingMs: reader.duration('cluster-signing-duration'),
    approvesKubeletServing: reader.boolean('approve-kubelet-serving'),
  };
  const files = names.flatMap((flag) =>
    flagOf(flag).file === true && reader.isGiven(flag) ? [{ flag, file: reader.required(flag) }] : [],
  );
  return {
    options,
    files,
    log: { format: reader.oneOf('logging-format', ['text', 'json']), verbosity: reader.number('v') },
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
  const [certificateFile, keyFile] = [reader.text('kubelet-client-certificate'), reader.text('kubelet-client-key')];
  if ((certificateFile === undefined) !== (keyFile === undefined))
    reader.errors.push('--kubelet-client-certificate and --kubelet-client-key must be given together');
  return certificateFile === undefined || keyFile === undefined ? {} : { kubeletClient: { certificateFile, keyFile } };
}

function advertised(reader: FlagReader): string {
  return address(reader, 'advertise-address') ?? reachableAddress() ?? '127.0.0.1';
}

function address(reader: FlagReader, name: FlagName): string | undefined {
  const value = reader.text(name);
  if (value !== undefined && isIP(value) === 0)
    reader.errors.push(`--${name}: ${JSON.stringify(value)} is no IP address`);
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
    reader.errors.push(`--service-node-port-range: ${JSON.stringify(value)} is no range such as 30000-32767`);
  return range;
}

const etcdFlags = [
  'etcd-servers',
  'etcd-cafile',
  'etcd-certfile',
  'etcd-keyfile',
] as const satisfies readonly FlagName[];

function storage(reader: FlagReader): ControlPlaneOptions['storage'] {
  if (reader.oneOf('storage-backend', ['sqlite', 'etcd3']) === 'sqlite') {
    // Who comes from kube-apiserver, which knows nothing but etcd, must not find an empty cluster.
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
  return { backend: 'etcd3', servers: reader.list('etcd-servers'), ...files };
}

function authorizationModes(reader: FlagReader): readonly AuthorizationMode[] {
  const found: AuthorizationMode[] = [];
  for (const name of reader.list('authorization-mode')) {
    const mode = modes.find((each) => each === name);
    if (mode === undefined)
      reader.errors.push(`--authorization-mode: ${JSON.stringify(name)} is none of ${modes.join(', ')}`);
    else if (found.includes(mode)) reader.errors.push(`--authorization-mode: ${mode} stands there twice`);
    else found.push(mode);
  }
  if (reader.list('authorization-mode').length === 0) reader.errors.push('--authorization-mode names none');
  if (found.includes('ABAC') && reader.text('authorization-policy-file') === undefined)
    reader.errors.push('--authorization-mode=ABAC needs --authorization-policy-file');
  if (found.includes('Webhook') && reader.text('authorization-webhook-config-file') === undefined)
    reader.errors.push('--authorization-mode=Webhook needs --authorization-webhook-config-file');
  return found;
}

function oidc(reader: FlagReader): { oidc?: OidcOptions } {
  const [issuerUrl, clientId] = [reader.text('oidc-issuer-url'), reader.text('oidc-client-id')];
  if (issuerUrl === undefined && clientId === undefined) return {};
  if (issuerUrl === undefined || clientId === undefined)
    reader.errors.push('--oidc-issuer-url and --oidc-client-id go together');
  if (issuerUrl !== undefined && !issuerUrl.startsWith('https://'))
    reader.errors.push(`--oidc-issuer-url: ${JSON.stringify(issuerUrl)} is no https URL`);
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
  const [policyFile, logPath] = [reader.text('audit-policy-file'), reader.text('audit-log-path')];
  if (logPath === undefined) {
    if (policyFile !== undefined) reader.errors.push('--audit-policy-file needs --audit-log-path');
    return {};
  }
  if (policyFile === undefined) reader.errors.push('--audit-log-path needs --audit-policy-file');
  return {
    audit: {
      policyFile: policyFile ?? '',
      logPath,
      maxAgeDays: reader.number('audit-log-maxage'),
      maxBackups: reader.number('audit-log-maxbackup'),
      maxSizeMib: reader.number('audit-log-maxsize', 1),
    },
  };
}
