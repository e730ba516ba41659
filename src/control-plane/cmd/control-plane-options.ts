import type { StorageMediaType } from '../registry/protobuf-values.ts';
import type { RequestHeaderSettings } from './request-header-flags.ts';
import type { ApiChoice } from './runtime-config.ts';
import type { NodeRangeSettings } from '../controllers/node-ipam/node-ranges.ts';
import type { AutoscalerSettings } from '../controllers/horizontal-pod-autoscaler/horizontal-pod-autoscaler-controller.ts';
/**
 * Everything that shapes a control plane, as read from flags; names follow kube-apiserver's, kube-controller-manager's
 * and kube-scheduler's.
 */
export interface ControlPlaneOptions {
  /** Certificates, keys, kubeconfigs and, for SQLite, the store. */
  readonly dataDir: string;
  readonly bindAddress: string;
  readonly securePort: number;
  /** Where others reach the API server. */
  readonly advertiseAddress: string;
  /** More names and addresses of the serving certificate. */
  readonly certSans: readonly string[];
  readonly serviceCidrs: readonly string[];
  /** Absent: nodes get no ranges of pod addresses. */
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
        /** Of keys: `/registry/`. */
        readonly prefix: string;
        readonly mediaType: StorageMediaType;
        readonly overrides: readonly StorageOverride[];
      };
  /** The optional parts of the API that are on. */
  readonly api: ApiChoice;
  /** More authorities of client certificates. */
  readonly clientCaFile?: string;
  readonly requestHeaders: RequestHeaderSettings;
  /** What is shown to the servers behind APIServices. Absent: the cluster's own. */
  readonly proxyClient?: { readonly certificateFile: string; readonly keyFile: string };
  /** Those servers are reached at their pods, rather than at the addresses of their Services. */
  readonly aggregatorRouting: boolean;
  readonly anonymousAuth: boolean;
  /** The flag is written: the file must not say it, too. */
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
  /** `*` for all, `-name` to leave one out, or names. */
  readonly controllers: readonly string[];
  readonly nodeMonitorGraceMs: number;
  readonly nodeStartupGraceMs: number;
  /** 0 keeps all. */
  readonly terminatedPodThreshold: number;
  readonly autoscaler: AutoscalerSettings;
  /** How long tokens in Secrets may be unused before they are marked as invalid, and then before they are deleted. */
  readonly legacyTokenCleanUpMs: number;
  readonly scheduler: { readonly enabled: boolean } & SchedulerFiles;
  readonly kubeletPreferredAddressTypes: readonly string[];
  /** Of what kubelets serve with; absent: that is not checked. */
  readonly kubeletAuthorityFile?: string;
  /** Absent: the cluster's own. */
  readonly kubeletClient?: { readonly certificateFile: string; readonly keyFile: string };
  /** The longest that certificates of requests live. */
  readonly signingMs: number;
  readonly approvesKubeletServing: boolean;
}

/** The etcd cluster of one resource, where it has its own. */
export interface StorageOverride {
  readonly group: string;
  /** The plural. */
  readonly resource: string;
  readonly servers: readonly string[];
}

/** Where the scheduler's configuration is: in one of them at most. */
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
  /** In kubeconfig's format. */
  readonly configFile: string;
  readonly maxSize: number;
  readonly maxWaitMs: number;
  readonly bufferSize: number;
  readonly initialBackoffMs: number;
}

export interface AuditFileOptions {
  /** `-` is standard output. */
  readonly logPath: string;
  readonly maxAgeDays: number;
  readonly maxBackups: number;
  readonly maxSizeMib: number;
}
