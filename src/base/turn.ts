import type { Clock } from './clock.ts';

/**
 * Resolves in the next turn of the event loop: whatever came in meanwhile is seen to first. For long computations, in
 * between.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Work that has taken so long lets others have their turn before it goes on. */
const LONG_MS = 10;

/** One piece of work in several stages, of which most are short and need no turn of their own. */
export class Pace {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #sinceMs: number;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
    this.#sinceMs = clock.monotonicMs();
  }

  /** To be awaited between stages. Undefined while there is no need to wait. */
  rest(): Promise<void> | undefined {
    if (this.#clock.monotonicMs() - this.#sinceMs < LONG_MS) return undefined;
    return nextTurn().then(() => {
      this.#sinceMs = this.#clock.monotonicMs();
    });
  }
}
