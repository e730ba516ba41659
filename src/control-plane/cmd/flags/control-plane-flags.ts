export interface Flag {
  readonly type: 'string' | 'boolean' | 'list';
  /** As it would be written on the command line. */
  readonly default?: string;
  /** Whether it names a file. An unreadable file is reported before anything starts. */
  readonly file?: true;
  readonly help: string;
}

/**
 * Every flag. Flags that kube-apiserver, kube-controller-manager or kube-scheduler also have keep their name and
 * meaning.
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
  'allocate-node-cidrs': {
    type: 'boolean',
    default: 'false',
    help: 'give each node a range of pod addresses out of --cluster-cidr',
  },
  'cluster-cidr': { type: 'list', help: 'range of pod addresses; two, one of each IP family, for dual stack' },
  'node-cidr-mask-size': {
    type: 'string',
    help: 'prefix length of the range of a node; default: 24 for IPv4, 64 for IPv6; not for dual stack',
  },
  'node-cidr-mask-size-ipv4': { type: 'string', help: 'the same for IPv4; default: 24' },
  'node-cidr-mask-size-ipv6': { type: 'string', help: 'the same for IPv6; default: 64' },
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
  'etcd-prefix': { type: 'string', default: '/registry', help: 'prefix of all keys in etcd' },
  'etcd-servers-overrides': {
    type: 'list',
    help: 'etcd clusters of single resources: GROUP/RESOURCE#URL;URL, such as /events#http://10.0.0.2:2379',
  },
  'storage-media-type': {
    type: 'string',
    default: 'application/json',
    help: 'format in which objects are written to etcd: application/json or application/vnd.kubernetes.protobuf; both can be read',
  },
  'feature-gates': {
    type: 'list',
    help: 'optional features, such as ClusterTrustBundle=true,PodCertificateRequest=true',
  },
  'runtime-config': {
    type: 'list',
    help: 'API versions and resources that are off by default, such as certificates.k8s.io/v1beta1=true',
  },
  'client-ca-file': {
    type: 'string',
    file: true,
    help: 'additional CAs whose client certificates are accepted',
  },
  'requestheader-client-ca-file': {
    type: 'string',
    file: true,
    help: 'CAs of authenticating proxies, which pass the user in headers; default: the cluster’s own front-proxy-ca',
  },
  'requestheader-allowed-names': {
    type: 'list',
    help: 'common names of such proxies; default: front-proxy-client, and any with --requestheader-client-ca-file',
  },
  'requestheader-username-headers': {
    type: 'list',
    default: 'X-Remote-User',
    help: 'headers in which a proxy names the user',
  },
  'requestheader-uid-headers': { type: 'list', default: 'X-Remote-Uid', help: 'the same for the uid of the user' },
  'requestheader-group-headers': { type: 'list', default: 'X-Remote-Group', help: 'the same for the groups' },
  'requestheader-extra-headers-prefix': {
    type: 'list',
    default: 'X-Remote-Extra-',
    help: 'prefixes of headers with extra attributes of the user',
  },
  'proxy-client-cert-file': {
    type: 'string',
    file: true,
    help: 'client certificate for the servers behind APIServices; default: the cluster’s own',
  },
  'proxy-client-key-file': { type: 'string', file: true, help: 'key of the certificate' },
  'enable-aggregator-routing': {
    type: 'boolean',
    default: 'false',
    help: 'send requests for APIServices to the pods behind a Service, for machines that do not route addresses of Services',
  },
  'anonymous-auth': {
    type: 'boolean',
    default: 'true',
    help: 'allow requests without credentials as system:anonymous',
  },
  'authentication-config': {
    type: 'string',
    file: true,
    help: 'AuthenticationConfiguration: issuers of tokens, and for which paths requests without credentials are allowed; read again when it changes; instead of --oidc-*',
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
  'authorization-config': {
    type: 'string',
    file: true,
    help: 'AuthorizationConfiguration: an ordered list of authorizers, webhooks with conditions among them; read again when it changes; instead of --authorization-mode and --authorization-webhook-config-file',
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
  'audit-policy-file': {
    type: 'string',
    file: true,
    help: 'audit.k8s.io/v1 Policy; needs --audit-log-path or --audit-webhook-config-file',
  },
  'audit-log-path': {
    type: 'string',
    help: 'file for audit events, one JSON object per line; "-" for standard output',
  },
  'audit-log-maxage': { type: 'string', default: '0', help: 'days to keep old files; 0 for no limit' },
  'audit-log-maxbackup': { type: 'string', default: '0', help: 'number of old files to keep; 0 for no limit' },
  'audit-log-maxsize': { type: 'string', default: '100', help: 'maximum size of a file in megabytes' },
  'audit-webhook-config-file': {
    type: 'string',
    file: true,
    help: 'kubeconfig of a webhook that receives lists of audit events',
  },
  'audit-webhook-batch-max-size': { type: 'string', default: '400', help: 'most events in one list' },
  'audit-webhook-batch-max-wait': { type: 'string', default: '30s', help: 'how long events wait for a full list' },
  'audit-webhook-batch-buffer-size': {
    type: 'string',
    default: '10000',
    help: 'number of events that may wait; more are dropped',
  },
  'audit-webhook-initial-backoff': { type: 'string', default: '10s', help: 'time before the second try of a list' },
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
  'policy-config-file': {
    type: 'string',
    file: true,
    help: 'Policy of schedulers before 1.23: predicates, priorities and extenders by name; instead of --scheduler-config',
  },
  'logging-format': { type: 'string', default: 'text', help: 'text (klog format) or json' },
  v: { type: 'string', default: '0', help: 'log verbosity' },
  help: { type: 'boolean', help: 'show this help' },
  version: { type: 'boolean', help: 'print the version' },
} as const satisfies Readonly<Record<string, Flag>>;

export type FlagName = keyof typeof flags;
export const flagNames = Object.keys(flags) as FlagName[];
export const flagOf = (name: FlagName): Flag => flags[name];

/** A flag for the help text and the documents. */
export interface DescribedFlag {
  readonly name: FlagName;
  readonly default: string;
  readonly help: string;
}

export function describeFlags(): readonly DescribedFlag[] {
  return flagNames.map((name) => ({ name, default: flagOf(name).default ?? '', help: flagOf(name).help }));
}

const HEAD = `usage: kubelet-control-plane [FLAGS]
       kubelet-control-plane token create        creates a token for joining nodes
       kubelet-control-plane snapshot save|status|restore FILE
                                                 backs up a running control plane, and restores it
       kubelet-control-plane explain [NAME]      explains why pods do not run, in any cluster

An API server, controllers and a scheduler in one process. To use it as administrator: kubectl --kubeconfig DATA-DIR/admin.conf.
Turn a boolean flag off with --NAME=false. Each command prints its options with --help.
`;

export function helpText(): string {
  const rows = flagNames.map((name) => {
    const { type, default: byDefault, help } = flagOf(name);
    const value = type === 'boolean' ? '' : type === 'list' ? ' A,B' : ' VALUE';
    return `  ${`--${name}${value}`.padEnd(50)} ${help}${byDefault === undefined || byDefault === '' ? '' : ` (default ${byDefault})`}`;
  });
  return `${HEAD}\n${rows.join('\n')}\n`;
}
