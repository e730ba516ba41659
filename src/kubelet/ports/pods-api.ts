import type { Pod } from '../../api/core/pod.ts';

/** The kubelet's Pods API (v1alpha1). */

export type PodEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly pod: Pod }
  /** All pods that existed at the start of the watch have been sent. */
  | { readonly type: 'INITIAL_SYNC_COMPLETE' };

/** Answers the requests. The client receives the message of an error. */
export interface PodsApi {
  list(): readonly Pod[];
  /** Returns a pod. Throws `NotFound`. */
  get(uid: string): Pod;
  /** Watches pods. Ends when `signal` aborts, and throws `Unavailable` if the client reads too slowly. */
  watch(signal: AbortSignal): AsyncIterable<PodEvent>;
}

export interface PodsApiServer {
  /** Serves the API. Requests above its rate limit are refused. A stale socket must be removed before. */
  serve(socketPath: string, api: PodsApi): Promise<{ close(): void }>;
}
