// The checks of the CIS benchmark for a node (4.1, 4.2), as its tool performs them: by flags, configuration and file
// modes.

export interface NodeFacts {
  /** Accepts `--name value` and `--name=value`. A flag overrides the configuration file. */
  readonly args: readonly string[];
  /** As the configuration file has it. */
  readonly config: Readonly<Record<string, unknown>>;
  /** By the names below; undefined for a missing file. */
  readonly files: Partial<
    Readonly<
      Record<
        'kubeconfig' | 'config' | 'clientCa',
        { readonly mode: number; readonly uid: number; readonly gid: number }
      >
    >
  >;
}

export interface CisCheck {
  readonly id: string;
  readonly what: string;
  /** Manual checks: a tool does not fail a node for them. */
  readonly manual?: true;
  readonly passes: (facts: NodeFacts) => boolean;
}

type File = NonNullable<NodeFacts['files']['config']>;

const at = ({ args, config }: NodeFacts, flag: string, path: string): unknown => {
  const found = args.findLastIndex((arg) => arg === `--${flag}` || arg.startsWith(`--${flag}=`));
  if (found !== -1) return args[found]?.includes('=') === true ? args[found]?.slice(flag.length + 3) : args[found + 1];
  return path
    .split('.')
    .reduce<unknown>(
      (value, name) =>
        typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined,
      config,
    );
};
const isOrUnset = (value: unknown, wanted: readonly unknown[]): boolean =>
  value === undefined || wanted.includes(value);
const atMost =
  (mode: number) =>
  (file: File | undefined): boolean =>
    file !== undefined && (file.mode & 0o777 & ~mode) === 0;
const ofRoot = (file: File | undefined): boolean => file !== undefined && file.uid === 0 && file.gid === 0;

const strong = new Set([
  'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305',
  'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305',
  'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384',
  'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384',
]);

const cisChecks: readonly CisCheck[] = [
  { id: '4.1.5', what: 'kubeconfig 600 or stricter', passes: ({ files }) => atMost(0o600)(files.kubeconfig) },
  { id: '4.1.6', what: 'kubeconfig of root', passes: ({ files }) => ofRoot(files.kubeconfig) },
  {
    id: '4.1.7',
    what: 'client CA 644 or stricter',
    manual: true,
    passes: ({ files }) => atMost(0o644)(files.clientCa),
  },
  { id: '4.1.8', what: 'client CA of root', manual: true, passes: ({ files }) => ofRoot(files.clientCa) },
  { id: '4.1.9', what: 'configuration 600 or stricter', passes: ({ files }) => atMost(0o600)(files.config) },
  { id: '4.1.10', what: 'configuration of root', passes: ({ files }) => ofRoot(files.config) },
  {
    id: '4.2.1',
    what: 'anonymous requests off',
    passes: (facts) =>
      [false, 'false'].includes(at(facts, 'anonymous-auth', 'authentication.anonymous.enabled') as never),
  },
  {
    id: '4.2.2',
    what: 'authorization is not AlwaysAllow',
    passes: (facts) =>
      !['AlwaysAllow', undefined].includes(at(facts, 'authorization-mode', 'authorization.mode') as never),
  },
  {
    id: '4.2.3',
    what: 'client CA set',
    passes: (facts) => at(facts, 'client-ca-file', 'authentication.x509.clientCAFile') !== undefined,
  },
  {
    id: '4.2.4',
    what: 'no read-only port',
    manual: true,
    passes: (facts) => isOrUnset(at(facts, 'read-only-port', 'readOnlyPort'), [0, '0']),
  },
  {
    id: '4.2.5',
    what: 'idle streams end',
    manual: true,
    passes: (facts) =>
      !['0', 0, '0s'].includes(
        at(facts, 'streaming-connection-idle-timeout', 'streamingConnectionIdleTimeout') as never,
      ),
  },
  {
    id: '4.2.6',
    what: 'chains of iptables',
    passes: (facts) => isOrUnset(at(facts, 'make-iptables-util-chains', 'makeIPTablesUtilChains'), [true, 'true']),
  },
  {
    id: '4.2.7',
    what: 'no hostname override',
    manual: true,
    passes: ({ args }) => !args.some((arg) => arg.startsWith('--hostname-override')),
  },
  {
    id: '4.2.8',
    what: 'enough events',
    manual: true,
    passes: (facts) => Number(at(facts, 'event-qps', 'eventRecordQPS') ?? 50) >= 0,
  },
  {
    id: '4.2.9',
    what: 'a serving certificate: files, or by request',
    manual: true,
    passes: (facts) =>
      at(facts, '', 'serverTLSBootstrap') === true ||
      (at(facts, 'tls-cert-file', 'tlsCertFile') !== undefined &&
        at(facts, 'tls-private-key-file', 'tlsPrivateKeyFile') !== undefined),
  },
  {
    id: '4.2.10',
    what: 'the client certificate rotates',
    passes: (facts) => isOrUnset(at(facts, 'rotate-certificates', 'rotateCertificates'), [true, 'true']),
  },
  {
    id: '4.2.11',
    what: 'the serving certificate may rotate',
    manual: true,
    passes: (facts) => isOrUnset(at(facts, '', 'featureGates.RotateKubeletServerCertificate'), [true]),
  },
  {
    id: '4.2.12',
    what: 'strong ciphers',
    manual: true,
    passes: (facts) => {
      const given = at(facts, 'tls-cipher-suites', 'tlsCipherSuites');
      const suites = typeof given === 'string' ? given.split(',') : given;
      return Array.isArray(suites) && suites.length > 0 && suites.every((suite) => strong.has(String(suite)));
    },
  },
  {
    id: '4.2.13',
    what: 'a limit of processes for pods',
    manual: true,
    passes: (facts) => Number(at(facts, 'pod-max-pids', 'podPidsLimit') ?? -1) > 0,
  },
  {
    id: '4.2.14',
    what: 'seccomp unless said otherwise',
    manual: true,
    passes: (facts) => [true, 'true'].includes(at(facts, 'seccomp-default', 'seccompDefault') as never),
  },
];

export const failedChecks = (facts: NodeFacts): string[] =>
  cisChecks.filter(({ passes }) => !passes(facts)).map(({ id }) => id);
