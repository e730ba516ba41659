import type { Clock, Timer } from '../../../base/clock.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { PaceWindow, SlotBounds } from './compute-slot-limit.ts';
import { computeSlotLimit } from './compute-slot-limit.ts';

/** The position in the queue: critical pods first, then by priority, then by arrival. */
export interface PaceClaim {
  readonly critical: boolean;
  readonly priority: number;
  /**
   * The time after which the slot is released automatically. The work continues; work that hangs must not delay other
   * pods.
   */
  readonly leaseMs: number;
}

export interface PaceSlot {
  /** Releases the slot. Further calls do nothing. */
  release(): void;
  /**
   * Waits for `work` without holding the slot, then takes a slot again. If `work` is already done, the slot is kept.
   */
  yieldWhile<T>(work: Tracked<T>): Promise<T>;
  /** Ensures that a slot is held, for at most `leaseMs` from now. */
  renew(leaseMs: number): Promise<void>;
  /** Reports how long the typical work of a slot took. */
  observe(durationMs: number): void;
}

/** A promise whose state can be read. Its rejection counts as handled. */
export interface Tracked<T> {
  readonly promise: Promise<T>;
  settled: boolean;
}

export function track<T>(promise: Promise<T>): Tracked<T> {
  const tracked: Tracked<T> = { promise, settled: false };
  const settle = (): void => {
    tracked.settled = true;
  };
  promise.then(settle, settle);
  return tracked;
}

interface Waiter extends PaceClaim {
  readonly order: number;
  readonly grant: () => void;
}

export interface StartPacerOptions {
  readonly clock: Clock;
  readonly cores: number;
  readonly bounds?: SlotBounds;
}

/**
 * Limits the number of concurrent starts (or stops), so that the first pods are up early while the last are no later:
 * on two cores 30 starts at once take the same time in all as 4 to 8 concurrent ones, but their median is twice as
 * long.
 * 1. At most `limit` slots are held; one that becomes free goes to the first in order.
 * 2. A slot is never held while waiting for a pull, a volume, a hook or a grace period.
 * 3. The limit changes only on evidence: a full window of starts taken while others waited.
 */
export class StartPacer {
  readonly #clock: Clock;
  readonly #bounds: SlotBounds;
  readonly #waiting: Waiter[] = [];
  #limit: number;
  #held = 0;
  #order = 0;
  #samples: number[] = [];
  #previous: PaceWindow | undefined;

  constructor(options: StartPacerOptions) {
    this.#clock = options.clock;
    this.#bounds = options.bounds ?? { min: Math.max(2, options.cores), max: 8 * options.cores };
    this.#limit = Math.min(this.#bounds.max, Math.max(4, 2 * options.cores));
  }

  get limit(): number {
    return this.#limit;
  }

  get held(): number {
    return this.#held;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Takes a slot. Resolves when one is free; rejects with `Aborted`. */
  async acquire(claim: PaceClaim, signal: AbortSignal): Promise<PaceSlot> {
    await this.#take(claim, signal);
    return this.#slot(claim, signal);
  }

  #slot(claim: PaceClaim, signal: AbortSignal): PaceSlot {
    let holding = true;
    let over = false;
    let lease: Timer | undefined;
    const letGo = (): void => {
      lease?.cancel();
      if (!holding) return;
      holding = false;
      this.#held--;
      this.#grantNext();
    };
    const armLease = (leaseMs: number): void => {
      lease?.cancel();
      lease = this.#clock.setTimer(leaseMs, letGo);
    };
    const retake = async (leaseMs: number): Promise<void> => {
      if (!holding) await this.#take(claim, signal);
      holding = true;
      armLease(leaseMs);
      // The holder released it permanently in the meantime, so the slot that was just taken is returned.
      if (over) letGo();
    };
    armLease(claim.leaseMs);
    return {
      release: () => {
        over = true;
        letGo();
      },
      renew: (leaseMs) => (over ? Promise.resolve() : retake(leaseMs)),
      observe: (durationMs) => this.#observe(durationMs),
      yieldWhile: async (work) => {
        if (work.settled || over || !holding) return work.promise;
        letGo();
        const result = await work.promise;
        await retake(claim.leaseMs);
        return result;
      },
    };
  }

  #take(claim: PaceClaim, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(new KubeletError('Aborted', 'waiting for a slot was aborted'));
    if (this.#held < this.#limit && this.#waiting.length === 0) {
      this.#held++;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        ...claim,
        order: this.#order++,
        grant: () => {
          signal.removeEventListener('abort', abort);
          resolve();
        },
      };
      const abort = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        reject(new KubeletError('Aborted', 'waiting for a slot was aborted'));
      };
      signal.addEventListener('abort', abort, { once: true });
      const at = this.#waiting.findIndex((other) => goesBefore(waiter, other));
      this.#waiting.splice(at === -1 ? this.#waiting.length : at, 0, waiter);
    });
  }

  #grantNext(): void {
    while (this.#held < this.#limit) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#held++;
      next.grant();
    }
  }

  #observe(durationMs: number): void {
    // Only a full set of slots is evidence about the limit.
    if (this.#waiting.length === 0) return;
    this.#samples.push(durationMs);
    if (this.#samples.length < this.#limit) return;
    const sorted = this.#samples.sort((left, right) => left - right);
    const current: PaceWindow = { concurrency: this.#limit, medianMs: sorted[sorted.length >> 1] ?? 0 };
    this.#limit = computeSlotLimit(current, this.#previous, this.#bounds);
    this.#previous = current;
    this.#samples = [];
    this.#grantNext();
  }
}

function goesBefore(left: Waiter, right: Waiter): boolean {
  if (left.critical !== right.critical) return left.critical;
  if (left.priority !== right.priority) return left.priority > right.priority;
  return left.order < right.order;
}
