import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isKind } from '../../../base/errors.ts';
import { silentLogger } from '../../../base/log.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { restoreSqlite } from '../sqlite/restore-snapshot.ts';
import { SqliteStorage } from '../sqlite/sqlite-storage.ts';
import type { Storage } from '../storage.ts';
import { WatchLog } from '../testing/watch-log.ts';
import { readSnapshotPage } from './read-page.ts';
import { restoreInto } from './restore-into.ts';
import type { StoreToRestore } from './restore-into.ts';
import { SNAPSHOT_FORMAT, SnapshotReader, SnapshotWriter } from './snapshot-file.ts';
import type { SnapshotItem } from './snapshot-file.ts';

const HEAD = { format: SNAPSHOT_FORMAT, revision: 900, createdAt: '2026-01-01T00:00:00.000Z', version: 'v1.36.0' };
const ITEMS: readonly SnapshotItem[] = [
  ['/registry/pods/a', 3, '{"kind":"Pod"}'],
  ['/registry/pods/b\n\u2028', 900, ''],
];

function rendered(items: readonly SnapshotItem[]): string {
  const writer = new SnapshotWriter();
  return [writer.head(HEAD), ...items.map((item) => writer.item(item)), writer.end()].join('');
}

function readAll(text: string): { items: SnapshotItem[]; count: number } {
  const reader = new SnapshotReader();
  const items: SnapshotItem[] = [];
  for (const line of text.split('\n').slice(0, text.endsWith('\n') ? -1 : undefined)) {
    const item = reader.read(line);
    if (item !== undefined) items.push(item);
  }
  return { items, count: reader.finish().items };
}
const isInvalid = (error: unknown): boolean => isKind(error, 'Invalid');

