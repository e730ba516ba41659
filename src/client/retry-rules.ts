import type { ConnectionFailure } from './connection.ts';

/** What becomes of a request after an attempt. */
export type AfterAttempt =
  | { readonly kind: 'done' }
  | { readonly kind: 'again'; readonly waitMs: number }
  | { readonly kind: 'sign-in' };

/** As client-go's. */
const MOST_RETRIES = 10;

export interface AttemptsSoFar {
  /** That the server asked for. */
  readonly retries: number;
  /** Whether the credentials were fetched again. */
  readonly signedInAgain: boolean;
}

/**
 * Servers that are busy say when to come again; without that word an answer is an answer (upstream: client-go rest
 * with_retry).
 */
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
 * A request that did not reach the server may be sent again; one that may have, only if it changes nothing and the
 * connection was an old one, which servers may close at any time. Once: what fails on a new connection, too, has
 * failed.
 */
export function isSentAgain(method: string, failure: Pick<ConnectionFailure, 'unsent' | 'reused'>): boolean {
  return failure.reused && (failure.unsent || method === 'GET');
}

/**
 * Says nothing of what was asked: a server in trouble, or one that does not know the client any more, or not yet
 * (permissions are loaded again when it starts).
 */
export const isRefusalOfAll = (status: number): boolean => status === 401 || status === 403 || status >= 500;

/** `Retry-After` in milliseconds; dates, which no API server sends, count as absent. */
export function parseRetryAfterMs(header: string | readonly string[] | undefined): number | undefined {
  const text = typeof header === 'string' ? header : header?.[0];
  return text !== undefined && /^\d{1,9}$/.test(text.trim()) ? Number(text) * 1000 : undefined;
}
