import { createHmac, randomBytes } from 'node:crypto';
import { BoundedMap } from '../../../../base/bounded-map.ts';
import type { Clock } from '../../../../base/clock.ts';
import { KubeletError } from '../../../../base/errors.ts';

export interface ReviewCacheOptions<T> {
  readonly clock: Clock;
  /** For how long an answer holds; 0: not beyond those who asked together. */
  readonly holdsMs: (answer: T) => number;
  readonly entries: number;
  /** How many different questions may be with the API server at a time: who knows nothing can ask as many as they like, and others wait for the same API. */
  readonly atOnce: number;
}

/**
 * Remembers what the API server answered, and asks once for many who ask the same together. Failures are not remembered. What was asked (a token) is not
 * kept: the key is a digest that only this process can make.
 */
export class ReviewCache<T> {
  readonly #options: ReviewCacheOptions<T>;
  readonly #secret = randomBytes(32);
  readonly #answers: BoundedMap<string, { readonly answer: T; readonly untilMs: number }>;
  readonly #asking = new Map<string, Promise<T>>();

  constructor(options: ReviewCacheOptions<T>) {
    this.#options = options;
    this.#answers = new BoundedMap(options.entries);
  }

  /** Rejects with what `ask` rejects with, or with `Unavailable` when too much is being asked. */
  async get(question: string, ask: () => Promise<T>): Promise<T> {
    const { clock, atOnce } = this.#options;
    const key = createHmac('sha256', this.#secret).update(question).digest('base64');
    const known = this.#answers.get(key);
    if (known !== undefined && clock.monotonicMs() < known.untilMs) return known.answer;
    this.#answers.delete(key);
    const running = this.#asking.get(key);
    if (running !== undefined) return running;
    if (this.#asking.size >= atOnce) throw new KubeletError('Unavailable', 'too many reviews are under way');
    const started = this.#ask(key, ask);
    this.#asking.set(key, started);
    return started;
  }

  async #ask(key: string, ask: () => Promise<T>): Promise<T> {
    const { clock, holdsMs } = this.#options;
    try {
      const answer = await ask();
      const holds = holdsMs(answer);
      if (holds > 0) this.#answers.set(key, { answer, untilMs: clock.monotonicMs() + holds });
      return answer;
    } finally {
      this.#asking.delete(key);
    }
  }
}
