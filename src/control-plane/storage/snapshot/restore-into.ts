import { KubeletError } from '../../../base/errors.ts';
import type { Storage } from '../storage.ts';
import type { SnapshotHead, SnapshotItem } from './snapshot-file.ts';

/** The number of concurrent writes. */
const WRITES_AT_ONCE = 64;
const KEYS_OF_PAGE = 500;

export interface RestoredCounts {
  written: number;
  /** The number of keys whose value was the same, and which keep their resource version. */
  kept: number;
  deleted: number;
}

export type StoreToRestore = Pick<Storage, 'revision' | 'get' | 'put' | 'delete' | 'list' | 'compact'>;

export interface RestoreTarget {
  readonly storage: StoreToRestore;
  /** The prefix of the cluster's keys. Those that are not in the snapshot are deleted. */
  readonly prefix: string;
}

/**
 * Restores a snapshot into a store in use. This is the way for etcd, whose revisions clients cannot set. They continue
 * to grow, so that no resource version is used twice, and the earlier history is compacted: older watches get 410. No
 * other client may write meanwhile. After an interruption, run it again. `items` are read while they are written.
 */
export async function restoreInto(
  { storage, prefix }: RestoreTarget,
  head: SnapshotHead,
  items: AsyncIterable<SnapshotItem>,
): Promise<RestoredCounts> {
  const revision = await storage.revision();
  if (revision < head.revision)
    throw new KubeletError(
      'Conflict',
      `the store is at revision ${revision} and the snapshot at ${head.revision}: resource versions would be used twice. Restore into the etcd of the cluster, or into one whose revisions begin beyond it (etcdutl snapshot restore --bump-revision)`,
      { op: 'restore' },
    );
  const counts: RestoredCounts = { written: 0, kept: 0, deleted: 0 };
  const wanted = new Set<string>();
  const put = async ([key, , value]: SnapshotItem): Promise<void> => {
    const current = await storage.get(key);
    if (current?.value === value) {
      counts.kept += 1;
      return;
    }
    requireDone(key, await storage.put(key, value, { expected: current?.revision ?? 0 }));
    counts.written += 1;
  };
  let batch: SnapshotItem[] = [];
  for await (const item of items) {
    wanted.add(item[0]);
    batch.push(item);
    if (batch.length < WRITES_AT_ONCE) continue;
    await Promise.all(batch.map(put));
    batch = [];
  }
  await Promise.all(batch.map(put));
  counts.deleted = await deleteOthers(storage, prefix, wanted);
  // This is done even if nothing changed, so that clients with older watches begin again.
  await storage.compact(await storage.revision());
  return counts;
}

async function deleteOthers(storage: StoreToRestore, prefix: string, wanted: ReadonlySet<string>): Promise<number> {
  let deleted = 0;
  let afterKey: string | undefined;
  for (;;) {
    const page = await storage.list(prefix, {
      limit: KEYS_OF_PAGE,
      isCounted: false,
      ...(afterKey !== undefined && { afterKey }),
    });
    const others = page.items.filter(({ key }) => !wanted.has(key));
    for (let first = 0; first < others.length; first += WRITES_AT_ONCE)
      await Promise.all(
        others
          .slice(first, first + WRITES_AT_ONCE)
          .map(async ({ key, revision }) => requireDone(key, await storage.delete(key, revision), 'may be gone')),
      );
    deleted += others.length;
    afterKey = page.items.at(-1)?.key;
    if (page.remaining === 0 || afterKey === undefined) return deleted;
  }
}

function requireDone(
  key: string,
  result: Awaited<ReturnType<Storage['put']>>,
  rule: 'must be written' | 'may be gone' = 'must be written',
): void {
  if (result.outcome === 'done') return;
  // Events end by their lease.
  if (rule === 'may be gone' && result.outcome === 'conflict' && result.current === undefined) return;
  throw new KubeletError('Conflict', `${key} was changed meanwhile: stop all control planes of this store first`, {
    op: 'restore',
  });
}
