import type { ApiClient } from '../../api/client/api-client.ts';
import type { ObserveClient } from '../../api/client/client-observations.ts';

/**
 * The API server of the node's cluster. All clients use the same API and differ in their priority under load (upstream:
 * cmd/kubelet/app/server.go has separate clients for heartbeats, events and other requests).
 */
export interface ClusterApi {
  /**
   * The client for node status and lease. Its requests never wait for others, and time out before the next one is due.
   */
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
  /** Resolves when the node has client credentials; absent if it always has them. Never rejects. */
  whenJoined?(): Promise<void>;
  /** Returns since when the server does not respond; undefined while it does. */
  outage?(): ApiOutage | undefined;
  /** Reports requests and responses, for metrics. Returns a function that ends it. */
  observe?(listener: ObserveClient): () => void;
  /**
   * Closes all connections, so that the next request opens a new one (upstream does so when heartbeats fail
   * repeatedly).
   */
  reconnect?(): void;
  /**
   * Sends no more requests, and fails all pending ones immediately, because a shutdown does not wait for the API
   * server.
   */
  close?(): void;
}

export interface ApiOutage {
  /** A wall-clock time. */
  readonly sinceMs: number;
  readonly message: string;
}
