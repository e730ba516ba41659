import type { Clock } from '../../base/clock.ts';

/** After this time, an unseen change is not waited for any more (upstream: ExpectationsTimeout). */
const GIVEN_UP_AFTER_MS = 300_000;

interface Awaited {
  readonly uids: Map<string, 'created' | 'deleted'>;
  sinceMs: number;
}

/**
 * Changes by a controller that its informer has not shown yet (upstream: ControllerExpectations). Until all are seen, a
 * pass would count wrongly and repeat them. Tracked by uid instead of by count, so that changes by other clients are
 * not mistaken for its own.
 */
export class Expectations {
  readonly #clock: Clock;
  readonly #byKey = new Map<string, Awaited>();
  readonly #keys = new Map<string, string>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `key` created or began to delete the object with `uid`. */
  expect(key: string, change: 'created' | 'deleted', uid: string): void {
    const sinceMs = this.#clock.monotonicMs();
    let awaited = this.#byKey.get(key);
    if (awaited === undefined) this.#byKey.set(key, (awaited = { uids: new Map(), sinceMs }));
    awaited.uids.set(uid, change);
    awaited.sinceMs = sinceMs;
    this.#keys.set(uid, key);
  }

  /** The object was observed as existing, or as deleted or terminating, which satisfies every expectation. */
  observe(change: 'created' | 'deleted', uid: string): void {
    const key = this.#keys.get(uid);
    if (key === undefined) return;
    const awaited = this.#byKey.get(key);
    if (change === 'created' && awaited?.uids.get(uid) === 'deleted') return;
    this.#keys.delete(uid);
    awaited?.uids.delete(uid);
    if (awaited?.uids.size === 0) this.#byKey.delete(key);
  }

  /** 0 if everything was seen; otherwise the maximum remaining wait. */
  waitMs(key: string): number {
    const awaited = this.#byKey.get(key);
    if (awaited === undefined) return 0;
    const leftMs = awaited.sinceMs + GIVEN_UP_AFTER_MS - this.#clock.monotonicMs();
    if (leftMs <= 0) this.forget(key);
    return Math.max(0, leftMs);
  }

  forget(key: string): void {
    for (const uid of this.#byKey.get(key)?.uids.keys() ?? []) this.#keys.delete(uid);
    this.#byKey.delete(key);
  }
}
