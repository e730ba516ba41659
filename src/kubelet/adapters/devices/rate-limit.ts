import type { Clock } from '../../../base/clock.ts';
import { KubeletError } from '../../../base/errors.ts';
import { grpcCode } from '../../../grpc/grpc-status.ts';

/**
 * The limit of each API for programs on the node (upstream: apis/podresources/constants.go and apis/pods/constants.go).
 */
export const limitedRate = { perSecond: 100, burst: 10 } as const;

/** Returns the error for a request above the rate (upstream: grpc/ratelimit.go ErrorLimitExceeded). */
export function exhausted(details: string): KubeletError {
  return new KubeletError('Unavailable', details, { cause: { code: grpcCode('ResourceExhausted'), details } });
}

/**
 * Returns a function that decides whether a request may pass now. The token bucket is full at the start and is refilled
 * evenly.
 */
export function createRateLimit(options: {
  perSecond: number;
  burst: number;
  clock: Pick<Clock, 'monotonicMs'>;
}): () => boolean {
  const { perSecond, burst, clock } = options;
  let tokens = burst;
  let atMs = clock.monotonicMs();
  return () => {
    const nowMs = clock.monotonicMs();
    tokens = Math.min(burst, tokens + ((nowMs - atMs) / 1000) * perSecond);
    atMs = nowMs;
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  };
}
