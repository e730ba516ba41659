import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { KubeletError } from '../../../base/errors.ts';
import { keyAfter, prefixEnd } from '../key-range.ts';
import type { StorageEvent, StorageListOptions, StoredList, StoredValue, WriteGuard, WriteResult } from '../storage.ts';

/** A write with a waiting caller. If `value` is undefined, it deletes the key. */
export interface Write {
  readonly key: string;
  readonly expected: number;
  readonly value: string | undefined;
  /** Seconds since 1970. */
  readonly expiresAtSeconds?: number;
  readonly guard?: WriteGuard;
}

interface KeyRow {
  readonly revision: number;
  readonly deleted: number;
}
interface HistoryRow {
  readonly revision: number;
  readonly key: string;
  readonly previous: number;
  readonly deleted: number;
  readonly value: string;
}

/** A text after all keys, because no key begins with this noncharacter twice. */
const LAST_KEY = '\u{10ffff}\u{10ffff}';

/**
 * Contains all SQL that reads and writes keys in the tables of `sqlite-database.ts`. Writing methods must be called in
 * `transaction`. All calls are synchronous. The revision and the compacted revision are also kept in memory, and are
 * correct after a failed transaction.
 */
export class History {
  readonly #database: DatabaseSync;
  readonly #statements: ReturnType<typeof prepare>;
  #revision = 1;
  #compacted = 1;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#statements = prepare(database);
    this.#readMarks();
  }

  get revision(): number {
    return this.#revision;
  }

  get compacted(): number {
    return this.#compacted;
  }

  /**
   * Runs `work` in a transaction. When it returns, the changes are in the log, and they are durable when the log is
   * flushed. When it throws, there are no changes.
   */
  transaction<T>(work: () => T): T {
    this.#statements.begin.run();
    try {
      const result = work();
      this.#statements.commit.run();
      return result;
    } catch (error) {
      // Some failures (a full disk) have rolled back already.
      if (this.#database.isTransaction) this.#statements.rollback.run();
      this.#readMarks();
      throw error;
    }
  }

  get(key: string): StoredValue | undefined {
    const row = this.#statements.newest.get(key) as StoredValue | undefined;
    return row === undefined ? undefined : storedValue(row);
  }

  /** Checks the conditions and writes. The events for watchers are added to `events`. */
  write(write: Write, events: StorageEvent[]): WriteResult {
    const { key, expected, value, guard } = write;
    if (guard !== undefined && this.get(guard.key)?.revision !== guard.revision) return { outcome: 'fenced' };
    const found = this.#statements.find.get(key) as KeyRow | undefined;
    const current = found === undefined || found.deleted === 1 ? 0 : found.revision;
    if (current !== expected || (value === undefined && current === 0))
      return { outcome: 'conflict', current: current === 0 ? undefined : this.get(key) };
    const revision = this.#append({
      key,
      previous: found?.revision ?? 0,
      value,
      expires: write.expiresAtSeconds,
      events,
    });
    return { outcome: 'done', revision };
  }

  /** Deletes the keys whose newest writes these are. */
  expire(revisions: readonly number[], events: StorageEvent[]): void {
    for (const revision of revisions) {
      const row = this.#statements.newestKey.get(revision) as { key: string } | undefined;
      if (row !== undefined) this.#append({ key: row.key, previous: revision, value: undefined, events });
    }
  }

  /** Iterates over all keys that expire. */
  *expiries(): Generator<{ readonly revision: number; readonly atSeconds: number }> {
    for (const row of this.#statements.expiries.iterate())
      yield row as unknown as { revision: number; atSeconds: number };
  }

  list(prefix: string, options: StorageListOptions): StoredList {
    const { limit = 0, afterKey, revision = this.#revision, isCounted = true } = options;
    if (revision > this.#revision)
      throw new KubeletError('Invalid', `revision ${revision} is in the future, the newest is ${this.#revision}`, {
        op: 'list',
      });
    if (revision < this.#compacted)
      throw new KubeletError('Conflict', `revision ${revision} is compacted, the oldest is ${this.#compacted}`, {
        op: 'list',
      });
    const from = afterKey?.startsWith(prefix) === true ? keyAfter(afterKey) : prefix;
    const end = prefixEnd(prefix) ?? LAST_KEY;
    return revision === this.#revision
      ? this.#listNewest(from, end, limit, isCounted)
      : this.#listAsOf(from, end, limit, { revision, isCounted });
  }

  #listNewest(from: string, end: string, limit: number, isCounted: boolean): StoredList {
    // -1 is SQLite's word for no limit.
    const most = limit === 0 ? -1 : limit + (isCounted ? 0 : 1);
    const rows = this.#statements.listNewest.all(from, end, most) as unknown as StoredValue[];
    const items = rows.slice(0, limit === 0 ? rows.length : limit).map(storedValue);
    if (!isCounted) return { items, revision: this.#revision, remaining: rows.length - items.length };
    const last = items.at(-1);
    const full = limit > 0 && items.length === limit && last !== undefined;
    const remaining = full ? (this.#statements.count.get(keyAfter(last.key), end) as { count: number }).count : 0;
    return { items, revision: this.#revision, remaining };
  }

  /** Lists keys at an earlier revision, by following each key's writes back from the newest one. */
  #listAsOf(
    from: string,
    end: string,
    limit: number,
    { revision, isCounted }: { readonly revision: number; readonly isCounted: boolean },
  ): StoredList {
    const items: StoredValue[] = [];
    let remaining = 0;
    for (const row of this.#statements.keysOf.iterate(from, end)) {
      const { key, revision: newest } = row as unknown as { key: string; revision: number };
      const standing = this.#standingAt(newest, revision);
      if (standing === undefined) continue;
      if (limit > 0 && items.length === limit) {
        remaining++;
        if (!isCounted) break;
      } else items.push({ key, value: this.#valueOf(standing), revision: standing });
    }
    return { items, revision, remaining };
  }

  /**
   * Returns the write that was valid at `revision`, from the chain that ends with `newest`; undefined if the key did
   * not exist.
   */
  #standingAt(newest: number, revision: number): number | undefined {
    let at = newest;
    for (;;) {
      const row = this.#statements.link.get(at) as { previous: number; deleted: number } | undefined;
      if (row === undefined) return undefined;
      if (at <= revision) return row.deleted === 1 ? undefined : at;
      at = row.previous;
    }
  }

  #valueOf(revision: number): string {
    return (this.#statements.value.get(revision) as { value: string }).value;
  }

  /**
   * Returns the first `limit` writes after `after` and up to `last`, of all keys. The revision of the last one is the
   * position for the next call.
   */
  eventsAfter(after: number, last: number, limit: number): StorageEvent[] {
    const rows = this.#statements.since.all(after, last, limit) as unknown as HistoryRow[];
    return rows.map(({ revision, key, deleted, value }) => ({
      type: deleted === 1 ? 'delete' : 'put',
      key,
      value,
      revision,
    }));
  }

  /** Makes lists and watches before `revision` fail from now on. `sweep` deletes the rows. */
  compact(revision: number): void {
    if (revision > this.#revision)
      throw new KubeletError('Invalid', `revision ${revision} is in the future, the newest is ${this.#revision}`, {
        op: 'compact',
      });
    if (revision <= this.#compacted) return;
    this.#statements.setMark.run(revision, 'compacted');
    this.#compacted = revision;
  }

  /** Whether no compacted rows are left. */
  get swept(): boolean {
    return this.#sweptTo() >= this.#compacted;
  }

  /**
   * Deletes what the next `limit` writes replaced, and those of them that are deletions. Returns true when everything
   * up to the compacted revision is deleted. Each write is checked once, so the cost depends on the number of writes
   * and not on the size of the store.
   */
  sweep(limit: number): boolean {
    const swept = this.#sweptTo();
    if (swept >= this.#compacted) return true;
    const rows = this.#statements.links.all(swept, this.#compacted, limit) as unknown as {
      revision: number;
      key: string;
      previous: number;
      deleted: number;
    }[];
    for (const { revision, key, previous, deleted } of rows) {
      if (previous !== 0) this.#statements.forget.run(previous);
      if (deleted === 0) continue;
      this.#statements.forget.run(revision);
      this.#statements.forgetKey.run(key, revision);
    }
    const done = rows.length < limit;
    this.#statements.setMark.run(done ? this.#compacted : (rows.at(-1)?.revision ?? this.#compacted), 'swept');
    return done;
  }

  /** Makes a write that changes nothing, to check whether writes work. */
  touch(): void {
    this.#statements.setMark.run(this.#compacted, 'compacted');
  }

  #sweptTo(): number {
    return (this.#statements.getMark.get('swept') as { value: number }).value;
  }

  #append({
    key,
    previous,
    value,
    expires,
    events,
  }: {
    key: string;
    previous: number;
    value: string | undefined;
    expires?: number | undefined;
    events: StorageEvent[];
  }): number {
    const revision = this.#revision + 1;
    const deleted = value === undefined ? 1 : 0;
    this.#statements.insert.run(revision, key, previous, deleted, value ?? '');
    this.#statements.setKey.run(key, revision, deleted, expires ?? null);
    this.#revision = revision;
    events.push({ type: value === undefined ? 'delete' : 'put', key, value: value ?? '', revision });
    return revision;
  }

  /**
   * Reads the revisions. It includes the compacted revision, because after everything was deleted and swept, no row
   * contains the store's last revision.
   */
  #readMarks(): void {
    const { newest } = this.#statements.newestRevision.get() as { newest: number | null };
    this.#compacted = (this.#statements.getMark.get('compacted') as { value: number }).value;
    this.#revision = Math.max(newest ?? 0, this.#compacted);
  }
}

/** Copies the row to an ordinary object, because rows have no prototype. */
function storedValue({ key, value, revision }: StoredValue): StoredValue {
  return { key, value, revision };
}

function prepare(database: DatabaseSync) {
  const sql = (text: string): StatementSync => database.prepare(text);
  return {
    begin: sql('BEGIN IMMEDIATE'),
    commit: sql('COMMIT'),
    rollback: sql('ROLLBACK'),
    newestRevision: sql('SELECT max(revision) AS newest FROM history'),
    getMark: sql('SELECT value FROM meta WHERE name = ?'),
    setMark: sql('UPDATE meta SET value = ? WHERE name = ?'),
    find: sql('SELECT revision, deleted FROM keys WHERE key = ?'),
    newest: sql(
      'SELECT h.key, h.value, h.revision FROM keys k JOIN history h ON h.revision = k.revision WHERE k.key = ? AND k.deleted = 0',
    ),
    insert: sql('INSERT INTO history (revision, key, previous, deleted, value) VALUES (?, ?, ?, ?, ?)'),
    setKey: sql(`INSERT INTO keys (key, revision, deleted, expires) VALUES (?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET revision = excluded.revision, deleted = excluded.deleted, expires = excluded.expires`),
    listNewest: sql(`SELECT k.key, h.value, h.revision FROM keys k CROSS JOIN history h ON h.revision = k.revision
      WHERE k.key >= ? AND k.key < ? AND k.deleted = 0 ORDER BY k.key LIMIT ?`),
    count: sql('SELECT count(*) AS count FROM keys WHERE key >= ? AND key < ? AND deleted = 0'),
    keysOf: sql('SELECT key, revision FROM keys WHERE key >= ? AND key < ? ORDER BY key'),
    link: sql('SELECT previous, deleted FROM history WHERE revision = ?'),
    links: sql(
      'SELECT revision, key, previous, deleted FROM history WHERE revision > ? AND revision <= ? ORDER BY revision LIMIT ?',
    ),
    value: sql('SELECT value FROM history WHERE revision = ?'),
    since: sql(
      'SELECT revision, key, deleted, value FROM history WHERE revision > ? AND revision <= ? ORDER BY revision LIMIT ?',
    ),
    forget: sql('DELETE FROM history WHERE revision = ?'),
    forgetKey: sql('DELETE FROM keys WHERE key = ? AND revision = ?'),
    newestKey: sql(
      'SELECT k.key FROM history h JOIN keys k ON k.key = h.key AND k.revision = h.revision WHERE h.revision = ? AND h.deleted = 0',
    ),
    expiries: sql('SELECT revision, expires AS atSeconds FROM keys WHERE expires IS NOT NULL AND deleted = 0'),
  };
}
