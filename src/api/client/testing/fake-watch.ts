import type { Clock } from '../../../base/clock.ts';
import type { WatchEvent } from '../api-client.ts';
import type { ApiObject } from '../resource-type.ts';

/** One open watch of the fake: a queue of events for its reader. */
export class FakeWatch implements AsyncIterable<WatchEvent<ApiObject>> {
  readonly plural: string;
  readonly #events: WatchEvent<ApiObject>[] = [];
  readonly #clock: Clock;
  readonly #lagMs: () => number;
  #readableMs = 0;
  #wake: (() => void) | undefined;
  #ended = false;
  /** Simulates a dead connection: it stays open, and nothing arrives. */
  #mute = false;

  constructor(plural: string, clock: Clock, lagMs: () => number) {
    this.plural = plural;
    this.#clock = clock;
    this.#lagMs = lagMs;
  }

  /** Events are read in order, each not before its delay is over. */
  push(event: WatchEvent<ApiObject>): void {
    if (this.#mute) return;
    const nowMs = this.#clock.monotonicMs();
    this.#readableMs = Math.max(this.#readableMs, nowMs + this.#lagMs());
    // An error ends the watch. Events that are still delayed are lost.
    if (event.type === 'ERROR' || this.#readableMs <= nowMs) return this.#deliver(event);
    this.#clock.setTimer(this.#readableMs - nowMs, () => this.#deliver(event));
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  mute(): void {
    this.#mute = true;
  }

  async *[Symbol.asyncIterator](): AsyncIterator<WatchEvent<ApiObject>> {
    for (;;) {
      const next = this.#events.shift();
      if (next !== undefined) yield next;
      else if (this.#ended) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  #deliver(event: WatchEvent<ApiObject>): void {
    if (this.#ended) return;
    this.#events.push(event);
    this.#wake?.();
  }
}
