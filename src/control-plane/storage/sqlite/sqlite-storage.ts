import type { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers';
import type { Clock, Timer } from '../../../base/clock.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { PutOptions, Storage, StorageEvent, StorageListOptions, StorageWatch, StorageWatchEnd, StoredList, StoredValue, WriteResult } from '../storage.ts';
import { ExpiryBuckets, expiryOf } from './expiry-buckets.ts';
import { History } from './history.ts';
import type { Write } from './history.ts';
import { diskBytes, openDatabase, storageError } from './sqlite-database.ts';
import { SqliteMaintenance } from './sqlite-maintenance.ts';
import { SqliteWatches } from './sqlite-watches.ts';

/** How long a write that is in no hurry waits for others to share a commit with. */
const UNHURRIED_WAIT_MS = 100;
/** Writes of one commit, and about how many characters; more than this wait for the next turn, so that the event loop comes to other things in between. */
const BATCH_WRITES = 256;
const BATCH_CHARACTERS = 4 * 1024 * 1024;

export interface SqliteStorageOptions {
  /** Path of the database; made when missing, with its folder. Beside it stands `<file>-wal`, which belongs to it. */
  readonly file: string;
  readonly clock: Clock;
  readonly log: Logger;
}

interface PendingWrite {
  readonly write: Write;
  readonly resolve: (result: WriteResult) => void;
  readonly reject: (error: KubeletError) => void;
}

/**
 * The store in one SQLite file.
 *
 * 1. A write resolves after the COMMIT it was part of, which is after its fsync; all writes asked for in one turn of the event loop share one.
 * 2. Right after a COMMIT, in the same turn and before any of its writes resolve, watchers are told.
 * 3. Writes happen in the order they were asked for, also where one that is in no hurry waited.
 * 4. A failed COMMIT leaves nothing of its writes, rejects all of them, and stops nothing: the next is tried as if there had been none.
 */
export class SqliteStorage implements Storage {
  readonly #file: string;
  readonly #clock: Clock;
  readonly #database: DatabaseSync;
  readonly #history: History;
  readonly #watches: SqliteWatches;
  readonly #maintenance: SqliteMaintenance;
  readonly #expiry: ExpiryBuckets;
  readonly #pending: PendingWrite[] = [];
  /** A commit will begin by itself: in this turn's end, or when its timer fires. */
  #scheduled: { readonly kind: 'turn' } | { readonly kind: 'timer'; readonly timer: Timer } | undefined;
  #lastFailure: KubeletError | undefined;
  #closed = false;

  /** Throws as `openDatabase` does. */
  constructor(options: SqliteStorageOptions) {
    this.#file = options.file;
    this.#clock = options.clock;
    this.#database = openDatabase(options.file);
    this.#expiry = new ExpiryBuckets({ clock: options.clock, expire: (revisions) => this.#expire(revisions) });
    try {
      this.#history = new History(this.#database);
      this.#watches = new SqliteWatches(this.#history, options.log);
      this.#maintenance = new SqliteMaintenance(this.#database, this.#history, options);
      for (const { atSeconds, revision } of this.#history.expiries()) this.#expiry.add(atSeconds, revision);
    } catch (error) {
      this.#expiry.close();
      this.#database.close();
      throw storageError('open', options.file, error);
    }
    // What a compaction before the last stop left undone.
    void this.#maintenance.sweep();
  }

  async get(key: string): Promise<StoredValue | undefined> {
    return this.#guard('read', () => this.#history.get(key));
  }

  async list(prefix: string, options: StorageListOptions = {}): Promise<StoredList> {
    return this.#guard('read', () => this.#history.list(prefix, options));
  }

  async revision(): Promise<number> {
    return this.#guard('read', () => this.#history.revision);
  }

  put(key: string, value: string, options: PutOptions): Promise<WriteResult> {
    const { expected, ttlSeconds, unhurried = false } = options;
    const expiresAtSeconds = ttlSeconds === undefined ? undefined : expiryOf(this.#clock.nowMs() / 1000, ttlSeconds);
    return this.#enqueue({ key, expected, value, expiresAtSeconds }, unhurried);
  }

  delete(key: string, expected: number): Promise<WriteResult> {
    return this.#enqueue({ key, expected, value: undefined }, false);
  }

  watch(prefix: string, after: number, listener: (events: readonly StorageEvent[], revision: number) => void, onEnd: (error: StorageWatchEnd) => void): StorageWatch {
    if (this.#closed) throw closedError();
    return this.#watches.add({ prefix, after, listener, onEnd });
  }

  async compact(revision: number): Promise<void> {
    this.#guard('compact', () => this.#history.transaction(() => this.#history.compact(revision)));
    await this.#maintenance.sweep();
  }

  /** After a failed write one that changes nothing is tried: the disk may have room again. */
  async check(): Promise<void> {
    if (this.#lastFailure === undefined && !this.#closed) return;
    this.#guard('write', () => this.#history.transaction(() => this.#history.touch()));
    this.#lastFailure = undefined;
  }

  async sizeBytes(): Promise<number> {
    return diskBytes(this.#file);
  }

  /** The file may not grow beyond so many pages of 4 KiB; what does not fit is refused as on a full disk. */
  limitPages(pages: number): void {
    this.#guard('limit', () => this.#database.exec(`PRAGMA max_page_count = ${Math.floor(pages)}`));
  }

  /** What is asked for until now is written first. */
  async close(): Promise<void> {
    if (this.#closed) return;
    if (this.#scheduled?.kind === 'timer') this.#scheduled.timer.cancel();
    while (this.#pending.length > 0) this.#commit();
    this.#closed = true;
    this.#expiry.close();
    this.#watches.close();
    this.#maintenance.close();
    this.#database.close();
  }

  #enqueue(write: Write, unhurried: boolean): Promise<WriteResult> {
    if (this.#closed) return Promise.reject(closedError());
    return new Promise((resolve, reject) => {
      this.#pending.push({ write, resolve, reject });
      this.#schedule(unhurried);
    });
  }

  #schedule(unhurried: boolean): void {
    if (this.#scheduled?.kind === 'turn') return;
    if (unhurried) {
      this.#scheduled ??= { kind: 'timer', timer: this.#clock.setTimer(UNHURRIED_WAIT_MS, () => this.#commit()) };
      return;
    }
    this.#scheduled?.timer.cancel();
    this.#scheduled = { kind: 'turn' };
    // After the turn's I/O was handled: the writes of all requests that came in with it are there by then.
    setImmediate(() => this.#commit());
  }

  #commit(): void {
    this.#scheduled = undefined;
    if (this.#closed || this.#pending.length === 0) return;
    const batch = this.#pending.splice(0, batchLength(this.#pending));
    const events: StorageEvent[] = [];
    let results: WriteResult[];
    try {
      results = this.#history.transaction(() => batch.map(({ write }) => this.#history.write(write, events)));
      this.#lastFailure = undefined;
    } catch (error) {
      const failure = storageError('write', this.#file, error);
      this.#lastFailure = failure;
      for (const { reject } of batch) reject(failure);
      if (this.#pending.length > 0) this.#schedule(false);
      return;
    }
    if (this.#pending.length > 0) this.#schedule(false);
    if (events.length > 0) this.#watches.committed(events);
    batch.forEach(({ resolve, write }, index) => {
      const result = results[index];
      if (result === undefined) return;
      if (result.outcome === 'done' && write.expiresAtSeconds !== undefined) this.#expiry.add(write.expiresAtSeconds, result.revision);
      resolve(result);
    });
  }

  #expire(revisions: readonly number[]): boolean {
    const events: StorageEvent[] = [];
    try {
      this.#history.transaction(() => this.#history.expire(revisions, events));
    } catch (error) {
      this.#lastFailure = storageError('write', this.#file, error);
      return false;
    }
    if (events.length > 0) this.#watches.committed(events);
    return true;
  }

  #guard<T>(op: string, work: () => T): T {
    if (this.#closed) throw closedError();
    try {
      return work();
    } catch (error) {
      throw storageError(op, this.#file, error);
    }
  }
}

/** At least one, however large. */
function batchLength(pending: readonly PendingWrite[]): number {
  let characters = 0;
  for (const [index, { write }] of pending.entries()) {
    characters += write.value?.length ?? 0;
    if (index === BATCH_WRITES || (characters > BATCH_CHARACTERS && index > 0)) return index;
  }
  return pending.length;
}

function closedError(): KubeletError {
  return new KubeletError('Aborted', 'the store is closed', { op: 'storage' });
}
