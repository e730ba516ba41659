import type { Clock, Timer } from '../../../base/clock.ts';

const PULSE_MS = 50;
/** The normal precision of timers. A smaller lag is ignored. */
const NOISE_MS = 10;
const KEEP_MS = 300_000;

/**
 * Measures how late the agent's own event loop was during a measurement, with a timer that runs only then. If the agent
 * was late, a missed deadline says nothing about the probed container.
 */
export class LagWatch {
  readonly #clock: Clock;
  #underWay = 0;
  #dueMs = 0;
  #timer: Timer | undefined;
  #lags: { atMs: number; lagMs: number }[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Begins a measurement, which the caller must end. The caller passes the time, because reading it a thousand times a
   * second is costly.
   */
  begin(startMs = this.#clock.monotonicMs()): { end: (nowMs?: number) => number } {
    if (this.#underWay++ === 0) this.#arm(startMs);
    let ended = false;
    return {
      /** Returns the milliseconds since `begin` in which the event loop was blocked or the process was stopped. */
      end: (nowMs = this.#clock.monotonicMs()) => {
        const lagMs = this.#lagSince(startMs, nowMs);
        if (!ended && --this.#underWay === 0) this.#rest();
        ended = true;
        return lagMs;
      },
    };
  }

  #arm(nowMs: number): void {
    this.#dueMs = nowMs + PULSE_MS;
    this.#timer = this.#clock.setTimer(PULSE_MS, () => this.#pulse());
  }

  #pulse(): void {
    const atMs = this.#clock.monotonicMs();
    const lagMs = atMs - this.#dueMs;
    if (lagMs > NOISE_MS) this.#lags.push({ atMs, lagMs });
    while (this.#lags[0] !== undefined && this.#lags[0].atMs < atMs - KEEP_MS) this.#lags.shift();
    this.#arm(atMs);
  }

  #rest(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#lags = [];
  }

  #lagSince(startMs: number, nowMs: number): number {
    // A tick that is overdue now counts too, because the missed deadline may be handled before it.
    const running = nowMs - this.#dueMs;
    let sumMs = running > NOISE_MS ? Math.min(running, nowMs - startMs) : 0;
    // The newest are searched first, because a busy node has many old ones.
    for (let index = this.#lags.length - 1; index >= 0; index--) {
      const lag = this.#lags[index];
      if (lag === undefined || lag.atMs <= startMs) break;
      sumMs += Math.min(lag.lagMs, lag.atMs - startMs);
    }
    return sumMs;
  }
}
