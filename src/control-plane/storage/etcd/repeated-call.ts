import type { Clock, Timer } from '../../../base/clock.ts';

/** The delay of a second check. A busy process has then read what had arrived. */
const SECOND_LOOK_MS = 20;
/**
 * The first pause before a failed attempt is repeated if no other one is in progress. It is doubled up to the longest
 * one.
 */
const FIRST_PAUSE_MS = 25;
const LONGEST_PAUSE_MS = 400;

export interface RepeatedCall<T> {
  readonly clock: Clock;
  /** The time after an attempt until the first check whether it is lost. It is doubled with each attempt. */
  readonly silenceMs: number;
  /** Whether no attempt in progress is likely to be answered, so that the next one starts in parallel. */
  readonly isLost: () => boolean;
  /** No attempt starts later than this after the first one. */
  readonly limitMs: number;
  /** Makes one attempt. `isNext` means that the attempts before it failed or seem lost. */
  readonly attempt: (isNext: boolean, signal: AbortSignal) => Promise<T>;
  /** Whether another attempt may succeed after this error. */
  readonly mayRepeat: (error: unknown) => boolean;
}

/**
 * Returns the first answer of several attempts. An attempt that seems lost is not abandoned, because it may still be
 * answered first. When one is answered, the others are cancelled. Rejects with the first error if none is answered, or
 * immediately with an error that no attempt can resolve. It is only for calls that may be executed more than once.
 */
export function callRepeatedly<T>(call: RepeatedCall<T>): Promise<T> {
  return new Promise((resolve, reject) => new Attempts(call, resolve, reject).start());
}

class Attempts<T> {
  readonly #call: RepeatedCall<T>;
  readonly #resolve: (answer: T) => void;
  readonly #reject: (error: unknown) => void;
  readonly #stop = new AbortController();
  readonly #beganMs: number;
  #timer: Timer | undefined;
  #silenceMs: number;
  #pauseMs = FIRST_PAUSE_MS;
  #started = 0;
  #underWay = 0;
  #failure: { readonly error: unknown } | undefined;

  constructor(call: RepeatedCall<T>, resolve: (answer: T) => void, reject: (error: unknown) => void) {
    this.#call = call;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#silenceMs = call.silenceMs;
    this.#beganMs = call.clock.monotonicMs();
  }

  start(): void {
    this.#started++;
    this.#underWay++;
    this.#call.attempt(this.#started > 1, this.#stop.signal).then(
      (answer) => this.#end(() => this.#resolve(answer)),
      (error: unknown) => this.#failed(error),
    );
    this.#look(this.#silenceMs, () => this.#look(SECOND_LOOK_MS, () => this.start()));
    this.#silenceMs *= 2;
  }

  /** Calls `ifLost` after the delay if all attempts seem lost then, else checks again. */
  #look(delayMs: number, ifLost: () => void): void {
    this.#later(delayMs, () => {
      if (this.#call.isLost()) ifLost();
      else this.#look(this.#call.silenceMs / 2, () => this.#look(SECOND_LOOK_MS, () => this.start()));
    });
  }

  #failed(error: unknown): void {
    if (this.#stop.signal.aborted) return;
    this.#underWay--;
    this.#failure ??= { error };
    if (!this.#call.mayRepeat(error)) return this.#end(() => this.#reject(error));
    if (this.#underWay > 0) return;
    this.#later(this.#pauseMs, () => this.start());
    this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
  }

  /** Runs work after a delay, unless that is too late. Then the attempts in progress decide. */
  #later(delayMs: number, work: () => void): void {
    this.#timer?.cancel();
    const { clock, limitMs } = this.#call;
    if (clock.monotonicMs() + delayMs - this.#beganMs <= limitMs) this.#timer = clock.setTimer(delayMs, work);
    else if (this.#underWay === 0) this.#end(() => this.#reject(this.#failure?.error));
  }

  #end(say: () => void): void {
    if (this.#stop.signal.aborted) return;
    this.#timer?.cancel();
    this.#stop.abort();
    say();
  }
}
