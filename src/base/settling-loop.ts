import type { Timer } from './clock.ts';
import { errorMessage } from './errors.ts';
import type { LoopOptions } from './loop.ts';
import { createLoop } from './loop.ts';

export interface SettlingLoopOptions extends Pick<LoopOptions, 'name' | 'clock' | 'random' | 'log'> {
  /**
   * Makes the actual state equal to the desired one. It returns false if its inputs are not known yet. An error is
   * logged and retried.
   */
  readonly settle: () => Promise<boolean>;
  /** The time between two passes. */
  readonly checkMs: number;
  /** The time after a failed pass. */
  readonly retryMs: number;
  /** The log message of a failed pass. */
  readonly failure: string;
  /** The time that a wake waits for others, so that one pass handles them all. By default it does not wait. */
  readonly gatherMs?: () => number;
}

/** A settling loop. Creating one starts nothing. */
export interface SettlingLoop {
  start(): void;
  wake(): void;
  /** Resolves when a pass has settled for the first time. */
  whenSettled(): Promise<void>;
  /** Whether a pass has settled, and none failed since. */
  isSettled(): boolean;
  hasFailed(): boolean;
  /** Stops permanently and resolves when no pass is running. */
  stop(): Promise<void>;
}

/** A loop that keeps an actual state equal to the desired one: it checks periodically, and retries failures sooner. */
export function createSettlingLoop(options: SettlingLoopOptions): SettlingLoop {
  const { clock, log, checkMs, retryMs, gatherMs } = options;
  const first = Promise.withResolvers<undefined>();
  let state: 'unsettled' | 'settled' | 'failed' = 'unsettled';
  let timer: Timer | undefined;
  const loop = createLoop({
    ...options,
    periodMs: () => (state === 'failed' ? retryMs : checkMs),
    pass: async () => {
      try {
        if (!(await options.settle())) return;
        state = 'settled';
        first.resolve(undefined);
      } catch (error) {
        state = 'failed';
        log.error(options.failure, { error: errorMessage(error), retryMs });
      }
    },
  });
  return {
    start: () => loop.start(),
    wake: () => {
      if (gatherMs === undefined) return loop.wake();
      timer ??= clock.setTimer(gatherMs(), () => {
        timer = undefined;
        loop.wake();
      });
    },
    whenSettled: () => first.promise,
    isSettled: () => state === 'settled',
    hasFailed: () => state === 'failed',
    stop: async () => {
      timer?.cancel();
      await loop.stop();
    },
  };
}
