import type { CachedObject } from './stored-form.ts';

/** One change of one object. `before` is absent for a new object, `deleted` is set for a deleted one. */
export interface CacheEvent {
  readonly key: string;
  readonly revision: number;
  readonly before: CachedObject | undefined;
  /** The object after the change. For a deletion, it is the last object with the version of its deletion. */
  readonly after: CachedObject;
  readonly deleted: boolean;
}

/**
 * The newest changes of a kind, so that an interrupted watch can resume. Bounded: older changes are dropped, and
 * `oldest` is the boundary.
 */
export class EventWindow {
  readonly #capacity: number;
  readonly #events: (CacheEvent | undefined)[] = [];
  #next = 0;
  /** All changes after this revision are in the window. */
  #oldest: number;

  constructor(capacity: number, startRevision: number) {
    this.#capacity = capacity;
    this.#oldest = startRevision;
  }

  get oldest(): number {
    return this.#oldest;
  }

  push(event: CacheEvent): void {
    const slot = this.#next % this.#capacity;
    const dropped = this.#events[slot];
    if (dropped !== undefined) this.#oldest = dropped.revision;
    this.#events[slot] = event;
    this.#next++;
  }

  /** Drops all changes. Watches from before `revision` cannot resume. */
  restart(revision: number): void {
    this.#events.length = 0;
    this.#next = 0;
    this.#oldest = revision;
  }

  /** Returns the changes after `revision` in order, or undefined if some of them were dropped. */
  after(revision: number): readonly CacheEvent[] | undefined {
    if (revision < this.#oldest) return undefined;
    const found: CacheEvent[] = [];
    for (let back = this.#next - 1; back >= 0 && back >= this.#next - this.#capacity; back--) {
      const event = this.#events[back % this.#capacity];
      if (event === undefined || event.revision <= revision) break;
      found.push(event);
    }
    return found.reverse();
  }
}
