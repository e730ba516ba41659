import type { ApiClient } from '../../api/client/api-client.ts';
import type { ObserveClient } from '../../api/client/client-observations.ts';

/**
 * The API server of the node's cluster, whichever it is. Each lane is the same API; they differ in who waits when much is asked at once: what others
 * wait for goes first (upstream: cmd/kubelet/app/server.go has a client each for heartbeats, events and the rest).
 */
export interface ClusterApi {
  /** Node status and lease: never waits behind anything, and gives up in time for the next one. */
  readonly heartbeat: ApiClient;
  /** Statuses and deletions of pods: before all else that shares the budget (kubeAPIQPS, kubeAPIBurst). */
  readonly status: ApiClient;
  /** Lists, watches, gets, tokens, certificate requests, mirror pods. */
  readonly objects: ApiClient;
  /** Events have a budget of their own (eventRecordQPS, eventBurst). */
  readonly events: ApiClient;
  /** Resolves when the node has what it signs in with; absent where it always has. Never rejects. */
  whenJoined?(): Promise<void>;
  /** Since when it has not answered; undefined while it does. */
  outage?(): ApiOutage | undefined;
  /** What is asked and answered, for metrics. Returns what ends it. */
  observe?(listener: ObserveClient): () => void;
  /** Gives up all connections, so that the next request dials anew (upstream: when heartbeats fail again and again). */
  reconnect?(): void;
  /** Nothing more is asked, and whatever is under way fails at once: who leaves waits for no API server. */
  close?(): void;
}

export interface ApiOutage {
  /** Wall time. */
  readonly sinceMs: number;
  readonly message: string;
}
