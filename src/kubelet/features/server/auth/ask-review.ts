import { backoffDelayMs } from '../../../../base/backoff.ts';
import type { BackoffCurve } from '../../../../base/backoff.ts';
import { sleep, withDeadline } from '../../../../base/clock.ts';
import type { Clock } from '../../../../base/clock.ts';
import { jitter } from '../../../../base/random.ts';
import type { Random } from '../../../../base/random.ts';
import { isApiError } from '../../../../api/status/api-status-error.ts';

/**
 * The retries are upstream's (DefaultAuthWebhookRetryBackoff), but with a total limit, because a client waits for the
 * response and retries itself.
 */
const ATTEMPTS = 5;
const pauses: BackoffCurve = { initialMs: 500, factor: 1.5, maxMs: Infinity };
const JITTER = 0.2;
const LIMIT_MS = 10_000;

export interface Asking {
  readonly clock: Clock;
  readonly random: Random;
}

/** Whether a retry may have another result. */
export function askReview<T>(what: string, { clock, random }: Asking, ask: () => Promise<T>): Promise<T> {
  return withDeadline({ clock, limitMs: LIMIT_MS, op: what }, async (signal) => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await ask();
      } catch (error) {
        if (
          attempt === ATTEMPTS ||
          signal.aborted ||
          !isApiError(error, 'ServiceUnavailable', 'InternalError', 'TooManyRequests', 'Timeout', 'ServerTimeout')
        )
          throw error;
      }
      await sleep(clock, jitter(random, backoffDelayMs(pauses, attempt), JITTER), signal);
    }
  });
}
