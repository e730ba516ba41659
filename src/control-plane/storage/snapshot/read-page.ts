import { Buffer } from 'node:buffer';
import type { Storage, StoredList, StoredValue } from '../storage.ts';

/** A page ends with the object that reaches this size. An object has at most 1.5 MiB. */
const PAGE_BYTES = 4 * 1024 * 1024;
const PAGE_ITEMS = 512;
/** The number of values that are read at once. */
const CHUNK_ITEMS = 16;

/** A part of the store at one revision. */
export interface SnapshotPage {
  /** The revision of the whole snapshot, with which the next pages are requested. */
  readonly revision: number;
  /** The key, the revision of the write, and the value. */
  readonly items: readonly (readonly [key: string, revision: number, value: string])[];
  /** The key after which the next page begins; absent on the last page. */
  readonly next?: string;
}

export interface PagePosition {
  /** The revision; absent for the newest. */
  readonly revision?: number;
  readonly after?: string;
}

/**
 * Returns the page of the keys below `prefix` at a position, without the keys below `skipped`, which the store deletes
 * after some time. Rejects with `Conflict` if the revision has been compacted.
 */
export async function readSnapshotPage(
  storage: Pick<Storage, 'list'>,
  position: PagePosition,
  { prefix, skipped }: { readonly prefix: string; readonly skipped: readonly string[] },
): Promise<SnapshotPage> {
  const read = (at: PagePosition): Promise<StoredList> =>
    storage.list(prefix, {
      limit: CHUNK_ITEMS,
      isCounted: false,
      ...(at.revision !== undefined && { revision: at.revision }),
      ...(at.after !== undefined && { afterKey: at.after }),
    });
  const items: SnapshotPage['items'][number][] = [];
  let chunk = await read(position);
  const { revision } = chunk;
  let bytes = 0;
  for (let seen = 0; ; ) {
    for (const [index, item] of chunk.items.entries()) {
      const isLast = index === chunk.items.length - 1 && chunk.remaining === 0;
      if (!skipped.some((each) => item.key.startsWith(each))) {
        items.push([item.key, item.revision, item.value]);
        bytes += sizeOf(item);
      }
      if (!isLast && (bytes >= PAGE_BYTES || ++seen >= PAGE_ITEMS)) return { revision, items, next: item.key };
    }
    const last = chunk.items.at(-1);
    if (last === undefined || chunk.remaining === 0) return { revision, items };
    chunk = await read({ revision, after: last.key });
  }
}

const sizeOf = ({ key, value }: StoredValue): number => Buffer.byteLength(key) + Buffer.byteLength(value);
