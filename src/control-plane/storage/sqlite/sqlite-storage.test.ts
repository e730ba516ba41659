import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { isKind, KubeletError } from '../../../base/errors.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { storageContract } from '../testing/storage-contract.ts';
import { done } from '../testing/storage-fixture.ts';
import { WatchLog } from '../testing/watch-log.ts';
import { SqliteStorage } from './sqlite-storage.ts';

interface OpenStore {
  readonly folder: string;
  readonly file: string;
  readonly clock: FakeClock;
  readonly open: () => SqliteStorage;
}

function newStore(): OpenStore {
  const folder = mkdtempSync(path.join(tmpdir(), 'kts-sqlite-'));
  const clock = new FakeClock();
  const file = path.join(folder, 'state', 'state.db');
  return { folder, file, clock, open: () => new SqliteStorage({ file, clock, log: recordingLog() }) };
}

storageContract('SQLite', async () => {
  const { folder, clock, open } = newStore();
  let storage = open();
  return {
    storage,
    prefix: '/registry/',
    elapse: (seconds) => clock.advance(seconds * 1000),
    reopen: async () => {
      await storage.close();
      storage = open();
      return storage;
    },
    stop: async () => {
      await storage.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
});

describe('the store in a SQLite file', () => {
  let store: OpenStore;
  const opened: SqliteStorage[] = [];
  const open = (): SqliteStorage => {
    const storage = store.open();
    opened.push(storage);
    return storage;
  };
  beforeEach(() => void (store = newStore()));
  afterEach(async () => {
    for (const storage of opened.splice(0)) await storage.close();
    rmSync(store.folder, { recursive: true, force: true });
  });
  const refusal = (): KubeletError => {
    try {
      open();
    } catch (error) {
      if (error instanceof KubeletError) return error;
    }
    return assert.fail('it was opened, or failed with another error');
  };

  it('writes in the order it was asked, also where one that was in no hurry waited', async () => {
    const storage = open();
    const slow = storage.put('/slow', '', { expected: 0, unhurried: true });
    const quick = storage.put('/quick', '', { expected: 0 });
    const [first, second] = await Promise.all([slow, quick]);
    assert.ok(done(first) < done(second));
  });

  it('shares one commit between the writes of one turn, and one in no hurry waits for another or for 100 ms', async () => {
    const storage = open();
    const log = new WatchLog(storage, '/', 1);
    await Promise.all(['/a', '/b', '/c'].map((key) => storage.put(key, '', { expected: 0 })));
    const slow = storage.put('/slow', '', { expected: 0, unhurried: true });
    await store.clock.advance(99);
    assert.deepEqual(
      log.calls.map((events) => events.length),
      [3],
    );
    await Promise.all([storage.put('/quick', '', { expected: 0 }), slow]);
    assert.deepEqual(
      log.calls.map((events) => events.map(({ key }) => key)),
      [
        ['/a', '/b', '/c'],
        ['/slow', '/quick'],
      ],
    );
    const alone = storage.put('/alone', '', { expected: 0, unhurried: true });
    await store.clock.advance(100);
    done(await alone);
    assert.equal(log.calls.length, 3);
  });

  it('takes only so much into one commit, and one write however large', async () => {
    const { file, clock } = store;
    const announcedBefore: number[] = [];
    const flush = async (): Promise<void> => void announcedBefore.push(log.events.length);
    const storage = new SqliteStorage({ file, clock, log: recordingLog(), flush });
    opened.push(storage);
    const log = new WatchLog(storage, '/', 1);
    const large = 'x'.repeat(1_500_000);
    const small = Array.from({ length: 300 }, (_, i) => storage.put(`/small/${i}`, '', { expected: 0 }));
    await Promise.all([
      ...small,
      ...[1, 2, 3].map((i) => storage.put(`/large/${i}`, large, { expected: 0 })),
      storage.put('/huge', 'x'.repeat(5_000_000), { expected: 0 }),
    ]);
    assert.deepEqual([announcedBefore, log.events.length], [[0, 256, 302, 303], 304]);
  });

  it('announces the writes of a commit a few at a time, each before its writer is answered', async () => {
    const storage = open();
    const log = new WatchLog(storage, '/', 1);
    const announcedAtAnswer: number[] = [];
    const revisions: number[] = [];
    await Promise.all(
      Array.from({ length: 200 }, async (_, i) => {
        await storage.put(`/a/${i}`, '', { expected: 0 });
        announcedAtAnswer.push(log.events.length);
        revisions.push(await storage.revision());
      }),
    );
    assert.ok(log.calls.length > 1 && log.calls.every((events) => events.length <= 64), String(log.calls.length));
    assert.ok(announcedAtAnswer.every((announced, i) => announced > i));
    assert.ok(revisions.every((revision, i) => revision >= i + 2));
  });

  it('keeps the file from all users but its own', async () => {
    const storage = open();
    done(await storage.put('/a', '', { expected: 0 }));
    assert.deepEqual(
      [store.file, `${store.file}-wal`, path.dirname(store.file)].map((each) => statSync(each).mode & 0o777),
      [0o600, 0o600, 0o700],
    );
  });

  describe('while a commit is on its way to the disk', () => {
    /** A disk that is slow, or fails. */
    class SlowDisk {
      readonly waiting: { resolve: () => void; reject: (error: Error) => void }[] = [];
      readonly flush = (): Promise<void> =>
        new Promise((resolve, reject) => void this.waiting.push({ resolve, reject }));
    }
    const openOn = (disk: SlowDisk): SqliteStorage => {
      const storage = new SqliteStorage({
        file: store.file,
        clock: store.clock,
        log: recordingLog(),
        flush: disk.flush,
      });
      opened.push(storage);
      return storage;
    };
    const settle = (): Promise<void> => store.clock.settle();

    it('reveals it to no writer, no watcher old or new, no reader', async () => {
      const disk = new SlowDisk();
      const storage = openOn(disk);
      const finished: string[] = [];
      const noteWhenDone = (name: string, work: Promise<unknown>): void => void work.then(() => finished.push(name));
      const early = new WatchLog(storage, '/', 1);
      noteWhenDone('writer', storage.put('/a', '1', { expected: 0 }));
      await settle();
      const late = new WatchLog(storage, '/', 1);
      noteWhenDone('get', storage.get('/a'));
      noteWhenDone('list', storage.list('/'));
      const revision = storage.revision();
      noteWhenDone('conflict', storage.put('/a', '2', { expected: 0 }));
      for (let i = 0; i < 5; i++) await settle();
      assert.deepEqual([finished, early.events.length, late.events.length, disk.waiting.length], [[], 0, 0, 1]);
      disk.waiting[0]?.resolve();
      for (let i = 0; i < 5; i++) await settle();
      assert.deepEqual(
        [finished.toSorted(), early.words, late.words, disk.waiting.length],
        [['conflict', 'get', 'list', 'writer'], ['put /a=1'], ['put /a=1'], 1],
      );
      assert.deepEqual([await revision, await storage.revision()], [1, 2]);
    });

    it('gathers what is asked for meanwhile into the next, and closes after both', async () => {
      const disk = new SlowDisk();
      const storage = openOn(disk);
      const log = new WatchLog(storage, '/', 1);
      const writes = [storage.put('/a', '', { expected: 0 })];
      await settle();
      writes.push(storage.put('/b', '', { expected: 0 }));
      await settle();
      writes.push(storage.put('/c', '', { expected: 0 }));
      const closing = storage.close();
      for (let i = 0; i < 2; i++) {
        await settle();
        assert.equal(disk.waiting.length, i + 1);
        disk.waiting[i]?.resolve();
      }
      assert.deepEqual((await Promise.all(writes)).map(done), [2, 3, 4]);
      await closing;
      assert.deepEqual(
        log.calls.map((events) => events.length),
        [1, 2],
      );
    });

    it('and the disk fails: the writers get errors, and no write is acknowledged until the store is opened again', async () => {
      const disk = new SlowDisk();
      const storage = openOn(disk);
      const log = new WatchLog(storage, '/', 1);
      const lost = (error: unknown): boolean =>
        error instanceof KubeletError &&
        error.kind === 'Unavailable' &&
        error.message.includes('could not be flushed') &&
        error.message.includes(store.file);
      const write = assert.rejects(storage.put('/a', '', { expected: 0 }), lost);
      await settle();
      const rest = [storage.get('/a'), storage.put('/b', '', { expected: 0 })].map((each) =>
        assert.rejects(each, lost),
      );
      disk.waiting[0]?.reject(new Error('EIO: i/o error, fdatasync'));
      await Promise.all([write, ...rest]);
      await assert.rejects(storage.check(), lost);
      await assert.rejects(storage.put('/c', '', { expected: 0 }), lost);
      assert.deepEqual(log.calls, []);
    });
  });

  it('judges each write of a shared commit after those before it', async () => {
    const storage = open();
    const results = await Promise.all([
      storage.put('/a', '1', { expected: 0 }),
      storage.put('/a', '2', { expected: 2 }),
      storage.delete('/a', 3),
      storage.put('/a', '3', { expected: 0 }),
    ]);
    assert.deepEqual(
      results.map((result) => done(result)),
      [2, 3, 4, 5],
    );
  });

  it('expires keys across a restart, those of about the same time in one commit', async () => {
    const first = open();
    await store.clock.advance(500);
    done(await first.put('/a', '', { expected: 0, ttlSeconds: 60 }));
    await store.clock.advance(500);
    done(await first.put('/b', '', { expected: 0, ttlSeconds: 60 }));
    done(await first.put('/c', '', { expected: 0, ttlSeconds: 3600 }));
    await first.close();
    const storage = open();
    const log = new WatchLog(storage, '/', await storage.revision());
    await store.clock.advance(59_000);
    assert.equal(log.calls.length, 0);
    await store.clock.advance(4000);
    await log.until(() => log.calls.length > 0);
    assert.deepEqual(
      log.calls.map((events) => events.map(({ type, key }) => `${type} ${key}`)),
      [['delete /a', 'delete /b']],
    );
    assert.equal(store.clock.armedTimers, 1);
  });

  it('expires more keys than one commit takes', async () => {
    const storage = open();
    await Promise.all(Array.from({ length: 600 }, (_, i) => storage.put(`/${i}`, '', { expected: 0, ttlSeconds: 10 })));
    await store.clock.advance(9_000);
    assert.equal((await storage.list('/')).items.length, 600);
    while ((await storage.list('/')).items.length > 0) await store.clock.advance(1000);
    assert.ok(store.clock.monotonicMs() < 20_000);
  });

  it('keeps another opener out of the file and says so', async () => {
    const storage = open();
    done(await storage.put('/a', '', { expected: 0 }));
    const error = refusal();
    assert.deepEqual(
      [error.kind, error.message.includes(store.file), error.message.includes('another process')],
      ['Conflict', true, true],
    );
    await storage.close();
    assert.equal((await open().get('/a'))?.value, '');
  });

  it('keeps other processes out too, also after this one has tried to open it twice', async () => {
    const storage = open();
    done(await storage.put('/a', '', { expected: 0 }));
    assert.equal(refusal().kind, 'Conflict');
    const script = `const { DatabaseSync } = require('node:sqlite'); new DatabaseSync(${JSON.stringify(store.file)}).exec('BEGIN IMMEDIATE')`;
    const other = spawnSync(process.execPath, ['--eval', script], { encoding: 'utf8' });
    assert.deepEqual([other.status, /database is locked/.test(other.stderr)], [1, true]);
  });

  it('the SQLite store does not touch a file that is no database, or the database of another program, or of a later version', async () => {
    const storage = open();
    await storage.close();
    const good = readFileSync(store.file);
    writeFileSync(store.file, 'not a database, but long enough to be read. '.repeat(50));
    assert.deepEqual([refusal().kind, /damaged/.test(refusal().message)], ['Internal', true]);
    rmSync(store.file);
    const foreign = new DatabaseSync(store.file);
    foreign.exec('CREATE TABLE x (y)');
    foreign.close();
    assert.deepEqual([refusal().kind, /another program/.test(refusal().message)], ['Invalid', true]);
    writeFileSync(store.file, good);
    const later = new DatabaseSync(store.file);
    later.exec('PRAGMA user_version = 2');
    later.close();
    assert.deepEqual([refusal().kind, /format 2, known is 1/.test(refusal().message)], ['Invalid', true]);
  });

  it('reads a file of the first format, written as that format was', async () => {
    mkdirSync(path.dirname(store.file), { recursive: true });
    const first = new DatabaseSync(store.file);
    first.exec(`
      PRAGMA auto_vacuum = INCREMENTAL;
      CREATE TABLE history (revision INTEGER PRIMARY KEY, key TEXT NOT NULL, previous INTEGER NOT NULL, deleted INTEGER NOT NULL, value TEXT NOT NULL);
      CREATE TABLE keys (key TEXT PRIMARY KEY, revision INTEGER NOT NULL, deleted INTEGER NOT NULL, expires INTEGER) WITHOUT ROWID;
      CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
      INSERT INTO meta VALUES ('compacted', 2), ('swept', 2);
      INSERT INTO history VALUES (2, '/a', 0, 0, 'one'), (3, '/b', 0, 0, 'two'), (4, '/b', 3, 1, '');
      INSERT INTO keys VALUES ('/a', 2, 0, NULL), ('/b', 4, 1, NULL);
      PRAGMA application_id = 1801678963;
      PRAGMA user_version = 1;
    `);
    first.close();
    const storage = open();
    const list = await storage.list('/');
    assert.deepEqual([list.revision, list.items], [4, [{ key: '/a', value: 'one', revision: 2 }]]);
    assert.deepEqual(await storage.put('/b', 'again', { expected: 0 }), { outcome: 'done', revision: 5 });
  });

  it('says of a damaged file that it is damaged, and which', async () => {
    const storage = open();
    await Promise.all(Array.from({ length: 300 }, (_, i) => storage.put(`/${i}`, 'x'.repeat(1000), { expected: 0 })));
    await storage.close();
    const content = readFileSync(store.file);
    content.fill(0xa5, 8 * 4096, 60 * 4096);
    writeFileSync(store.file, content);
    await assert.rejects(
      async () => open().list('/'),
      (error) =>
        error instanceof KubeletError &&
        error.kind === 'Internal' &&
        error.message.startsWith(`${store.file} is damaged`),
    );
  });

  it('refuses writes with the reason while there is no room, keeps what was there, and goes on when there is', async () => {
    const limited = open();
    const kept = done(await limited.put('/kept', '1', { expected: 0 }));
    const log = new WatchLog(limited, '/', kept);
    limited.limitPages(40);
    const full = (error: unknown): boolean =>
      error instanceof KubeletError &&
      error.kind === 'Unavailable' &&
      error.message.includes('the disk is full') &&
      error.message.includes(store.file);
    const big = 'x'.repeat(400_000);
    const both = await Promise.allSettled([
      limited.put('/small', '1', { expected: 0 }),
      limited.put('/big', big, { expected: 0 }),
    ]);
    assert.deepEqual(
      both.map((result) => result.status === 'rejected' && full(result.reason)),
      [true, true],
    );
    assert.deepEqual(
      [await limited.revision(), (await limited.list('/')).items.length, log.calls.length],
      [kept, 1, 0],
    );
    limited.limitPages(100_000);
    await limited.check();
    assert.equal(done(await limited.put('/big', big, { expected: 0 })), kept + 1);
    assert.deepEqual(
      log.words.map((word) => word.slice(0, 8)),
      ['put /big'],
    );
  });

  it('gives the disk back what is forgotten', async () => {
    const storage = open();
    let revision = 0;
    for (let round = 0; round < 40; round++) {
      const stands = revision;
      revision = done(await storage.put('/lease', 'x'.repeat(500_000), { expected: stands }));
    }
    const before = await storage.sizeBytes();
    await storage.compact(revision);
    const after = await storage.sizeBytes();
    assert.ok(before > 20_000_000 && after < 6_000_000, `${before} bytes before, ${after} after`);
    assert.equal((await storage.get('/lease'))?.revision, revision);
  });

  it('writes no more than three pages of the log for an event', async () => {
    const storage = open();
    const event = (i: number): Promise<unknown> =>
      storage.put(`/registry/events/default/event-${i}`, 'x'.repeat(900), { expected: 0, ttlSeconds: 3600 });
    for (let i = 0; i < 100; i++) await event(i);
    const before = await storage.sizeBytes();
    for (let i = 100; i < 200; i++) await event(i);
    const pages = ((await storage.sizeBytes()) - before) / 4120;
    assert.ok(pages > 100 && pages <= 300, `${pages} pages for 100 events`);
  });

  it('finishes after a restart what a compaction had begun', async () => {
    const storage = open();
    let revision = 0;
    for (let round = 0; round < 500; round++)
      revision = done(await storage.put('/lease', String(round), { expected: revision }));
    const compacting = storage.compact(revision);
    await storage.close();
    await compacting;
    const again = open();
    await again.compact(revision);
    await again.close();
    const database = new DatabaseSync(store.file);
    const { count } = database.prepare('SELECT count(*) AS count FROM history').get() as { count: number };
    database.close();
    assert.equal(count, 1);
  });

  it('leaves no timer behind when closed', async () => {
    const storage = open();
    done(await storage.put('/a', '', { expected: 0, ttlSeconds: 60 }));
    const pending = storage.put('/b', '', { expected: 0, unhurried: true });
    await storage.close();
    done(await pending);
    assert.equal(store.clock.armedTimers, 0);
    await assert.rejects(storage.revision(), (error) => isKind(error, 'Aborted'));
  });
});
