import { createHmac, randomBytes } from 'node:crypto';
import { BoundedMap } from '../../../../base/bounded-map.ts';
import type { Clock } from '../../../../base/clock.ts';
import { KubeletError } from '../../../../base/errors.ts';

export interface ReviewCacheOptions<T> {
  readonly clock: Clock;
  /** Returns how long a result is cached, in milliseconds; with 0 only concurrent requests share it. */
  readonly holdsMs: (answer: T) => number;
  readonly entries: number;
  /**
   * The maximum number of different pending reviews. Unauthenticated clients can request any number, and other parts
   * need the same API.
   */
  readonly atOnce: number;
}

/**
 * Caches the API server's results, and merges concurrent requests for the same review. Failures are not cached. The
 * credential (a token) is not stored: the key is a digest that only this process can compute.
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

  /** Returns a result. Rejects with the error of `ask`, or with `Unavailable` if too many reviews are pending. */
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
