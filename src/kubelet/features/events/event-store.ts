import type { Event } from '../../../api/core/event.ts';
import { BoundedMap } from '../../../base/bounded-map.ts';

/** How long events are kept, as in an API server. */
const KEPT_MS = 3_600_000;
const LIMIT = 2_000;

/** Keeps the events of the last hour for queries, in memory only, because nothing depends on them. */
export class EventStore {
  readonly #events = new BoundedMap<string, { event: Event; atMs: number }>(LIMIT);

  put(key: string, event: Event, nowMs: number): void {
    this.#events.set(key, { event, atMs: nowMs });
    for (const [oldest, { atMs }] of this.#events.entries()) {
      if (nowMs - atMs <= KEPT_MS) break;
      this.#events.delete(oldest);
    }
  }

  /** Returns the events, oldest first. */
  list(nowMs: number): Event[] {
    return [...this.#events.entries()].flatMap(([, { event, atMs }]) => (nowMs - atMs > KEPT_MS ? [] : [event]));
  }
}
