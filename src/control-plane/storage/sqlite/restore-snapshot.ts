import { existsSync, rmSync } from 'node:fs';
import { KubeletError } from '../../../base/errors.ts';
import type { SnapshotItem } from '../snapshot/snapshot-file.ts';
import { openDatabase, storageError } from './sqlite-database.ts';

/**
 * Revisions that clients may have seen and that the snapshot does not have: the restored store begins beyond them, so
 * that no resource version is ever used twice (etcdutl recommends the same number for its --bump-revision).
 */
const SKIPPED_REVISIONS = 1_000_000_000;
const ITEMS_PER_TRANSACTION = 1_000;

export interface RestoredStore {
  put(item: SnapshotItem): void;
  /** Ends the store: all is compacted, so lists and watches from before get 410 and list again. */
  finish(revision: number): void;
  /** Removes what was written so far. */
  abandon(): void;
}

/** Makes a store at `file`, which must not be there. Objects keep their resource versions. */
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
