import type { Clock, Timer } from '../../../base/clock.ts';
import type { ObjectList } from './object-list.ts';

/** The maximum number of lists kept for their next pages. The oldest is dropped first. */
const LIMIT = 16;
/**
 * The time that a list is kept, in milliseconds. Later pages are read from the store, until the store has compacted the
 * version.
 */
const LIFE_MS = 60_000;

/** Identifies a list: all objects below `place` in the store, at `revision`. */
export interface ListSnapshotId {
  readonly place: string;
  readonly revision: number;
}

/**
 * Keeps lists that clients read in pages, as of the first page, so that the next pages need not be read from the store
 * after a write. A snapshot shares its objects with the cache. It costs a reference for each object, and the memory of
 * objects that were replaced since.
 */
export class ListSnapshots {
  readonly #clock: Clock;
  readonly #snapshots = new Map<string, { readonly objects: ObjectList; readonly expiry: Timer }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  find(id: ListSnapshotId): ObjectList | undefined {
    return this.#snapshots.get(keyOf(id))?.objects;
  }

  /** Keeps the whole list, which `take` returns, unless it is kept already. */
  keep(id: ListSnapshotId, take: () => ObjectList): void {
    const key = keyOf(id);
    if (this.#snapshots.has(key)) return;
    const [oldest] = this.#snapshots.keys();
    if (this.#snapshots.size >= LIMIT && oldest !== undefined) this.#drop(oldest);
    this.#snapshots.set(key, { objects: take(), expiry: this.#clock.setTimer(LIFE_MS, () => this.#drop(key)) });
  }

  clear(): void {
    for (const key of this.#snapshots.keys()) this.#drop(key);
  }

  #drop(key: string): void {
    this.#snapshots.get(key)?.expiry.cancel();
    this.#snapshots.delete(key);
  }
}

function keyOf({ place, revision }: ListSnapshotId): string {
  return `${revision} ${place}`;
}
