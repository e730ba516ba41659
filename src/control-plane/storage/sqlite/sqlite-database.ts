import { closeSync, existsSync, mkdirSync, openSync, statSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { errorMessage, KubeletError } from '../../../base/errors.ts';

/** The mark of our files ('kcps'), so that no other program's database is taken for the cluster's state. */
const APPLICATION_ID = 0x6b637073;
const FORMAT_VERSION = 1;

/** Bytes of the page cache, as SQLite wants them: kibibytes below zero. */
const PAGE_CACHE = -6144;
/**
 * The write-ahead log is copied into the file whenever it has grown to so many pages of 4 KiB, and keeps at most so
 * many bytes after that.
 */
const CHECKPOINT_PAGES = 1000;
const KEPT_LOG_BYTES = 8 * 1024 * 1024;

/**
 * - `history`: one row per write not yet forgotten; `previous` is the revision it replaced (0: none), so the versions
 *   of a key are a chain. `value` stands last: what does not need it does not read it.
 * - `keys`: the newest write of each key, deletions too until they are forgotten; `expires` in seconds since 1970, for
 *   keys with an end.
 * - `meta`: `compacted` and how far forgetting has come (`swept`).
 */
const TABLES = `
  CREATE TABLE history (revision INTEGER PRIMARY KEY, key TEXT NOT NULL, previous INTEGER NOT NULL, deleted INTEGER NOT NULL, value TEXT NOT NULL);
  CREATE TABLE keys (key TEXT PRIMARY KEY, revision INTEGER NOT NULL, deleted INTEGER NOT NULL, expires INTEGER) WITHOUT ROWID;
  CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
  INSERT INTO meta VALUES ('compacted', 1), ('swept', 1);
`;

/**
 * Opens the store's file, making it and its folder where missing, and keeps every other process out until it is closed
 * or this process dies. Rejections say which file and what to do: kind `Conflict` when another process has it,
 * `Invalid` when it is no store of ours, `Internal` when damaged.
 */
export function openDatabase(file: string): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    createFile(file);
    database = new DatabaseSync(file, { timeout: 0 });
    // The lock on the file is the kernel's and ends with the process; with it the index of the log needs no shared
    // memory.
    database.exec('PRAGMA locking_mode = EXCLUSIVE');
    checkMark(database, file);
    const isNew = pragma(database, 'user_version') === 0;
    // How free pages are given back can be chosen only before the first table; said later it would be a write, and a
    // full disk would not open.
    if (isNew) database.exec('PRAGMA auto_vacuum = INCREMENTAL');
    // NORMAL: SQLite flushes where the file could be damaged otherwise (checkpoints); commits are flushed by the code
    // that waits for them.
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
 * Secrets are in it, so it is its owner's alone; SQLite gives the log beside it the same mode. A file that is there is
 * not even opened: to close any descriptor of it would end the lock of a store that this process may have open already
 * (fcntl(2)).
 */
function createFile(file: string): void {
  if (!existsSync(file)) closeSync(openSync(file, 'ax', 0o600));
}

/** Refuses other programs' databases and those of later versions. */
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

/** Primary result codes, from SQLite's documentation. */
const sqlite = { busy: 5, readonly: 8, ioError: 10, corrupt: 11, full: 13, cannotOpen: 14, notADatabase: 26 };

/** What SQLite said, as what a person can act on. */
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

/** Bytes of the file and of the log beside it. */
export function diskBytes(file: string): number {
  return [file, `${file}-wal`].reduce((sum, part) => sum + (statSync(part, { throwIfNoEntry: false })?.size ?? 0), 0);
}
