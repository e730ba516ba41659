import type { Storage } from '../storage.ts';

/** Values of one page. An object has at most 1.5 MiB, so a page has at most 48 MiB. */
const PAGE_ITEMS = 32;

/** A part of the store as of one revision. */
export interface SnapshotPage {
  /** Of the whole snapshot; the next pages are asked for with it. */
  readonly revision: number;
  /** Key, revision of the write, value. */
  readonly items: readonly (readonly [key: string, revision: number, value: string])[];
  /** The key after which the next page begins; absent on the last one. */
  readonly next?: string;
}

export interface PagePosition {
  /** Absent: the newest. */
  readonly revision?: number;
  readonly after?: string;
}

/**
 * The page of the keys below `prefix` at a position, without the keys below `skipped` (what the store deletes after a time). Rejects with
 * `Conflict` when the revision is compacted by now.
 */
export async function readSnapshotPage(
  storage: Pick<Storage, 'list'>,
  { revision, after }: PagePosition,
  { prefix, skipped }: { readonly prefix: string; readonly skipped: readonly string[] },
): Promise<SnapshotPage> {
  const list = await storage.list(prefix, {
    limit: PAGE_ITEMS,
    isCounted: false,
    ...(revision !== undefined && { revision }),
    ...(after !== undefined && { afterKey: after }),
  });
  const items = list.items
    .filter(({ key }) => !skipped.some((prefix) => key.startsWith(prefix)))
    .map(({ key, revision: written, value }) => [key, written, value] as const);
  const last = list.items.at(-1);
  return { revision: list.revision, items, ...(last !== undefined && list.remaining > 0 && { next: last.key }) };
}
