import type { Duplex } from 'node:stream';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { FaultCounts } from '../../base/process-faults.ts';
import type { Random } from '../../base/random.ts';
import type { Tracer } from '../../base/tracer.ts';
import type { AggregationParts } from './aggregation/aggregation-parts.ts';
import type { AdmissionPlugin } from '../model/admission.ts';
import type { ObjectReader } from '../model/object-reader.ts';
import type { Definitions } from '../model/definitions.ts';
import type { Authenticator, Authorizer } from '../model/user-info.ts';
import type { Registry } from '../registry/registry.ts';
import type { AnonymousRule } from './path/authenticate.ts';
import type { AccessMetrics } from './endpoints/access-metrics.ts';

/** All dependencies of the HTTP front end. */
export interface ApiServerOptions {
  readonly registry: Registry;
  readonly definitions: Definitions;
  /** Asked in this order. */
  readonly authenticators: readonly Authenticator[];
  readonly authorizer: Authorizer;
  /** Only for CONNECT: exec, attach, portforward, proxy. All other verbs are admitted by the registry. */
  readonly connectAdmission?: readonly AdmissionPlugin[];
  /** Requests without credentials are those of `system:anonymous`. Default true, as `--anonymous-auth`. */
  readonly anonymousAuth?: AnonymousRule;
  readonly version: VersionInfo;
  /** `host:port` under which clients reach the server, for `/api`. */
  readonly publicAddress?: string;
  /**
   * Documents that are served unchanged by path: `/openapi/v2`, `/openapi/v3...`, `/openid/v1/jwks`,
   * `/.well-known/openid-configuration`. Undefined for an unknown path.
   */
  readonly documents?: DocumentSource;
  /** Paths that `documents` knows, for the list at `/`. */
  readonly documentPaths?: () => readonly string[];
  /** Named as in upstream (`etcd`, `poststarthook/...`); `ping` and `log` are added automatically. */
  readonly healthChecks?: readonly HealthCheck[];
  /** The number of objects of each resource, for `apiserver_storage_objects`; keyed `pods`, `deployments.apps`. */
  readonly countObjects?: () => ReadonlyMap<string, number>;
  /** Absent: `/snapshot` is not served. */
  readonly snapshot?: SnapshotSource;
  readonly processUsage?: () => ProcessUsage;
  /** Figures of authentication and authorization, which are composed before the server. */
  readonly accessMetrics?: AccessMetrics;
  /** Errors of the process that nothing handled. */
  readonly faults?: FaultCounts;
  readonly audit?: AuditOptions;
  /** Absent: nothing is traced. */
  readonly tracer?: Tracer;
  readonly kubelets?: KubeletClientOptions;
  /** Absent: requests to other servers are not proxied. */
  readonly aggregation?: Omit<AggregationParts, 'clock'>;
  readonly limits?: Partial<ServerLimits>;
  /** The source of FlowSchemas and PriorityLevelConfigurations. Absent: upstream's standard objects apply. */
  readonly flowObjects?: ObjectReader;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Pages of the store, for `/snapshot`. Rejects with `Conflict` when the revision is compacted. */
export type SnapshotSource = (position: { readonly revision?: number; readonly after?: string }) => Promise<object>;

/** `/version`. */
export interface VersionInfo {
  readonly major: string;
  readonly minor: string;
  readonly gitVersion: string;
  readonly gitCommit: string;
  readonly gitTreeState: string;
  readonly buildDate: string;
  readonly platform: string;
}

export interface DocumentRequest {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly accept: string | undefined;
}

export interface ServedDocument {
  readonly contentType: string;
  readonly body: string | Uint8Array;
  /** With its quotes. */
  readonly etag?: string;
  readonly cacheControl?: string;
}

export type DocumentSource = (request: DocumentRequest) => Promise<ServedDocument | undefined>;

export interface HealthCheck {
  readonly name: string;
  /** Which of the three endpoints run the check. Absent: all. */
  readonly endpoints?: readonly ('healthz' | 'livez' | 'readyz')[];
  /** Rejects with the problem. */
  readonly check: () => Promise<void>;
}

export interface ProcessUsage {
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  readonly virtualBytes?: number;
  readonly openFiles?: number;
  readonly maxFiles?: number;
  readonly startTimeSeconds: number;
}

export interface ServerLimits {
  readonly maxRequestsInflight: number;
  readonly maxMutatingRequestsInflight: number;
  /** If false, only the two limits above apply, as with `--enable-priority-and-fairness=false`. */
  readonly priorityAndFairness: boolean;
  /** Requests per second of one user; more get 429. 0 means no limit. */
  readonly clientQps: number;
  readonly clientBurst: number;
  readonly maxBodyBytes: number;
  readonly requestTimeoutMs: number;
  /** A watch lasts a random time between this value and twice this value. */
  readonly minRequestTimeoutMs: number;
  /** Limit of buffered bytes for one slow watcher. */
  readonly watchBufferBytes: number;
  /** Longer responses are compressed for clients that accept it. */
  readonly gzipFromBytes: number;
  readonly maxConnections: number;
  /** Limits of unread response bytes, per connection and in total. */
  readonly unreadBytesPerConnection: number;
  readonly unreadBytes: number;
  /** How long a response may stay unread, and the minimum speed of its reader. */
  readonly unreadMs: number;
  readonly unreadBytesPerSecond: number;
}

export const defaultLimits: ServerLimits = {
  maxRequestsInflight: 400,
  maxMutatingRequestsInflight: 200,
  priorityAndFairness: true,
  clientQps: 0,
  clientBurst: 0,
  maxBodyBytes: 3 * 1024 * 1024,
  requestTimeoutMs: 60_000,
  minRequestTimeoutMs: 1_800_000,
  watchBufferBytes: 4 * 1024 * 1024,
  gzipFromBytes: 128 * 1024,
  maxConnections: 10_000,
  unreadBytesPerConnection: 128 * 1024 * 1024,
  unreadBytes: 256 * 1024 * 1024,
  unreadMs: 30_000,
  unreadBytesPerSecond: 16 * 1024,
};

export interface AuditOptions {
  /** The parsed policy file, audit.k8s.io/v1 Policy. */
  readonly policy: unknown;
  /** Receives one JSON line without a line break. */
  readonly sink: (line: string) => void;
}

/** How the server connects to kubelets, pods and services. Absent: logs, streams and proxies return 503. */
export interface KubeletClientOptions {
  readonly dialer: Dialer;
  /** As `--kubelet-preferred-address-types`. */
  readonly preferredAddressTypes?: readonly string[];
}

export interface DialTarget {
  readonly host: string;
  readonly port: number;
  /**
   * TLS with the client certificate for kubelets (`unchecked`: their certificate is not verified); `tls-insecure` for
   * `https:` proxies to pods and services, whose certificates are unknown; plain TCP.
   */
  readonly security: 'kubelet' | 'kubelet-unchecked' | 'tls-insecure' | 'none';
  /**
   * Whether loopback and link-local addresses may be dialed: only for the server's own requests to kubelets, not for
   * requests of users.
   */
  readonly mayBeLocal?: true;
}

export interface Dialer {
  /**
   * Resolves to a ready connection, or rejects, within `timeoutMs`. A name is looked up once, and the checked address
   * is dialed. Rejects with BadRequest for a local address.
   */
  dial(target: DialTarget, timeoutMs: number): Promise<Duplex>;
}
