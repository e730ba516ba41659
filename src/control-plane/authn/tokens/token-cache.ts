import { createHmac, randomBytes } from 'node:crypto';
import type { Clock } from '../../../base/clock.ts';
import type { AuthenticationResult, TokenAuthenticator } from '../../model/user-info.ts';

/** How long a user is cached (upstream: TokenSuccessCacheTTL). A revoked token stays valid for at most this time. */
const SUCCESS_MS = 10_000;
const ENTRIES = 4096;

interface Entry {
  readonly result: AuthenticationResult;
  readonly untilMs: number;
}

/**
 * Caches the user of a token for ten seconds, and merges concurrent lookups of the same token. Failures are not cached.
 * Tokens are not stored: the key is a digest that only this process can compute.
 */
export function cachedTokenAuthenticator(inner: TokenAuthenticator, clock: Clock): TokenAuthenticator {
  const secret = randomBytes(32);
  const entries = new Map<string, Entry>();
  const asking = new Map<string, Promise<AuthenticationResult>>();
  const keep = (key: string, result: AuthenticationResult): void => {
    if (result.outcome !== 'user') return;
    if (entries.size >= ENTRIES) entries.delete(entries.keys().next().value ?? '');
    entries.set(key, { result, untilMs: clock.monotonicMs() + SUCCESS_MS });
  };
  return {
    name: inner.name,
    authenticateToken: (token, audiences) => {
      const key = createHmac('sha256', secret)
        .update(JSON.stringify([token, audiences ?? null]))
        .digest('base64');
      const entry = entries.get(key);
      if (entry !== undefined && clock.monotonicMs() < entry.untilMs) return Promise.resolve(entry.result);
      entries.delete(key);
      const running = asking.get(key);
      if (running !== undefined) return running;
      const started = inner
        .authenticateToken(token, audiences)
        .then((result) => {
          keep(key, result);
          return result;
        })
        .finally(() => asking.delete(key));
      asking.set(key, started);
      return started;
    },
  };
}
