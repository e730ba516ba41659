import type { Clock, Timer } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { StorageEvent, StorageWatch, StorageWatchEnd } from '../storage.ts';
import { tell } from '../watch-delivery.ts';
import type { WatchListener } from '../watch-delivery.ts';
import type { ValueCodec } from '../value-codec.ts';
import type { EtcdClient } from './etcd-client.ts';
import { EtcdWatchStream } from './etcd-watch-stream.ts';
import type { Feed } from './etcd-watch-stream.ts';
import { WatchPatience } from './watch-patience.ts';

/** How long an answer to a writer waits until the watch delivers its write. */
const LONGEST_WAIT_MS = 2000;

interface Watcher extends WatchListener {
  readonly onEnd: (error: StorageWatchEnd) => void;
  /** The revision up to which the watcher received everything. */
  position: number;
  state: 'live' | 'behind' | 'closed';
  /** Set while the watcher is behind: its own feed, and the events of the main feed since then. */
  feed: Feed | undefined;
  waiting: { readonly events: readonly StorageEvent[]; readonly revision: number }[];
}

/**
 * Implements all watches of a process with one watch of etcd over all keys. Every revision of etcd is made by a write
 * to a key, so after a write has arrived, its revision is complete. So watchers of prefixes without changes know their
 * progress, and a writer knows when its write was delivered, without progress requests. (etcd before 3.4.25 and 3.5.8
 * answers these with revisions that it has not delivered yet.) Invariants:
 * 1. The main feed begins with the first watcher and ends with the last.
 * 2. A watcher that begins before the main feed's position has its own feed up to there. The main feed's events wait
 *    for it meanwhile.
 * 3. After a compaction beyond the position of a feed, its watchers end with `Compacted`.
 */
export class EtcdWatches {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #stream: EtcdWatchStream;
  readonly #watchers = new Set<Watcher>();
  readonly #writers = new Set<{ readonly revision: number; readonly go: () => void }>();
  #main: Feed | undefined;
  readonly #patience: WatchPatience;

  constructor(options: { client: EtcdClient; clock: Clock; log: Logger; codec: ValueCodec }) {
    this.#clock = options.clock;
    this.#log = options.log;
    this.#stream = new EtcdWatchStream({ ...options, onBreak: () => this.#releaseWriters(Infinity) });
    this.#patience = new WatchPatience({
      clock: options.clock,
      position: () => (this.#stream.open ? this.#main?.position : undefined),
      onStalled: () => this.#stream.restart('it delivers no events, although the store has changed'),
    });
  }

  add(watch: WatchListener & Pick<Watcher, 'onEnd'>, after: number): StorageWatch {
    const position = Math.max(after, 1);
    const watcher: Watcher = { ...watch, position, state: 'live', feed: undefined, waiting: [] };
    this.#watchers.add(watcher);
    if (this.#main === undefined)
      this.#main = this.#stream.add(position, {
        deliver: (events) => this.#delivered(events),
        compacted: () => this.#compacted(),
      });
    else if (position < this.#main.position) this.#catchUp(watcher, this.#main.position);
    return { close: () => this.#remove(watcher) };
  }

  /**
   * Resolves when live watchers have received the write, or if there is nothing to wait for: there are no watchers, or
   * the watch is broken.
   */
  heard(revision: number): Promise<void> {
    if (this.#main === undefined || !this.#stream.open || this.#main.position >= revision) return Promise.resolve();
    this.expect(revision);
    return new Promise((resolve) => {
      let timer: Timer | undefined = undefined;
      const writer = {
        revision,
        go: () => {
          timer?.cancel();
          this.#writers.delete(writer);
          resolve();
        },
      };
      this.#writers.add(writer);
      timer = this.#clock.setTimer(LONGEST_WAIT_MS, writer.go);
    });
  }

  /**
   * Records that the store has this revision. If the watch neither reaches it nor makes progress, it is opened on
   * another member.
   */
  expect(revision: number): void {
    this.#patience.expect(revision);
  }

  close(): void {
    this.#patience.close();
    for (const watcher of this.#watchers) watcher.state = 'closed';
    this.#watchers.clear();
    this.#stream.close();
    this.#releaseWriters(Infinity);
  }

  #delivered(events: readonly StorageEvent[]): void {
    const revision = events.at(-1)?.revision ?? 0;
    for (const watcher of this.#watchers) {
      if (watcher.state === 'behind') watcher.waiting.push({ events, revision });
      else this.#tell(watcher, events, revision);
    }
    this.#releaseWriters(revision);
  }

  #tell(watcher: Watcher, events: readonly StorageEvent[], revision: number): void {
    if (watcher.state === 'closed' || revision <= watcher.position) return;
    const known = watcher.position;
    watcher.position = revision;
    const first = events[0]?.revision ?? 0;
    tell(watcher, first > known ? events : events.filter((event) => event.revision > known), revision, this.#log);
  }

  /** Reads the past up to `until`. That is the revision of a write, so the feed will reach it. */
  #catchUp(watcher: Watcher, until: number): void {
    watcher.state = 'behind';
    watcher.feed = this.#stream.add(watcher.position, {
      deliver: (events) => {
        const past = events.filter(({ revision }) => revision <= until);
        const end = events.at(-1)?.revision ?? 0;
        this.#tell(watcher, past, Math.min(end, until));
        if (end < until) return;
        watcher.feed?.close();
        watcher.feed = undefined;
        // A listener may have closed its watch within the call above.
        if (watcher.state !== 'behind') return;
        const waiting = watcher.waiting;
        watcher.waiting = [];
        watcher.state = 'live';
        for (const { events: later, revision } of waiting) this.#tell(watcher, later, revision);
      },
      compacted: () => this.#end(watcher),
    });
  }

  #compacted(): void {
    this.#main = undefined;
    this.#releaseWriters(Infinity);
    for (const watcher of this.#watchers) this.#end(watcher);
  }

  #end(watcher: Watcher): void {
    if (watcher.state === 'closed') return;
    this.#remove(watcher);
    watcher.onEnd({ kind: 'Compacted' });
  }

  #remove(watcher: Watcher): void {
    watcher.state = 'closed';
    watcher.feed?.close();
    watcher.feed = undefined;
    watcher.waiting = [];
    if (!this.#watchers.delete(watcher) || this.#watchers.size > 0) return;
    this.#main?.close();
    this.#main = undefined;
    this.#releaseWriters(Infinity);
  }

  #releaseWriters(revision: number): void {
    for (const writer of this.#writers) if (writer.revision <= revision) writer.go();
  }
}
