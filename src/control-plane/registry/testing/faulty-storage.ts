import { sleep } from '../../../base/clock.ts';
import type { Clock } from '../../../base/clock.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { Random } from '../../../base/random.ts';
import type {
  Storage,
  StorageEvent,
  StorageListOptions,
  StorageWatch,
  StorageWatchEnd,
  StoredList,
  StoredValue,
  WriteResult,
} from '../../storage/storage.ts';

/** The probability of each fault for each call, 0 to 1. */
export interface Faults {
  /** A call, or the notification of a write, is delayed by up to `longestDelayMs`. Later calls may overtake it. */
  readonly delay: number;
  readonly longestDelayMs: number;
  /** Nothing is written, and the call fails. */
  readonly refuse: number;
  /** The write succeeds, but the call fails. */
  readonly unknown: number;
}

export const noFaults: Faults = { delay: 0, longestDelayMs: 0, refuse: 0, unknown: 0 };

interface OpenWatch {
  readonly end: (end: StorageWatchEnd) => void;
}

/**
 * A store behind an unreliable network. It breaks no guarantee of the port except the fifth, as a store with a broken
 * watch may.
 */
export class FaultyStorage implements Storage {
  faults: Faults = noFaults;
  readonly #inner: Storage;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #watches = new Set<OpenWatch>();

  constructor(inner: Storage, clock: Clock, random: Random) {
    this.#inner = inner;
    this.#clock = clock;
    this.#random = random;
  }

  get(key: string): Promise<StoredValue | undefined> {
    return this.#read(() => this.#inner.get(key));
  }

  list(prefix: string, options?: StorageListOptions): Promise<StoredList> {
    return this.#read(() => this.#inner.list(prefix, options));
  }

  revision(): Promise<number> {
    return this.#read(() => this.#inner.revision());
  }

  put(...args: Parameters<Storage['put']>): Promise<WriteResult> {
    return this.#write(() => this.#inner.put(...args));
  }

  delete(...args: Parameters<Storage['delete']>): Promise<WriteResult> {
    return this.#write(() => this.#inner.delete(...args));
  }

  /** Delays some events, and keeps their order. */
  watch(
    prefix: string,
    after: number,
    listener: (events: readonly StorageEvent[], revision: number) => void,
    onEnd: (error: StorageWatchEnd) => void,
  ): StorageWatch {
    let last = Promise.resolve();
    let isLate = false;
    const tell = (events: readonly StorageEvent[], revision: number): void => {
      if (!isLate && !this.#happens(this.faults.delay)) return listener(events, revision);
      isLate = true;
      const turn = (last = last
        .then(() => this.#dawdle())
        .then(() => {
          if (turn === last) isLate = false;
          if (this.#watches.has(open)) listener(events, revision);
        }));
    };
    const inner = this.#inner.watch(prefix, after, tell, (end) => open.end(end));
    const close = (): void => {
      inner.close();
      this.#watches.delete(open);
    };
    const open: OpenWatch = {
      end: (end) => {
        close();
        onEnd(end);
      },
    };
    this.#watches.add(open);
    return { close };
  }

  /** Ends all watches. */
  endWatches(end: StorageWatchEnd): void {
    for (const watch of [...this.#watches]) watch.end(end);
  }

  compact(revision: number): Promise<void> {
    return this.#inner.compact(revision);
  }

  check(): Promise<void> {
    return this.#inner.check();
  }

  sizeBytes(): Promise<number> {
    return this.#inner.sizeBytes();
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  async #read<T>(work: () => Promise<T>): Promise<T> {
    await this.#mayDawdle();
    this.#mayRefuse();
    const answer = await work();
    await this.#mayDawdle();
    return answer;
  }

  async #write<T>(work: () => Promise<T>): Promise<T> {
    const answer = await this.#read(work);
    if (this.#happens(this.faults.unknown)) throw new KubeletError('Timeout', 'the answer got lost', { op: 'faulty' });
    return answer;
  }

  #mayRefuse(): void {
    if (this.#happens(this.faults.refuse)) throw new KubeletError('Unavailable', 'not now', { op: 'faulty' });
  }

  async #mayDawdle(): Promise<void> {
    if (this.#happens(this.faults.delay)) await this.#dawdle();
  }

  #dawdle(): Promise<void> {
    return sleep(this.#clock, 1 + Math.floor(this.#random.next() * this.faults.longestDelayMs));
  }

  #happens(likelihood: number): boolean {
    return likelihood > 0 && this.#random.next() < likelihood;
  }
}
