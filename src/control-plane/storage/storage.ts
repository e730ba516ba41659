/**
 * The port to the store of the cluster's state: an ordered map of keys to values. Every write gets a new revision, which
 * is greater than all earlier ones over the whole life of the store. The contract suite `testing/storage-contract.ts`
 * defines the behaviour; SQLite and etcd pass it.
 *
 * 1. A write is acknowledged only when it survives the death of the process and of the machine.
 * 2. Revisions only grow, across restarts too; the revision of the store is that of its newest write.
 * 3. A watch from revision r delivers every write after r exactly once, in order of revision, or ends with `Compacted`.
 * 4. Conditional writes are atomic: of two with the same condition one wins.
 * 5. Watches that are not behind receive a write before the promise of its writer resolves, so that a writer finds its
 *    write in the caches that watches feed. (If the watch of a remote store is broken at that moment, the writer waits
 *    for it only for a limited time.)
 */
export interface Storage {
  /** The newest value, or undefined. Linearizable: sees every acknowledged write. */
  get(key: string): Promise<StoredValue | undefined>;
  /** All keys with the prefix, in byte order, as of one revision. */
  list(prefix: string, options?: StorageListOptions): Promise<StoredList>;
  /** The revision of the newest write; linearizable. 0 on an empty store is never returned: it starts at 1. */
  revision(): Promise<number>;
  /** Writes if the key's newest revision is `expected` (0: does not exist). */
  put(key: string, value: string, options: PutOptions): Promise<WriteResult>;
  /** Deletes if the key's newest revision is `expected`. */
  delete(key: string, expected: number, guard?: WriteGuard): Promise<WriteResult>;
  /**
   * Every write to keys with the prefix after revision `after`. `listener` is called in order, never before the write
   * is durable, and never again after `close`. Writes of one transaction come in one call. `revision` is the
   * progress of the watch; `events` is empty if all writes went to other keys, and then the call only tells a cache how
   * new it is. Calls never come from within `watch` itself. Without `stop` it ends only through `onEnd`.
   */
  watch(
    prefix: string,
    after: number,
    listener: (events: readonly StorageEvent[], revision: number) => void,
    onEnd: (error: StorageWatchEnd) => void,
  ): StorageWatch;
  /**
   * Removes values that were overwritten or deleted before `revision`; lists and watches of earlier revisions get
   * `Compacted`.
   */
  compact(revision: number): Promise<void>;
  /** For `/readyz` and `/metrics`: rejects when writes are not possible now. */
  check(): Promise<void>;
  /** Bytes the store takes on disk. */
  sizeBytes(): Promise<number>;
  close(): Promise<void>;
}

export interface StoredValue {
  readonly key: string;
  /** UTF-8 text; the API server keeps JSON here. */
  readonly value: string;
  /** The revision of the write that made this value. */
  readonly revision: number;
}

export interface StorageListOptions {
  readonly limit?: number;
  /** Only keys after this one (exclusive), for the next page. */
  readonly afterKey?: string;
  /**
   * The state as of this revision rather than the newest. Rejects with kind `Conflict` (compacted) when it is
   * forgotten.
   */
  readonly revision?: number;
  /** False: `remaining` is 1 when there is more. Counting costs as much as there are keys. Default true. */
  readonly isCounted?: boolean;
}

export interface StoredList {
  readonly items: readonly StoredValue[];
  /** The revision the list shows. */
  readonly revision: number;
  /** How many keys come after the last item; 0 when this is all. */
  readonly remaining: number;
}

/** A second condition of a write: the newest revision of another key. */
export interface WriteGuard {
  readonly key: string;
  readonly revision: number;
}

export interface PutOptions {
  readonly expected: number;
  /** Checked in the same transaction as `expected`. */
  readonly guard?: WriteGuard;
  /** Seconds until the store deletes the key (events). Expirations are writes like others. */
  readonly ttlSeconds?: number;
  /**
   * May wait a moment to share its disk write with others (events, leases); acknowledged no earlier than it is durable.
   */
  readonly unhurried?: boolean;
}

/** `conflict` tells what stands there instead, if anything. `fenced`: the guard has another revision, or is gone. */
export type WriteResult =
  | { readonly outcome: 'done'; readonly revision: number }
  | { readonly outcome: 'fenced' }
  | { readonly outcome: 'conflict'; readonly current: StoredValue | undefined };

export interface StorageEvent {
  readonly type: 'put' | 'delete';
  readonly key: string;
  /** After a put the value; after a delete ''. */
  readonly value: string;
  readonly revision: number;
}

export type StorageWatchEnd =
  | { readonly kind: 'Compacted' }
  | { readonly kind: 'Unavailable'; readonly message: string };

export interface StorageWatch {
  close(): void;
}
