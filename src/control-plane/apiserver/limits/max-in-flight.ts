import type { Exchange } from '../path/exchange.ts';
import type { Admitted, RequestLimiter } from '../path/request-path.ts';
import { isLongRunning, isReading } from '../path/request-info.ts';

export interface InFlightLimits {
  /** The limit of read requests; 0 means no limit. */
  readonly reading: number;
  readonly mutating: number;
}

const always: Admitted = { admitted: true, release: () => undefined };

/**
 * Limits concurrent read requests and concurrent write requests. Administrators and long-running requests do not count.
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

/** The rate and the burst of a client. */
export interface ClientRate {
  readonly qps: number;
  readonly burst: number;
}

interface Bucket {
  tokens: number;
  filledAtMs: number;
}

/** The maximum number of tracked clients. The least recently seen one is dropped. */
const MOST_CLIENTS = 4096;

/** Limits each user with a token bucket. A user over the limit gets a retry time, and others are not affected. */
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
