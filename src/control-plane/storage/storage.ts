/**
 * The interface to the store of the cluster's state: an ordered map of keys to values. Every write gets a new revision,
 * which is greater than all earlier ones in the life of the store. The contract suite `testing/storage-contract.ts`
 * defines the behaviour; SQLite and etcd pass it. Invariants:
 * 1. A write is acknowledged only when it survives a failure of the process and of the machine.
 * 2. Revisions only grow, also across restarts. The revision of the store is that of its newest write.
 * 3. A watch from revision r delivers every write after r exactly once, in order of revision, or ends with `Compacted`.
 * 4. Conditional writes are atomic: of two with the same condition one succeeds.
 * 5. Watches that are not behind receive a write before the promise of its writer resolves, so that a writer finds its
 *    write in the caches that watches update. (If the watch of a remote store is broken at that moment, the writer
 *    waits only for a limited time.)
 */
export interface Storage {
  /**
   * Returns the newest value; undefined if there is none. It is linearizable, so it includes every acknowledged write.
   */
  get(key: string): Promise<StoredValue | undefined>;
  /** Returns all keys with the prefix, in byte order, at one revision. */
  list(prefix: string, options?: StorageListOptions): Promise<StoredList>;
  /** Returns the revision of the newest write; linearizable. It is never 0: an empty store starts at 1. */
  revision(): Promise<number>;
  /** Writes if the key's newest revision is `expected` (0 means that it must not exist). */
  put(key: string, value: string, options: PutOptions): Promise<WriteResult>;
  /** Deletes if the key's newest revision is `expected`. */
  delete(key: string, expected: number, guard?: WriteGuard): Promise<WriteResult>;
  /**
   * Watches every write to keys with the prefix after revision `after`. `listener` is called in order, never before the
   * write is durable, and never after `close`. The writes of one transaction are delivered in one call. `revision` is
   * the progress of the watch. `events` is empty if all writes were to other keys; then the call only informs a cache
   * of its progress. `watch` itself never calls the listener. Without `close` the watch ends only through `onEnd`.
   */
  watch(
    prefix: string,
    after: number,
    listener: (events: readonly StorageEvent[], revision: number) => void,
    onEnd: (error: StorageWatchEnd) => void,
  ): StorageWatch;
  /**
   * Removes values that were overwritten or deleted before `revision`. Lists and watches of earlier revisions get
   * `Compacted`.
   */
  compact(revision: number): Promise<void>;
  /** Rejects if writes are not possible now, for `/readyz` and `/metrics`. */
  check(): Promise<void>;
  /** Returns the bytes of the store on disk. */
  sizeBytes(): Promise<number>;
  close(): Promise<void>;
}

export interface StoredValue {
  readonly key: string;
  /** UTF-8 text. The API server stores JSON here. */
  readonly value: string;
  /** The revision of the write of this value. */
  readonly revision: number;
}

export interface StorageListOptions {
  readonly limit?: number;
  /** Returns only keys after this one, for the next page. */
  readonly afterKey?: string;
  /** The revision of the requested state; by default the newest. Rejects with kind `Conflict` if it was compacted. */
  readonly revision?: number;
  /**
   * If it is false, `remaining` is 1 if there are more keys, because the cost of counting depends on their number. The
   * default is true.
   */
  readonly isCounted?: boolean;
}

export interface StoredList {
  readonly items: readonly StoredValue[];
  /** The revision of the list. */
  readonly revision: number;
  /** The number of keys after the last item; 0 if there are none. */
  readonly remaining: number;
}

/** A second condition of a write: the newest revision of another key. */
export interface WriteGuard {
  readonly key: string;
  readonly revision: number;
}

export interface PutOptions {
  readonly expected: number;
  /** A condition that is checked in the same transaction as `expected`. */
  readonly guard?: WriteGuard;
  /** The seconds until the store deletes the key (events). Such deletions are ordinary writes. */
  readonly ttlSeconds?: number;
  /**
   * Whether the write may wait a moment to share its disk write with others (events, leases). It is acknowledged only
   * when it is durable.
   */
  readonly unhurried?: boolean;
}

/**
 * `conflict` contains the current value, if there is one. `fenced` means that the guard has another revision or does
 * not exist.
 */
export type WriteResult =
  | { readonly outcome: 'done'; readonly revision: number }
  | { readonly outcome: 'fenced' }
  | { readonly outcome: 'conflict'; readonly current: StoredValue | undefined };

export interface StorageEvent {
  readonly type: 'put' | 'delete';
  readonly key: string;
  /** The value after a put; '' after a delete. */
  readonly value: string;
  readonly revision: number;
}

export type StorageWatchEnd =
  | { readonly kind: 'Compacted' }
  | { readonly kind: 'Unavailable'; readonly message: string };

export interface StorageWatch {
  close(): void;
}
