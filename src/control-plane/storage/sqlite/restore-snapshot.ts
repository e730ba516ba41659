import { existsSync, rmSync } from 'node:fs';
import { KubeletError } from '../../../base/errors.ts';
import type { SnapshotItem } from '../snapshot/snapshot-file.ts';
import { openDatabase, storageError } from './sqlite-database.ts';

/**
 * The number of skipped revisions. Clients may have seen revisions after the snapshot, so the restored store begins
 * beyond them, and no resource version is used twice (etcdutl recommends the same number for its --bump-revision).
 */
const SKIPPED_REVISIONS = 1_000_000_000;
const ITEMS_PER_TRANSACTION = 1_000;

export interface RestoredStore {
  put(item: SnapshotItem): void;
  /** Completes the store. Everything is compacted, so earlier lists and watches get 410 and clients list again. */
  finish(revision: number): void;
  /** Removes what was written so far. */
  abandon(): void;
}

/** Creates a store at `file`, which must not exist. Objects keep their resource versions. */
export function restoreSqlite(file: string): RestoredStore {
  if (existsSync(file))
    throw new KubeletError('Conflict', `${file} already exists: move it aside before restoring`, { op: 'restore' });
  const database = openDatabase(file);
  const history = database.prepare(
    'INSERT INTO history (revision, key, previous, deleted, value) VALUES (?, ?, 0, 0, ?)',
  );
  const keys = database.prepare('INSERT INTO keys (key, revision, deleted, expires) VALUES (?, ?, 0, NULL)');
  let written = 0;
  const guard = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      throw storageError('restore', file, error);
    }
  };
  return {
    put: ([key, revision, value]) =>
      guard(() => {
        if (written % ITEMS_PER_TRANSACTION === 0) database.exec(written === 0 ? 'BEGIN' : 'COMMIT; BEGIN');
        written += 1;
        history.run(revision, key, value);
        keys.run(key, revision);
      }),
    finish: (revision) =>
      guard(() => {
        if (written > 0) database.exec('COMMIT');
        const first = revision + SKIPPED_REVISIONS;
        database.exec(`UPDATE meta SET value = ${first} WHERE name IN ('compacted', 'swept')`);
        database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
        database.close();
      }),
    abandon: () => {
      database.close();
      for (const each of [file, `${file}-wal`]) rmSync(each, { force: true });
    },
  };
}
