import type { Pod } from '../../api/core/pod.ts';

/** The Pods API of the kubelet (v1alpha1), in this project's spelling. */

export type PodEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly pod: Pod }
  /** Every pod that there was at the start of the watch has been sent. */
  | { readonly type: 'INITIAL_SYNC_COMPLETE' };

/** Answers the requests. Errors go to the caller with their message. */
export interface PodsApi {
  list(): readonly Pod[];
  /** Throws `NotFound`. */
  get(uid: string): Pod;
  /** Ends when `signal` aborts; throws `Unavailable` when the caller reads too slowly. */
  watch(signal: AbortSignal): AsyncIterable<PodEvent>;
}

export interface PodsApiServer {
  /** Serves the API; requests above its rate limit are refused. A stale socket must be removed before. */
  serve(socketPath: string, api: PodsApi): Promise<{ close(): void }>;
}
