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
  /** The authenticators in the order in which they are called. */
  readonly authenticators: readonly Authenticator[];
  readonly authorizer: Authorizer;
  /** The admission plugins for CONNECT: exec, attach, portforward, proxy. The registry admits all other verbs. */
  readonly connectAdmission?: readonly AdmissionPlugin[];
  /**
   * Whether requests without credentials belong to `system:anonymous`. The default is true, as for `--anonymous-auth`.
   */
  readonly anonymousAuth?: AnonymousRule;
  readonly version: VersionInfo;
  /** The `host:port` at which clients reach the server, for `/api`. */
  readonly publicAddress?: string;
  /**
   * The documents that are served unchanged by path: `/openapi/v2`, `/openapi/v3...`, `/openid/v1/jwks`,
   * `/.well-known/openid-configuration`. The source returns undefined for an unknown path.
   */
  readonly documents?: DocumentSource;
  /** Returns the paths that `documents` knows, for the list at `/`. */
  readonly documentPaths?: () => readonly string[];
  /**
   * The health checks, named as in upstream (`etcd`, `poststarthook/...`). `ping` and `log` are added automatically.
   */
  readonly healthChecks?: readonly HealthCheck[];
  /**
   * Returns the number of objects of each resource, for `apiserver_storage_objects`. Keys are `pods`,
   * `deployments.apps`.
   */
  readonly countObjects?: () => ReadonlyMap<string, number>;
  /** The source of `/snapshot`. Without it, the path is not served. */
  readonly snapshot?: SnapshotSource;
  readonly processUsage?: () => ProcessUsage;
  /** The metrics of authentication and authorization, which are composed before the server. */
  readonly accessMetrics?: AccessMetrics;
  /** The counts of unhandled errors of the process. */
  readonly faults?: FaultCounts;
  readonly audit?: AuditOptions;
  /** Traces requests. Without it, nothing is traced. */
  readonly tracer?: Tracer;
  readonly kubelets?: KubeletClientOptions;
  /** The parts of the aggregation layer. Without them, requests to other servers are not proxied. */
  readonly aggregation?: Omit<AggregationParts, 'clock'>;
  readonly limits?: Partial<ServerLimits>;
  /** The source of FlowSchemas and PriorityLevelConfigurations. Without it, upstream's standard objects apply. */
  readonly flowObjects?: ObjectReader;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Reads a page of the store, for `/snapshot`. Rejects with `Conflict` if the revision is compacted. */
export type SnapshotSource = (position: { readonly revision?: number; readonly after?: string }) => Promise<object>;

/** The content of `/version`. */
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
  /** The ETag with its quotes. */
  readonly etag?: string;
  readonly cacheControl?: string;
}

export type DocumentSource = (request: DocumentRequest) => Promise<ServedDocument | undefined>;

export interface HealthCheck {
  readonly name: string;
  /** The endpoints that run the check. The default is all three. */
  readonly endpoints?: readonly ('healthz' | 'livez' | 'readyz')[];
  /** Runs the check. Rejects with the problem. */
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
  /**
   * Whether priority and fairness is on. If false, only the two limits above apply, as with
   * `--enable-priority-and-fairness=false`.
   */
  readonly priorityAndFairness: boolean;
  /** The requests per second of one user; more get 429. 0 means no limit. */
  readonly clientQps: number;
  readonly clientBurst: number;
  readonly maxBodyBytes: number;
  readonly requestTimeoutMs: number;
  /** The minimum duration of a watch. A watch lasts a random time between this value and twice this value. */
  readonly minRequestTimeoutMs: number;
  /** The limit of buffered bytes for one slow watcher. */
  readonly watchBufferBytes: number;
  /** The size from which responses are compressed for clients that accept it. */
  readonly gzipFromBytes: number;
  readonly maxConnections: number;
  /** The limits of unread response bytes, per connection and in total. */
  readonly unreadBytesPerConnection: number;
  readonly unreadBytes: number;
  /** The time that a response may stay unread, and the minimum speed of its reader. */
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

/** The settings for connections to kubelets, pods and services. Without them, logs, streams and proxies return 503. */
export interface KubeletClientOptions {
  readonly dialer: Dialer;
  /** The preferred address types, as in `--kubelet-preferred-address-types`. */
  readonly preferredAddressTypes?: readonly string[];
}

export interface DialTarget {
  readonly host: string;
  readonly port: number;
  /**
   * The security of the connection. `kubelet` uses the client certificate for kubelets (`kubelet-unchecked` does not
   * verify theirs), `tls-insecure` is for `https:` proxies to pods and services, whose certificates are unknown, and
   * `none` is plain TCP.
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
   * Connects to a target. Resolves to a ready connection, or rejects, within `timeoutMs`. A name is looked up once, and
   * the checked address is dialed. Rejects with BadRequest for a local address.
   */
  dial(target: DialTarget, timeoutMs: number): Promise<Duplex>;
}
