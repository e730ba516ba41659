import type { Clock, Timer } from '../../../base/clock.ts';
import { KubeletError } from '../../../base/errors.ts';

export interface PullQueueOptions {
  readonly clock: Clock;
  /** The field registryPullQPS; 0 for no limit. */
  readonly qps: number;
  /** The field registryBurst. */
  readonly burst: number;
  /** The maximum number of concurrent pulls; undefined for no limit, 1 for serial pulls. */
  readonly maxParallel: number | undefined;
}

interface Waiting {
  readonly registry: string;
  readonly order: number;
  readonly start: () => void;
}

/**
 * Selects the next pull to start: of the registries with waiting pulls the one with the fewest running pulls, and then
 * the first in the queue. So a slow or busy registry delays others at most until one pull ends.
 */
export function selectNextPull<T extends { registry: string; order: number }>(
  waiting: Iterable<T>,
  running: ReadonlyMap<string, number>,
): T | undefined {
  let best: T | undefined;
  for (const candidate of waiting) {
    if (best === undefined) {
      best = candidate;
      continue;
    }
    const difference = (running.get(candidate.registry) ?? 0) - (running.get(best.registry) ?? 0);
    if (difference < 0 || (difference === 0 && candidate.order < best.order)) best = candidate;
  }
  return best;
}

/**
 * Decides when a pull may start. Invariants:
 * 1. At most `maxParallel` pulls run at once.
 * 2. Starts follow a token bucket of `qps` and `burst`. Upstream fails a pull without a token; here it waits for the
 *    next one.
 * 3. An aborted wait takes no slot and no token.
 */
export class PullQueue {
  readonly #options: PullQueueOptions;
  readonly #waiting = new Set<Waiting>();
  readonly #running = new Map<string, number>();
  #runningCount = 0;
  #order = 0;
  #tokens: number;
  #filledAtMs: number;
  #timer: Timer | undefined;

  constructor(options: PullQueueOptions) {
    this.#options = options;
    this.#tokens = options.burst;
    this.#filledAtMs = options.clock.monotonicMs();
  }

  get waitingCount(): number {
    return this.#waiting.size;
  }

  get runningCount(): number {
    return this.#runningCount;
  }

  /** Resolves when the pull may start, with the function that releases its slot. Rejects with `Aborted`. */
  enter(registry: string, signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        this.#waiting.delete(entry);
        reject(new KubeletError('Aborted', 'the wait for a pull was aborted'));
      };
      const entry: Waiting = {
        registry,
        order: this.#order++,
        start: () => {
          signal.removeEventListener('abort', abort);
          resolve(this.#occupy(registry));
        },
      };
      if (signal.aborted) return abort();
      signal.addEventListener('abort', abort, { once: true });
      this.#waiting.add(entry);
      this.#startNext();
    });
  }

  #occupy(registry: string): () => void {
    this.#runningCount++;
    this.#running.set(registry, (this.#running.get(registry) ?? 0) + 1);
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#runningCount--;
      const others = (this.#running.get(registry) ?? 1) - 1;
      if (others > 0) this.#running.set(registry, others);
      else this.#running.delete(registry);
      this.#startNext();
    };
  }

  #startNext(): void {
    const cap = this.#options.maxParallel ?? Number.POSITIVE_INFINITY;
    while (this.#waiting.size > 0 && this.#runningCount < cap) {
      const waitMs = this.#takeToken();
      if (waitMs > 0) return this.#tryAgainIn(waitMs);
      const next = selectNextPull(this.#waiting, this.#running) as Waiting;
      this.#waiting.delete(next);
      next.start();
    }
  }

  /** Takes a token and returns 0, else returns the milliseconds until the next token. */
  #takeToken(): number {
    const { qps, burst, clock } = this.#options;
    if (qps <= 0) return 0;
    const nowMs = clock.monotonicMs();
    this.#tokens = Math.min(Math.max(burst, 1), this.#tokens + ((nowMs - this.#filledAtMs) * qps) / 1000);
    this.#filledAtMs = nowMs;
    // Nearly a whole token counts as one, because of rounding errors.
    if (this.#tokens < 1 - 1e-9) return ((1 - this.#tokens) * 1000) / qps;
    this.#tokens -= 1;
    return 0;
  }

  #tryAgainIn(delayMs: number): void {
    this.#timer ??= this.#options.clock.setTimer(delayMs, () => {
      this.#timer = undefined;
      this.#startNext();
    });
  }
}
