import type { Clock } from './clock.ts';

/**
 * Resolves in the next turn of the event loop, after the events that arrived meanwhile. For pauses in long
 * computations.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Work that ran for this long yields to other events before it continues. */
const LONG_MS = 10;

/** Divides one computation of many stages, most of them short, into turns of the event loop. */
export class Pace {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #sinceMs: number;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
    this.#sinceMs = clock.monotonicMs();
  }

  /** Awaited between stages. Undefined while no pause is due. */
  rest(): Promise<void> | undefined {
    if (this.#clock.monotonicMs() - this.#sinceMs < LONG_MS) return undefined;
    return nextTurn().then(() => {
      this.#sinceMs = this.#clock.monotonicMs();
    });
  }
}
