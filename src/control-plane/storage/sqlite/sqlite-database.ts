import { closeSync, existsSync, mkdirSync, openSync, statSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { errorMessage, KubeletError } from '../../../base/errors.ts';

/**
 * The application id of our files ('kcps'), so that the database of another program is never used as the cluster's
 * state.
 */
const APPLICATION_ID = 0x6b637073;
const FORMAT_VERSION = 1;

/** The size of the page cache; negative values are kibibytes. */
const PAGE_CACHE = -6144;
/**
 * The write-ahead log is copied to the file when it has grown to this number of 4 KiB pages, and is truncated to this
 * number of bytes then.
 */
const CHECKPOINT_PAGES = 1000;
const KEPT_LOG_BYTES = 8 * 1024 * 1024;

/**
 * - `history`: one row per write that is not swept. `previous` is the revision that it replaced (0 for none), so the
 *   versions of a key are a chain. `value` is the last column, so that queries without it do not read it.
 * - `keys`: the newest write of each key, including deletions until they are swept. `expires` is in seconds since 1970,
 *   for keys that expire.
 * - `meta`: `compacted`, and the revision up to which rows were swept (`swept`).
 */
const TABLES = `
  CREATE TABLE history (revision INTEGER PRIMARY KEY, key TEXT NOT NULL, previous INTEGER NOT NULL, deleted INTEGER NOT NULL, value TEXT NOT NULL);
  CREATE TABLE keys (key TEXT PRIMARY KEY, revision INTEGER NOT NULL, deleted INTEGER NOT NULL, expires INTEGER) WITHOUT ROWID;
  CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
  INSERT INTO meta VALUES ('compacted', 1), ('swept', 1);
`;

/**
 * Opens the store's file. It creates missing files and folders, and excludes every other process until it is closed or
 * this process ends. Errors name the file and what to do. Their kind is `Conflict` if another process uses it,
 * `Invalid` if it is not such a store, and `Internal` if it is damaged.
 */
export function openDatabase(file: string): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    createFile(file);
    database = new DatabaseSync(file, { timeout: 0 });
    // The kernel's lock on the file ends with the process. With it the index of the log needs no shared memory.
    database.exec('PRAGMA locking_mode = EXCLUSIVE');
    checkMark(database, file);
    const isNew = pragma(database, 'user_version') === 0;
    // The vacuum mode can only be set before the first table. Later it would be a write, and a full disk would prevent
    // opening the store.
    if (isNew) database.exec('PRAGMA auto_vacuum = INCREMENTAL');
    // With NORMAL, SQLite flushes only where the file could otherwise be damaged (checkpoints). The code that waits for
    // commits flushes them.
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
    database.exec(`PRAGMA cache_size = ${PAGE_CACHE}; PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY`);
    database.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}; PRAGMA journal_size_limit = ${KEPT_LOG_BYTES}`);
    database.exec('BEGIN EXCLUSIVE');
    if (isNew)
      database.exec(`${TABLES} PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${FORMAT_VERSION}`);
    database.exec('COMMIT');
    return database;
  } catch (error) {
    database?.close();
    throw storageError('open', file, error);
  }
}

/**
 * Creates the file with access for its owner only, because it contains Secrets. SQLite gives the log beside it the same
 * mode. An existing file is not opened, because closing any descriptor of it would end the lock of a store that this
 * process may have open (fcntl(2)).
 */
function createFile(file: string): void {
  if (!existsSync(file)) closeSync(openSync(file, 'ax', 0o600));
}

/** Refuses the databases of other programs and of later versions. */
function checkMark(database: DatabaseSync, file: string): void {
  const version = pragma(database, 'user_version');
  const mark = pragma(database, 'application_id');
  if (mark === APPLICATION_ID && version === FORMAT_VERSION) return;
  if (mark === APPLICATION_ID) {
    throw new KubeletError(
      'Invalid',
      `${file} was written by another version of this program (format ${version}, known is ${FORMAT_VERSION}): run that version`,
      { op: 'open' },
    );
  }
  const tables = database.prepare('SELECT count(*) AS count FROM sqlite_schema').get() as { count: number };
  if (mark !== 0 || tables.count > 0)
    throw new KubeletError(
      'Invalid',
      `${file} is the database of another program: name another file for the cluster's state`,
      { op: 'open' },
    );
}

export function pragma(database: DatabaseSync, name: string): number {
  const row = database.prepare(`PRAGMA ${name}`).get();
  return Number(Object.values(row ?? {})[0] ?? 0);
}

/** The primary result codes of SQLite's documentation. */
const sqlite = { busy: 5, readonly: 8, ioError: 10, corrupt: 11, full: 13, cannotOpen: 14, notADatabase: 26 };

/** Converts an error of SQLite to one that tells the user what to do. */
export function storageError(op: string, file: string, error: unknown): KubeletError {
  if (error instanceof KubeletError) return error;
  const extended =
    typeof error === 'object' && error !== null && 'errcode' in error && typeof error.errcode === 'number'
      ? error.errcode
      : undefined;
  const code = extended === undefined ? undefined : extended & 0xff;
  const said = `${errorMessage(error)}${extended === undefined ? '' : ` (SQLite ${extended})`}`;
  const options = { op, cause: error };
  if (code === sqlite.busy)
    return new KubeletError(
      'Conflict',
      `${file} is open in another process: stop that one (\`fuser ${file}\` names it), or name another file for this one`,
      options,
    );
  if (code === sqlite.full)
    return new KubeletError(
      'Unavailable',
      `nothing can be written to ${file}: the disk is full (${said}); free space below ${path.dirname(file)}, no restart is needed`,
      options,
    );
  if (code === sqlite.corrupt || code === sqlite.notADatabase) {
    return new KubeletError(
      'Internal',
      `${file} is damaged: ${said}; move it and its -wal aside and put a backup in its place`,
      options,
    );
  }
  if (code === sqlite.readonly || code === sqlite.cannotOpen)
    return new KubeletError(
      'Unavailable',
      `${file} cannot be ${op === 'open' ? 'opened' : 'written'}: ${said}; check its folder and rights`,
      options,
    );
  if (code === sqlite.ioError)
    return new KubeletError(
      'Unavailable',
      `${op} of ${file} failed: ${said}; look for errors of the disk in the kernel's log`,
      options,
    );
  return new KubeletError('Internal', `${op} of ${file} failed: ${said}`, options);
}

/** Returns the bytes of the file and of the log beside it. */
export function diskBytes(file: string): number {
  return [file, `${file}-wal`].reduce((sum, part) => sum + (statSync(part, { throwIfNoEntry: false })?.size ?? 0), 0);
}
