import type { Exchange } from '../path/exchange.ts';
import type { Admitted, RequestLimiter } from '../path/request-path.ts';
import { isLongRunning, isReading } from '../path/request-info.ts';

export interface InFlightLimits {
  /** Requests that read; 0 is no limit. */
  readonly reading: number;
  readonly mutating: number;
}

const always: Admitted = { admitted: true, release: () => undefined };

/**
 * Two counters: so many reading requests at once, so many changing ones. Administrators and what lasts are not counted.
 */
export function maxInFlight({ reading, mutating }: InFlightLimits): RequestLimiter {
  const counts = { reading: 0, mutating: 0 };
  return {
    admit: ({ info, user }) => {
      if (isLongRunning(info) || isExempt(user.groups)) return always;
      const kind = isReading(info) ? 'reading' : 'mutating';
      const limit = kind === 'reading' ? reading : mutating;
      if (limit > 0 && counts[kind] >= limit) return { admitted: false, retryAfterSeconds: 1 };
      counts[kind]++;
      return { admitted: true, release: () => void counts[kind]-- };
    },
  };
}

const isExempt = (groups: readonly string[]): boolean => groups.includes('system:masters');

/** What a client may do in bursts and on the long run. */
export interface ClientRate {
  readonly qps: number;
  readonly burst: number;
}

interface Bucket {
  tokens: number;
  filledAtMs: number;
}

/** As many clients are remembered; the one seen longest ago makes room. */
const MOST_CLIENTS = 4096;

/** A token bucket for each user: a user over the limit gets a retry time, and others are not affected. */
export function clientRateLimit({ qps, burst }: ClientRate, monotonicMs: () => number): RequestLimiter {
  const buckets = new Map<string, Bucket>();
  const full = Math.max(burst, 1);
  return {
    admit: ({ user, info }: Exchange): Admitted => {
      if (isLongRunning(info) || isExempt(user.groups)) return always;
      const nowMs = monotonicMs();
      const bucket = buckets.get(user.name) ?? { tokens: full, filledAtMs: nowMs };
      buckets.delete(user.name);
      buckets.set(user.name, bucket);
      if (buckets.size > MOST_CLIENTS)
        for (const oldest of buckets.keys()) {
          buckets.delete(oldest);
          break;
        }
      bucket.tokens = Math.min(full, bucket.tokens + ((nowMs - bucket.filledAtMs) / 1000) * qps);
      bucket.filledAtMs = nowMs;
      if (bucket.tokens < 1)
        return { admitted: false, retryAfterSeconds: Math.max(1, Math.ceil((1 - bucket.tokens) / qps)) };
      bucket.tokens--;
      return always;
    },
  };
}
