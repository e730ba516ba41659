/** The maximum number of immediate attempts per address, and the time until one more is allowed. */
const AT_ONCE = 10;
const ONE_MORE_MS = 6000;
const MOST_ADDRESSES = 1024;

interface Bucket {
  readonly left: number;
  readonly atMs: number;
}

/** Limits how often each address may try to log in. */
export class LoginAttempts {
  readonly #nowMs: () => number;
  /** The addresses, ordered by their last attempt. */
  readonly #buckets = new Map<string, Bucket>();

  /** `nowMs` is monotonic. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Counts an attempt. Returns false if it must be refused. */
  take(address: string): boolean {
    const nowMs = this.#nowMs();
    const before = this.#buckets.get(address) ?? { left: AT_ONCE, atMs: nowMs };
    const left = Math.min(AT_ONCE, before.left + (nowMs - before.atMs) / ONE_MORE_MS);
    this.#buckets.delete(address);
    this.#buckets.set(address, { left: left < 1 ? left : left - 1, atMs: nowMs });
    for (const oldest of this.#buckets.keys()) {
      if (this.#buckets.size <= MOST_ADDRESSES) break;
      this.#buckets.delete(oldest);
    }
    return left >= 1;
  }
}