async function withFile<T>(use: (file: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(path.join(tmpdir(), 'kts-snapshot-'));
  try {
    return await use(path.join(folder, 'state.db'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
const opened = (file: string): SqliteStorage => new SqliteStorage({ file, clock: new FakeClock(), log: silentLogger });

describe('a snapshot file', () => {
  it('gives back what was written', () =>
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string(), fc.integer({ min: 1, max: 900 }), fc.string())), (items) => {
        assert.deepEqual(readAll(rendered(items)), { items, count: items.length });
      }),
    ));

  it('cut short anywhere, or with one changed character, is refused', () => {
    const text = rendered(ITEMS);
    for (let length = 0; length < text.length - 1; length++)
      assert.throws(() => readAll(text.slice(0, length)), isInvalid, `${length} characters`);
    for (let at = 0; at < text.length; at++) {
      if (text[at] === '\n') continue;
      const changed = text.slice(0, at) + (text[at] === '7' ? '8' : '7') + text.slice(at + 1);
      assert.throws(() => readAll(changed), isInvalid, `character ${at}`);
    }
  });

  it('of a later format is refused with what to do', () => {
    const text = rendered([]).replace(`"format":${SNAPSHOT_FORMAT}`, `"format":${SNAPSHOT_FORMAT + 1}`);
    assert.throws(() => readAll(text), /use a newer version/);
  });

  it('of the first format stays readable', () => {
    const released =
      '{"kubeletTsSnapshot":{"format":1,"revision":7,"createdAt":"2026-11-23T00:00:00.000Z","version":"v1.36.0"}}\n' +
      '["/registry/namespaces/default",5,"{}"]\n' +
      '{"items":1,"sha256":"a7b253767dbf4f5d210b75a5fb00a1660cf9955f835556325eeabea7c6505167"}\n';
    assert.deepEqual(readAll(released).items, [['/registry/namespaces/default', 5, '{}']]);
  });

  it('with lines of other kinds is refused', () => {
    for (const line of ['null', '[]', '{}', '["a",1]', '["a","1","b"]', '[1,1,"b"]', '7', 'no JSON', '["a",901,"new"]'])
      assert.throws(() => readAll(`${rendered([]).split('\n')[0]}\n${line}\n`), isInvalid, line);
  });
});

describe('pages of a snapshot', () => {
  it('show one revision while writes continue, without what expires', () =>
    withFile(async (file) => {
      const storage = opened(file);
      const keys = Array.from({ length: 100 }, (_, index) => `/registry/pods/${String(index).padStart(3, '0')}`);
      for (const key of keys) await storage.put(key, 'old', { expected: 0 });
      await storage.put('/registry/events/e', 'event', { expected: 0 });
      await storage.put('/other/key', 'other', { expected: 0 });
      const found: string[] = [];
      const below = { prefix: '/registry/', skipped: ['/registry/events/'] };
      let page = await readSnapshotPage(storage, {}, below);
      const { revision } = page;
      for (;;) {
        for (const [key, , value] of page.items) found.push(`${key} ${value}`);
        const last = keys.at(-1) ?? '';
        const current = await storage.get(last);
        await storage.put(last, 'new', { expected: current?.revision ?? 0 });
        if (page.next === undefined) break;
        page = await readSnapshotPage(storage, { revision, after: page.next }, below);
        assert.equal(page.revision, revision);
      }
      assert.deepEqual(
        found,
        keys.map((key) => `${key} old`),
      );
      await storage.close();
    }));

  it('hold 4 MiB of text and one object at most, and read few objects at once', async () => {
    const mebibyte = 'ä'.repeat(512 * 1024);
    const keys = Array.from({ length: 40 }, (_, index) => `/registry/pods/${String(index).padStart(3, '0')}`);
    let largest = 0;
    const storage: Pick<Storage, 'list'> = {
      list: (_prefix, { limit = Infinity, afterKey = '' } = {}) => {
        const rest = keys.filter((key) => key > afterKey);
        largest = Math.max(largest, limit);
        const items = rest.slice(0, limit).map((key, index) => ({ key, revision: index + 1, value: mebibyte }));
        return Promise.resolve({ items, revision: 7, remaining: rest.length > limit ? 1 : 0 });
      },
    };
    const sizes: number[] = [];
    const found: string[] = [];
    for (let after: string | undefined, more = true; more; ) {
      const page = await readSnapshotPage(
        storage,
        { revision: 7, ...(after !== undefined && { after }) },
        { prefix: '/registry/', skipped: [] },
      );
      sizes.push(page.items.length);
      found.push(...page.items.map(([key]) => key));
      after = page.next;
      more = after !== undefined;
    }
    assert.deepEqual([found, largest], [keys, 16]);
    assert.deepEqual(
      sizes,
      Array.from({ length: 10 }, () => 4),
    );
  });

  it('snapshot pages of a revision that is compacted meanwhile are refused', () =>
    withFile(async (file) => {
      const storage = opened(file);
      await storage.put('/registry/a', '1', { expected: 0 });
      const { revision } = await readSnapshotPage(storage, {}, { prefix: '/registry/', skipped: [] });
      await storage.put('/registry/b', '1', { expected: 0 });
      await storage.compact(await storage.revision());
      await assert.rejects(
        readSnapshotPage(storage, { revision, after: '/registry/a' }, { prefix: '/registry/', skipped: [] }),
        (error) => isKind(error, 'Conflict'),
      );
      await storage.close();
    }));
});

describe('a restored store', () => {
  it('has the objects with their resource versions, and ends watches and lists from before', () =>
    withFile(async (file) => {
      const restored = restoreSqlite(file);
      for (const item of ITEMS) restored.put(item);
      restored.finish(900);
      const storage = opened(file);
      const list = await storage.list('/registry/');
      assert.deepEqual(
        list.items.map(({ key, revision, value }) => [key, revision, value]),
        ITEMS,
      );
      assert.ok(list.revision > 900 + 1_000_000);
      const watch = new WatchLog(storage, '/registry/', 901);
      await watch.until(() => watch.ended !== undefined);
      assert.equal(watch.ended?.kind, 'Compacted');
      await assert.rejects(storage.list('/registry/', { revision: 900 }), (error) => isKind(error, 'Conflict'));
      const stale = await storage.put('/registry/pods/a', 'x', { expected: 950 });
      assert.equal(stale.outcome, 'conflict');
      const written = await storage.put('/registry/pods/a', 'x', { expected: 3 });
      assert.ok(written.outcome === 'done' && written.revision === list.revision + 1);
      await storage.close();
    }));

  it('of nothing is an empty store', () =>
    withFile(async (file) => {
      restoreSqlite(file).finish(5);
      const storage = opened(file);
      assert.equal((await storage.list('')).items.length, 0);
      await storage.close();
    }));

  it('is not made over one that is there, and leaves nothing when it is given up', () =>
    withFile(async (file) => {
      const first = restoreSqlite(file);
      for (const item of ITEMS) first.put(item);
      assert.throws(() => restoreSqlite(file), /move it aside/);
      first.abandon();
      restoreSqlite(file).finish(5);
    }));
});

describe('a store that lives on', () => {
  const head = { ...HEAD, revision: 1 };
  const keys = ['/registry/pods/a', '/registry/pods/b', '/registry/pods/c', '/registry/events/e'];
  async function* each(items: readonly SnapshotItem[]): AsyncGenerator<SnapshotItem> {
    for (const item of items) yield await Promise.resolve(item);
  }
  const states = fc.dictionary(fc.constantFrom(...keys), fc.constantFrom('1', '2', '3'));
  const texts = async (storage: Storage, prefix: string): Promise<unknown> =>
    (await storage.list(prefix)).items.map(({ key, value }) => [key, value]);

  it('holds what the snapshot holds and nothing else of the cluster; what was the same keeps its version', async () => {
    await fc.assert(
      fc.asyncProperty(states, states, (before, wanted) =>
        withFile(async (file) => {
          const storage = opened(file);
          await storage.put('/other/key', 'other', { expected: 0 });
          for (const [key, value] of Object.entries(before)) await storage.put(key, value, { expected: 0 });
          const same = Object.keys(before).filter((key) => before[key] === wanted[key]);
          const versions = async (): Promise<unknown> =>
            Promise.all(same.map(async (key) => (await storage.get(key))?.revision));
          const old = await versions();
          const last = await storage.revision();
          const items = Object.entries(wanted).map(([key, value]): SnapshotItem => [key, 1, value]);
          const target = { storage, prefix: '/registry/' };
          const counts = await restoreInto(target, head, each(items));
          assert.deepEqual(
            await texts(storage, '/registry/'),
            Object.entries(wanted).sort(([one], [other]) => (one < other ? -1 : 1)),
          );
          assert.deepEqual(await texts(storage, '/other/'), [['/other/key', 'other']]);
          assert.deepEqual(await versions(), old);
          assert.equal(counts.kept, same.length);
          assert.deepEqual(await restoreInto(target, head, each(items)), {
            written: 0,
            kept: items.length,
            deleted: 0,
          });
          if (counts.written + counts.deleted > 0) {
            const watch = new WatchLog(storage, '/registry/', last);
            await watch.until(() => watch.ended !== undefined);
            assert.equal(watch.ended?.kind, 'Compacted');
          }
          await storage.close();
        }),
      ),
      { numRuns: 20 },
    );
  });

  it('a store in use is not touched when its revisions begin before those of the snapshot', () =>
    withFile(async (file) => {
      const storage = opened(file);
      await storage.put(keys[0] ?? '', 'old', { expected: 0 });
      await assert.rejects(restoreInto({ storage, prefix: '/registry/' }, HEAD, each(ITEMS)), /would be used twice/);
      assert.deepEqual(await texts(storage, '/'), [[keys[0], 'old']]);
      await storage.close();
    }));

  it('a store in use is restored by one alone: a write in between is refused with what to do', () =>
    withFile(async (file) => {
      const storage = opened(file);
      const racing: StoreToRestore = {
        revision: () => storage.revision(),
        get: async (key) => {
          const found = await storage.get(key);
          await storage.put(key, 'mine', { expected: found?.revision ?? 0 });
          return found;
        },
        put: (...args) => storage.put(...args),
        delete: (...args) => storage.delete(...args),
        list: (...args) => storage.list(...args),
        compact: (revision) => storage.compact(revision),
      };
      await storage.put('/registry/pods/b', '1', { expected: 0 });
      await assert.rejects(
        restoreInto({ storage: racing, prefix: '/registry/' }, head, each([['/registry/pods/a', 1, 'x']])),
        /stop all control planes/,
      );
      await storage.close();
    }));
});
