import type { Clock } from '../../../base/clock.ts';
import { KubeletError } from '../../../base/errors.ts';

/**
 * Waits for `work`. Returns whether it finished within the time; the work itself continues. Rejects as the work does,
 * or with `Aborted`.
 */
export function waitWithin(
  clock: Clock,
  limitMs: number,
  work: Promise<unknown>,
  signal: AbortSignal,
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const abort = (): void => finish(() => reject(new KubeletError('Aborted', 'the wait was aborted')));
    const timer = clock.setTimer(limitMs, () => finish(() => resolve(false)));
    const finish = (settle: () => void): void => {
      timer.cancel();
      signal.removeEventListener('abort', abort);
      settle();
    };
    if (signal.aborted) {
      abort();
      return;
    }
    signal.addEventListener('abort', abort, { once: true });
    work.then(
      () => finish(() => resolve(true)),
      (error: unknown) => finish(() => reject(error as Error)),
    );
  });
}
