import type { Event } from '../../../api/core/event.ts';
import { BoundedMap } from '../../../base/bounded-map.ts';

/** As long as an API server keeps them. */
const KEPT_MS = 3_600_000;
const LIMIT = 2_000;

/** The events of the last hour, for queries. In memory only: they report what happened, and nothing depends on them. */
export class EventStore {
  readonly #events = new BoundedMap<string, { event: Event; atMs: number }>(LIMIT);

  put(key: string, event: Event, nowMs: number): void {
    this.#events.set(key, { event, atMs: nowMs });
    for (const [oldest, { atMs }] of this.#events.entries()) {
      if (nowMs - atMs <= KEPT_MS) break;
      this.#events.delete(oldest);
    }
  }

  /** Oldest first. */
  list(nowMs: number): Event[] {
    return [...this.#events.entries()].flatMap(([, { event, atMs }]) => (nowMs - atMs > KEPT_MS ? [] : [event]));
  }
}
