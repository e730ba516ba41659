import { KubeletError } from './errors.ts';

/** A pending call. Cancelling a call that was made or cancelled already does nothing. */
export interface Timer {
  cancel(): void;
}

/**
 * The only source of time. It has two clocks. `monotonicMs` never jumps and is for durations. `nowMs` is wall time,
 * which may jump (no RTC at boot, NTP steps); it is only for output to people and for values that outlive a restart.
 */
export interface Clock {
  /** Wall time, milliseconds since the Unix epoch. */
  nowMs(): number;
  /** Monotonic milliseconds from an arbitrary origin, with fractions. */
  monotonicMs(): number;
  /** Calls `fire` once, `delayMs` from now (at least the next turn of the event loop). */
  setTimer(delayMs: number, fire: () => void): Timer;
}

/** setTimeout calls back immediately for delays longer than this; longer waits use several timers. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimer(delayMs, fire) {
    let handle: NodeJS.Timeout;
    const arm = (leftMs: number): void => {
      const stepMs = Math.min(Math.max(leftMs, 0), LONGEST_TIMEOUT_MS);
      handle = setTimeout(() => {
        if (leftMs > stepMs) arm(leftMs - stepMs);
        else fire();
      }, stepMs);
    };
    arm(delayMs);
    return { cancel: () => clearTimeout(handle) };
  },
};

/** Resolves after `delayMs`; rejects with kind `Aborted` as soon as `signal` aborts. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      timer.cancel();
      reject(new KubeletError('Aborted', 'the wait was aborted'));
    };
    const timer = clock.setTimer(delayMs, () => {
      signal?.removeEventListener('abort', abort);
      resolve();
    });
    if (signal?.aborted === true) abort();
    else signal?.addEventListener('abort', abort, { once: true });
  });
}

export interface Deadline {
  readonly clock: Clock;
  readonly limitMs: number;
  /** The operation, for the error message. */
  readonly op: string;
  /** Aborts the work early. */
  readonly signal?: AbortSignal;
}

/** Rejects with kind `Timeout` when `work` takes longer than `limitMs`, and aborts the signal that `work` gets. */
export async function withDeadline<T>(deadline: Deadline, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { clock, limitMs, op, signal } = deadline;
  const controller = new AbortController();
  const forward = (): void => controller.abort();
  if (signal?.aborted === true) controller.abort();
  signal?.addEventListener('abort', forward, { once: true });
  let timer: Timer | undefined;
  const expired = new Promise<never>((_, reject) => {
    timer = clock.setTimer(limitMs, () => {
      reject(new KubeletError('Timeout', `${op} took longer than ${limitMs} ms`, { op }));
      controller.abort();
    });
  });
  try {
    return await Promise.race([work(controller.signal), expired]);
  } finally {
    timer?.cancel();
    signal?.removeEventListener('abort', forward);
  }
}
