import type { Clock } from '../../../base/clock.ts';

/** Whether a request may pass now: a full bucket at the start, refilled evenly. */
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
