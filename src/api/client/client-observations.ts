/** Observations of a client for metrics (upstream: client-go tools/metrics, the `rest_client_*` families). */
export type ClientObservation =
  /** One attempt has ended; for a watch, has started. `code` is that of HTTP, or `<error>` without an answer. */
  | {
      readonly kind: 'attempt';
      readonly method: string;
      readonly host: string;
      readonly code: string;
      readonly durationMs: number;
      readonly requestBytes: number;
      readonly responseBytes: number;
      readonly isRetry: boolean;
      readonly isWatch: boolean;
    }
  /** A request passed the rate limiter. */
  | { readonly kind: 'admitted'; readonly method: string; readonly host: string; readonly waitedMs: number };

export type ObserveClient = (observation: ClientObservation) => void;

/** Why requests fail, and since when, in wall time. */
export interface ClientProblem {
  readonly sinceMs: number;
  readonly message: string;
}
