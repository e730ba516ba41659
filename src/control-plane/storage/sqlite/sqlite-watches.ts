import { setImmediate } from 'node:timers';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { StorageEvent, StorageWatch, StorageWatchEnd } from '../storage.ts';
import { tell } from '../watch-delivery.ts';
import type { WatchListener } from '../watch-delivery.ts';
import type { History } from './history.ts';

/** The number of earlier writes that a watch reads in one turn of the event loop. */
const CATCH_UP_WRITES = 500;

interface Watcher extends WatchListener {
  readonly onEnd: (error: StorageWatchEnd) => void;
  /**
   * The revision up to which everything was delivered. A watcher that is behind the store is not notified of commits,
   * but reads them from the store.
   */
  position: number;
  live: boolean;
  closed: boolean;
}

/**
 * The watches of the store. Invariants:
 * 1. Except during `committed`, a live watcher's position is the newest announced revision.
 * 2. A watcher that begins in the past reads history in parts, one per turn, until there is nothing newer. From that
 *    turn on it is live.
 * 3. No listener is called during `add`, and none after its `close`. If one throws, only its own call is lost.
 */
export class SqliteWatches {
  readonly #history: History;
  readonly #log: Logger;
  readonly #watchers = new Set<Watcher>();
  /** The newest announced revision. The store may be one commit ahead, which must not be visible yet. */
  #announced: number;

  constructor(history: History, log: Logger) {
    this.#history = history;
    this.#log = log;
    this.#announced = history.revision;
  }

  add(watch: Pick<Watcher, 'prefix' | 'listener' | 'onEnd'> & { readonly after: number }): StorageWatch {
    const { prefix, listener, onEnd, after } = watch;
    const watcher: Watcher = {
      prefix,
      listener,
      onEnd,
      position: after,
      live: after === this.#announced,
      closed: false,
    };
    this.#watchers.add(watcher);
    if (!watcher.live) setImmediate(() => this.#catchUp(watcher));
    return { close: () => this.#remove(watcher) };
  }

  /** The revision up to which all writes were announced. */
  get announced(): number {
    return this.#announced;
  }

  /** Must be called with durable writes in their order, before they become visible in another way. */
  committed(events: readonly StorageEvent[]): void {
    this.#announced = events.at(-1)?.revision ?? this.#announced;
    for (const watcher of this.#watchers) if (watcher.live) this.#deliver(watcher, events, this.#announced);
  }

  close(): void {
    for (const watcher of this.#watchers) this.#remove(watcher);
  }

  #catchUp(watcher: Watcher): void {
    if (watcher.closed) return;
    // The watcher begins in the future, for example after a restore of an older backup. Its state does not match this
    // store.
    if (watcher.position < this.#history.compacted || watcher.position > this.#announced)
      return this.#end(watcher, { kind: 'Compacted' });
    try {
      const events = this.#history.eventsAfter(watcher.position, this.#announced, CATCH_UP_WRITES);
      const last = events.length < CATCH_UP_WRITES ? this.#announced : (events.at(-1)?.revision ?? this.#announced);
      this.#deliver(watcher, events, last);
    } catch (error) {
      return this.#end(watcher, { kind: 'Unavailable', message: errorMessage(error) });
    }
    if (watcher.position === this.#announced) watcher.live = true;
    else setImmediate(() => this.#catchUp(watcher));
  }

  #deliver(watcher: Watcher, events: readonly StorageEvent[], revision: number): void {
    watcher.position = revision;
    tell(watcher, events, revision, this.#log);
  }

  #end(watcher: Watcher, end: StorageWatchEnd): void {
    this.#remove(watcher);
    watcher.onEnd(end);
  }

  #remove(watcher: Watcher): void {
    watcher.closed = true;
    watcher.live = false;
    this.#watchers.delete(watcher);
  }
}
