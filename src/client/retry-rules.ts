import type { ConnectionFailure } from './connection.ts';

/** What to do with a request after an attempt. */
export type AfterAttempt =
  | { readonly kind: 'done' }
  | { readonly kind: 'again'; readonly waitMs: number }
  | { readonly kind: 'sign-in' };

/** As client-go's. */
const MOST_RETRIES = 10;

export interface AttemptsSoFar {
  /** Requested by the server. */
  readonly retries: number;
  /** Whether the credentials were fetched again. */
  readonly signedInAgain: boolean;
}

/** Busy servers send Retry-After; a response without it is final (upstream: client-go rest with_retry). */
export function afterAnswer(
  status: number,
  retryAfterMs: number | undefined,
  { retries, signedInAgain }: AttemptsSoFar,
): AfterAttempt {
  if (status === 401 && !signedInAgain) return { kind: 'sign-in' };
  const isBusy = status === 429 || status >= 500;
  return isBusy && retryAfterMs !== undefined && retries < MOST_RETRIES
    ? { kind: 'again', waitMs: retryAfterMs }
    : { kind: 'done' };
}

/**
 * A request that did not reach the server may be sent again. One that may have reached it is sent again only if it
 * changes nothing and the connection was reused, because servers may close such connections at any time. It is retried
 * only once: a failure on a new connection is final.
 */
export function isSentAgain(method: string, failure: Pick<ConnectionFailure, 'unsent' | 'reused'>): boolean {
  return failure.reused && (failure.unsent || method === 'GET');
}

/**
 * Whether the response is no verdict about the request itself: the server has a problem, or does not know the client
 * (yet), for example while it loads permissions after a start.
 */
export const isRefusalOfAll = (status: number): boolean => status === 401 || status === 403 || status >= 500;

/** `Retry-After` in milliseconds; dates, which no API server sends, count as absent. */
export function parseRetryAfterMs(header: string | readonly string[] | undefined): number | undefined {
  const text = typeof header === 'string' ? header : header?.[0];
  return text !== undefined && /^\d{1,9}$/.test(text.trim()) ? Number(text) * 1000 : undefined;
}
