import { closeSync, fdatasync, openSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers';
import type { Clock, Timer } from '../../../base/clock.ts';
import { errorMessage, KubeletError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import { TurnShare } from '../../../base/turn-share.ts';
import type {
  PutOptions,
  Storage,
  StorageEvent,
  StorageListOptions,
  StorageWatch,
  StorageWatchEnd,
  StoredList,
  StoredValue,
  WriteGuard,
  WriteResult,
} from '../storage.ts';
import { ExpiryBuckets, expiryOf } from './expiry-buckets.ts';
import { History } from './history.ts';
import type { Write } from './history.ts';
import { diskBytes, openDatabase, storageError } from './sqlite-database.ts';
import { SqliteMaintenance } from './sqlite-maintenance.ts';
import { SqliteWatches } from './sqlite-watches.ts';

/** How long a write that is not urgent waits for others, to share a commit. */
const UNHURRIED_WAIT_MS = 100;
/**
 * The maximum number of writes in one commit, and their approximate characters. Others wait for the next turn, so that
 * the event loop can run other work in between.
 */
const BATCH_WRITES = 256;
const BATCH_CHARACTERS = 4 * 1024 * 1024;
/**
 * The maximum number of writes announced in one turn of the event loop, because each causes work for its writer and all
 * watchers.
 */
const ANNOUNCED_AT_ONCE = 64;

export interface SqliteStorageOptions {
  /**
   * The path of the database, which is created with its folder if it is missing. The file `<file>-wal` beside it
   * belongs to it.
   */
  readonly file: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Makes written data of a file durable, with fdatasync(2) in another thread. */
  readonly flush?: (descriptor: number) => Promise<void>;
  /** The clock that limits how long announcements of writes occupy a turn; by default the real clock. */
  readonly workedMs?: () => number;
}

interface PendingWrite {
  readonly write: Write;
  readonly resolve: (result: WriteResult) => void;
  readonly reject: (error: KubeletError) => void;
}

/**
 * The result of one write of a commit: the event for watchers, unless its condition failed, and the answer to its
 * writer.
 */
interface Announcement {
  readonly event: StorageEvent | undefined;
  readonly answer: (lost: KubeletError | undefined) => void;
}

/**
 * The store in one SQLite file. Invariants:
 * 1. A write resolves when its COMMIT is durable. COMMIT (synchronous=NORMAL) only writes to the log. The log is then
 *    flushed in another thread, so that a slow disk does not stop the event loop. One commit is in progress at a time,
 *    and requests made meanwhile share the next one.
 * 2. Nothing is visible before it is durable. Reads during a commit answer after it, and watchers are notified after
 *    it. The writes of a commit are announced a few at a time. Watchers receive each write before its writer, in the
 *    same turn. The revision of the store is that of the newest announced write.
 * 3. Writes happen in the order of their requests, even if one of them is not urgent and waited.
 * 4. After a failed COMMIT none of its writes has an effect, and all of them reject. The next commit is not affected.
 * 5. After a failed flush the state of the disk is unknown, and the kernel may not retry it. So the store refuses
 *    everything until it is opened again.
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
  readonly #share: TurnShare;
  /** The scheduled commit, at the end of this turn or when its timer fires. */
  #scheduled: { readonly kind: 'turn' } | { readonly kind: 'timer'; readonly timer: Timer } | undefined;
  readonly #flush: (descriptor: number) => Promise<void>;
  readonly #logDescriptor: number;
  /** The commit that is being made durable and announced. It never rejects. */
  #flight: Promise<void> | undefined;
  #lastFailure: KubeletError | undefined;
  /** The error of a failed flush. */
  #lost: KubeletError | undefined;
  #closing: Promise<void> | undefined;

  /** Opens the store. Throws as `openDatabase` does. */
  constructor(options: SqliteStorageOptions) {
    this.#file = options.file;
    this.#clock = options.clock;
    this.#share = new TurnShare(options.workedMs ?? (() => options.clock.monotonicMs()));
    this.#flush = options.flush ?? flushFile;
    this.#database = openDatabase(options.file);
    this.#expiry = new ExpiryBuckets({ clock: options.clock, expire: (revisions) => this.#expire(revisions) });
    try {
      this.#history = new History(this.#database);
      this.#watches = new SqliteWatches(this.#history, options.log);
      this.#maintenance = new SqliteMaintenance(this.#database, this.#history, options);
      this.#logDescriptor = openSync(`${options.file}-wal`, 'r');
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
    return this.#durable(this.#guard('read', () => this.#history.get(key)));
  }

  async list(prefix: string, options: StorageListOptions = {}): Promise<StoredList> {
    return this.#durable(this.#guard('read', () => this.#history.list(prefix, options)));
  }

  /** Returns the revision without waiting for a commit, because a commit in progress has not been acknowledged. */
  async revision(): Promise<number> {
    this.#refuseWhenOver();
    return this.#watches.announced;
  }

  put(key: string, value: string, options: PutOptions): Promise<WriteResult> {
    const { expected, ttlSeconds, unhurried = false, guard } = options;
    const expiresAtSeconds = ttlSeconds === undefined ? undefined : expiryOf(this.#clock.nowMs() / 1000, ttlSeconds);
    return this.#enqueue({ key, expected, value, expiresAtSeconds, guard }, unhurried);
  }

  delete(key: string, expected: number, guard?: WriteGuard): Promise<WriteResult> {
    return this.#enqueue({ key, expected, value: undefined, guard }, false);
  }

  watch(
    prefix: string,
    after: number,
    listener: (events: readonly StorageEvent[], revision: number) => void,
    onEnd: (error: StorageWatchEnd) => void,
  ): StorageWatch {
    this.#refuseWhenOver();
    return this.#watches.add({ prefix, after, listener, onEnd });
  }

  async compact(revision: number): Promise<void> {
    this.#guard('compact', () => this.#history.transaction(() => this.#history.compact(revision)));
    await this.#maintenance.sweep();
  }

  /** Makes a write without changes after a failed one, because the disk may have space again. */
  async check(): Promise<void> {
    this.#refuseWhenOver();
    if (this.#lastFailure === undefined) return;
    this.#guard('write', () => this.#history.transaction(() => this.#history.touch()));
    this.#lastFailure = undefined;
  }

  async sizeBytes(): Promise<number> {
    return diskBytes(this.#file);
  }

  /** Limits the size of the file in pages of 4 KiB. Further writes are refused as on a full disk. */
  limitPages(pages: number): void {
    this.#guard('limit', () => this.#database.exec(`PRAGMA max_page_count = ${Math.floor(pages)}`));
  }

  /** Closes the store. Earlier requests are written first. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#scheduled?.kind === 'timer') this.#scheduled.timer.cancel();
    this.#expiry.close();
    this.#maintenance.close();
    while (this.#flight !== undefined || this.#pending.length > 0) {
      if (this.#flight === undefined) this.#commit();
      await this.#flight;
    }
    this.#watches.close();
    closeSync(this.#logDescriptor);
    this.#database.close();
  }

  #enqueue(write: Write, unhurried: boolean): Promise<WriteResult> {
    const refusal = this.#refusal();
    if (refusal !== undefined) return Promise.reject(refusal);
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
    // The commit runs after the I/O of the turn, so that it includes the writes of all requests that arrived in it.
    setImmediate(() => this.#commit());
  }

  /** Commits the next writes. If a commit is in progress, it starts the next one at its end. */
  #commit(): void {
    this.#scheduled = undefined;
    if (this.#flight !== undefined || this.#pending.length === 0) return;
    const batch = this.#pending.splice(0, batchLength(this.#pending));
    const events: StorageEvent[] = [];
    let results: WriteResult[];
    try {
      if (this.#lost !== undefined) throw this.#lost;
      results = this.#history.transaction(() => batch.map(({ write }) => this.#history.write(write, events)));
      this.#lastFailure = undefined;
    } catch (error) {
      this.#lastFailure = storageError('write', this.#file, error);
      for (const { reject } of batch) reject(this.#lastFailure);
      if (this.#pending.length > 0) this.#schedule(false);
      return;
    }
    const unannounced = events.values();
    this.#fly(
      batch.map((pending, index): Announcement => {
        const result = results[index];
        return {
          event: result?.outcome === 'done' ? unannounced.next().value : undefined,
          answer: (lost) => this.#answer(pending, result, lost),
        };
      }),
    );
  }

  #answer({ resolve, reject, write }: PendingWrite, result: WriteResult | undefined, lost?: KubeletError): void {
    if (lost !== undefined || result === undefined) return reject(lost ?? closedError());
    if (result.outcome === 'done' && write.expiresAtSeconds !== undefined && this.#closing === undefined)
      this.#expiry.add(write.expiresAtSeconds, result.revision);
    resolve(result);
  }

  /** Makes the last commit durable, and announces it. */
  #fly(announcements: readonly Announcement[]): void {
    // Nothing was written where all conditions failed.
    if (announcements.every(({ event }) => event === undefined)) {
      this.#announce(announcements);
      return this.#goOn();
    }
    this.#flight = this.#flush(this.#logDescriptor)
      .catch((error: unknown) => {
        this.#lost = new KubeletError(
          'Unavailable',
          `${this.#file} could not be flushed to its disk (${errorMessage(error)}), so its content is uncertain: look for errors of the disk, then start again`,
          { op: 'flush', cause: error },
        );
        this.#lastFailure = this.#lost;
      })
      .then(() => this.#land(announcements));
  }

  async #land(announcements: readonly Announcement[]): Promise<void> {
    for (let from = 0; from < announcements.length; from += ANNOUNCED_AT_ONCE) {
      if (from > 0) await this.#share.pause();
      this.#announce(announcements.slice(from, from + ANNOUNCED_AT_ONCE));
    }
    this.#flight = undefined;
    this.#goOn();
  }

  #goOn(): void {
    if (this.#pending.length > 0 && this.#scheduled === undefined) this.#schedule(false);
  }

  #announce(announcements: readonly Announcement[]): void {
    const events = announcements.flatMap(({ event }) => event ?? []);
    if (this.#lost === undefined && events.length > 0) this.#watches.committed(events);
    for (const { answer } of announcements) answer(this.#lost);
  }

  #expire(revisions: readonly number[]): boolean {
    // They come again in a second.
    if (this.#flight !== undefined || this.#refusal() !== undefined) return false;
    const events: StorageEvent[] = [];
    try {
      this.#history.transaction(() => this.#history.expire(revisions, events));
    } catch (error) {
      this.#lastFailure = storageError('write', this.#file, error);
      return false;
    }
    this.#fly(events.map((event) => ({ event, answer: () => undefined })));
    return true;
  }

  /** Returns a value when it is durable. */
  async #durable<T>(value: T): Promise<T> {
    if (this.#flight !== undefined) await this.#flight;
    if (this.#lost !== undefined) throw this.#lost;
    return value;
  }

  #refusal(): KubeletError | undefined {
    return this.#closing === undefined ? this.#lost : closedError();
  }

  #refuseWhenOver(): void {
    const refusal = this.#refusal();
    if (refusal !== undefined) throw refusal;
  }

  #guard<T>(op: string, work: () => T): T {
    this.#refuseWhenOver();
    try {
      return work();
    } catch (error) {
      throw storageError(op, this.#file, error);
    }
  }
}

function flushFile(descriptor: number): Promise<void> {
  return new Promise((resolve, reject) =>
    fdatasync(descriptor, (error) => (error === null ? resolve() : reject(error))),
  );
}

/** Returns the number of writes of the next commit: at least one, even if it is large. */
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
