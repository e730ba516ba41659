import type { StorageMediaType } from '../../registry/protobuf-values.ts';
import type { RequestHeaderSettings } from './request-header-flags.ts';
import type { ApiChoice } from './runtime-config.ts';
import type { NodeRangeSettings } from '../../controllers/node-ipam/node-ranges.ts';
import type { AutoscalerSettings } from '../../controllers/horizontal-pod-autoscaler/horizontal-pod-autoscaler-controller.ts';
/**
 * The options of a control plane, parsed from flags; names follow kube-apiserver's, kube-controller-manager's and
 * kube-scheduler's.
 */
export interface ControlPlaneOptions {
  /** Certificates, keys, kubeconfigs and, for SQLite, the store. */
  readonly dataDir: string;
  readonly bindAddress: string;
  readonly securePort: number;
  /** The address of the API server for other machines. */
  readonly advertiseAddress: string;
  /** Additional names and addresses of the serving certificate. */
  readonly certSans: readonly string[];
  readonly serviceCidrs: readonly string[];
  /** The ranges of pod addresses; absent if nodes get none. */
  readonly nodeRanges?: NodeRangeSettings;
  readonly nodePorts: { readonly first: number; readonly last: number };
  readonly storage:
    | { readonly backend: 'sqlite' }
    | {
        readonly backend: 'etcd3';
        readonly servers: readonly string[];
        readonly caFile?: string;
        readonly certFile?: string;
        readonly keyFile?: string;
        /** The prefix of keys: `/registry/`. */
        readonly prefix: string;
        readonly mediaType: StorageMediaType;
        readonly overrides: readonly StorageOverride[];
      };
  /** The enabled optional parts of the API. */
  readonly api: ApiChoice;
  /** Additional CAs of client certificates. */
  readonly clientCaFile?: string;
  readonly requestHeaders: RequestHeaderSettings;
  /** The client certificate for servers behind APIServices; absent means the cluster's own. */
  readonly proxyClient?: { readonly certificateFile: string; readonly keyFile: string };
  /** Whether these servers are reached at their pods instead of their cluster IPs. */
  readonly aggregatorRouting: boolean;
  readonly anonymousAuth: boolean;
  /** Whether the flag was used. Then the file must not set it too. */
  readonly anonymousFlagGiven?: boolean;
  /** AuthenticationConfiguration, instead of `oidc`. */
  readonly authenticationConfigFile?: string;
  readonly tokenAuthFile?: string;
  readonly basicAuthFile?: string;
  readonly oidc?: OidcOptions;
  readonly authenticationTokenWebhookConfigFile?: string;
  readonly serviceAccountIssuer: string;
  readonly apiAudiences: readonly string[];
  /** AuthorizationConfiguration, instead of the modes. */
  readonly authorizationConfigFile?: string;
  readonly authorizationModes: readonly AuthorizationMode[];
  readonly authorizationPolicyFile?: string;
  readonly authorizationWebhookConfigFile?: string;
  readonly allowPrivileged: boolean;
  readonly disabledAdmission: readonly string[];
  readonly enabledAdmission: readonly string[];
  /** AdmissionConfiguration with the settings of plugins (PodSecurity, EventRateLimit, ...). */
  readonly admissionConfigFile?: string;
  readonly audit?: AuditBackendOptions;
  /** TracingConfiguration: where traces of requests go. */
  readonly tracingConfigFile?: string;
  readonly limits: {
    readonly maxRequestsInflight: number;
    readonly maxMutatingRequestsInflight: number;
    readonly priorityAndFairness: boolean;
    readonly clientQps: number;
    readonly clientBurst: number;
  };
  readonly eventTtlSeconds: number;
  readonly tolerationSeconds: number;
  /** The controllers: `*` for all, `-name` to leave one out, or names. */
  readonly controllers: readonly string[];
  readonly nodeMonitorGraceMs: number;
  readonly nodeStartupGraceMs: number;
  /** The number of kept pods; 0 keeps all. */
  readonly terminatedPodThreshold: number;
  readonly autoscaler: AutoscalerSettings;
  /** After this time without use, a token in a Secret is marked as invalid; after the same time again it is deleted. */
  readonly legacyTokenCleanUpMs: number;
  readonly scheduler: { readonly enabled: boolean } & SchedulerFiles;
  readonly kubeletPreferredAddressTypes: readonly string[];
  /** The CA of kubelets' serving certificates; if absent, they are not verified. */
  readonly kubeletAuthorityFile?: string;
  /** The client certificate for kubelets; absent means the cluster's own. */
  readonly kubeletClient?: { readonly certificateFile: string; readonly keyFile: string };
  /** The maximum lifetime of certificates issued for CertificateSigningRequests. */
  readonly signingMs: number;
  readonly approvesKubeletServing: boolean;
}

/** The etcd cluster of one resource that has its own. */
export interface StorageOverride {
  readonly group: string;
  /** The plural. */
  readonly resource: string;
  readonly servers: readonly string[];
}

/** The scheduler's configuration file; at most one of them is set. */
export interface SchedulerFiles {
  readonly configFile?: string;
  readonly policyFile?: string;
}

export type AuthorizationMode = 'Node' | 'RBAC' | 'ABAC' | 'Webhook' | 'AlwaysAllow' | 'AlwaysDeny';

export interface OidcOptions {
  readonly issuerUrl: string;
  readonly clientId: string;
  readonly usernameClaim: string;
  readonly usernamePrefix: string;
  readonly groupsClaim?: string;
  readonly groupsPrefix: string;
  readonly requiredClaims: Readonly<Record<string, string>>;
  readonly signingAlgs: readonly string[];
  readonly caFile?: string;
}

/** At least one of the two backends. */
export interface AuditBackendOptions {
  readonly policyFile: string;
  readonly file?: AuditFileOptions;
  readonly webhook?: AuditWebhookOptions;
}

export interface AuditWebhookOptions {
  /** A file in kubeconfig's format. */
  readonly configFile: string;
  readonly maxSize: number;
  readonly maxWaitMs: number;
  readonly bufferSize: number;
  readonly initialBackoffMs: number;
}

export interface AuditFileOptions {
  /** The path of the log; `-` means standard output. */
  readonly logPath: string;
  readonly maxAgeDays: number;
  readonly maxBackups: number;
  readonly maxSizeMib: number;
}
