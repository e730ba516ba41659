import type { Clock, Timer } from '../../../base/clock.ts';

/** After this a second look is taken: a busy process has read what has arrived by then. */
const SECOND_LOOK_MS = 20;
/** The pause before a failed attempt is repeated while no other one is under way; doubles up to the longest. */
const FIRST_PAUSE_MS = 25;
const LONGEST_PAUSE_MS = 400;

export interface RepeatedCall<T> {
  readonly clock: Clock;
  /** How long after an attempt the first look is taken at whether it is lost; doubles with each attempt. */
  readonly silenceMs: number;
  /** Whether no attempt that is under way can be expected to be answered: the next one starts beside them. */
  readonly isLost: () => boolean;
  /** No attempt starts later than this after the first. */
  readonly limitMs: number;
  /** One attempt; `isNext` tells that the attempts before it failed or seem lost. */
  readonly attempt: (isNext: boolean, signal: AbortSignal) => Promise<T>;
  /** Whether another attempt may succeed after this error. */
  readonly mayRepeat: (error: unknown) => boolean;
}

/**
 * The first answer of several attempts. An attempt that seems lost is not abandoned: it may be the one that is answered
 * first. When one is answered, the others are cancelled. Rejects with the first error if none is answered, or at once
 * with an error that no attempt can mend. Only for calls that may be carried out more than once.
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

  /** Calls `ifLost` after the delay if all attempts seem lost then, else looks again. */
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

  /** Unless it would be too late; then what is under way decides. */
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
