import type { Clock, Timer } from './clock.ts';
import { errorMessage } from './errors.ts';
import type { Logger } from './log.ts';
import type { Random } from './random.ts';
import { jitter } from './random.ts';

export interface LoopOptions {
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** The pause between the end of one pass and the start of the next. A function can change the interval. */
  readonly periodMs: number | (() => number);
  /** The random extension of the pause, as a share of it. */
  readonly jitterFactor?: number;
  /** One idempotent pass. An error is logged, and the loop continues. */
  readonly pass: () => Promise<void> | void;
}

/** A periodic task that can also be started by `wake`. Creating a loop starts nothing. */
export interface Loop {
  start(): void;
  /** Runs a pass as soon as possible. Wakes during a pass cause exactly one more pass. */
  wake(): void;
  /** Stops permanently and resolves when no pass is running. */
  stop(): Promise<void>;
  /** The monotonic time at which the last successful pass ended; undefined before the first. For health checks. */
  lastSuccessMs(): number | undefined;
}

/** The pause of a loop whose period function failed: an error must not end a loop. */
const PERIOD_UNKNOWN_MS = 10_000;

type LoopState = 'idle' | 'waiting' | 'running' | 'stopped';

export function createLoop(options: LoopOptions): Loop {
  const { clock, random, log, name } = options;
  let state: LoopState = 'idle';
  let wakeAgain = false;
  let timer: Timer | undefined;
  let lastSuccess: number | undefined;
  let running: Promise<void> = Promise.resolve();

  const failed = (error: unknown): void => log.error('loop pass failed', { loop: name, error: errorMessage(error) });
  const nextDelayMs = (): number => {
    let baseMs = PERIOD_UNKNOWN_MS;
    try {
      baseMs = typeof options.periodMs === 'function' ? options.periodMs() : options.periodMs;
    } catch (error) {
      failed(error);
    }
    return options.jitterFactor === undefined ? baseMs : jitter(random, baseMs, options.jitterFactor);
  };
  const wait = (): void => {
    state = 'waiting';
    timer = clock.setTimer(nextDelayMs(), begin);
  };
  const runPass = async (): Promise<void> => {
    try {
      await options.pass();
      lastSuccess = clock.monotonicMs();
    } catch (error) {
      failed(error);
    }
    if (state === 'stopped') return;
    if (wakeAgain) begin();
    else wait();
  };
  function begin(): void {
    timer?.cancel();
    wakeAgain = false;
    state = 'running';
    running = runPass();
  }

  return {
    start: () => {
      if (state === 'idle') begin();
    },
    wake: () => {
      if (state === 'waiting') begin();
      else if (state === 'running') wakeAgain = true;
    },
    stop: async () => {
      state = 'stopped';
      timer?.cancel();
      await running;
    },
    lastSuccessMs: () => lastSuccess,
  };
}
