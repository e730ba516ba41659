import type { ApiClient } from '../../api/client/api-client.ts';
import type { ObserveClient } from '../../api/client/client-observations.ts';

/**
 * The API server of the node's cluster. All clients use the same API; they differ in priority under load: requests that
 * others wait for go first (upstream: cmd/kubelet/app/server.go has separate clients for heartbeats, events and the
 * rest).
 */
export interface ClusterApi {
  /** Node status and lease: never queued behind other requests, and timed out before the next one is due. */
  readonly heartbeat: ApiClient;
  /**
   * The client for pod statuses and deletions. They precede other requests that share the limits kubeAPIQPS and
   * kubeAPIBurst.
   */
  readonly status: ApiClient;
  /** The client for lists, watches, gets, tokens, certificate requests and mirror pods. */
  readonly objects: ApiClient;
  /** The client for events, which have separate limits (eventRecordQPS, eventBurst). */
  readonly events: ApiClient;
  /** Resolves when the node has client credentials; absent where it always has them. Never rejects. */
  whenJoined?(): Promise<void>;
  /** Since when it has not responded; undefined while it does. */
  outage?(): ApiOutage | undefined;
  /** Reports requests and responses, for metrics. Returns the function that ends it. */
  observe?(listener: ObserveClient): () => void;
  /** Closes all connections, so that the next request dials again (upstream: when heartbeats fail repeatedly). */
  reconnect?(): void;
  /** Sends no more requests and fails all pending ones at once: a shutdown does not wait for the API server. */
  close?(): void;
}

export interface ApiOutage {
  /** Wall time. */
  readonly sinceMs: number;
  readonly message: string;
}
