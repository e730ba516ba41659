import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { StorageFixture } from './storage-fixture.ts';
import { done } from './storage-fixture.ts';
import type { WatchLog } from './watch-log.ts';

/** The contract of stores about watches. */
export function watchContract(fixture: StorageFixture): void {
  it('sends a watch from an old revision every later write once and in order, then new writes', async () => {
    const { storage, key, watch } = fixture;
    const a = done(await storage.put(key('a'), '1', { expected: 0 }));
    const b = done(await storage.put(key('b'), '1', { expected: 0 }));
    const gone = done(await storage.delete(key('a'), a));
    const log = watch(a);
    assert.deepEqual(log.events, []);
    const c = done(await storage.put(key('c'), '1', { expected: 0 }));
    await log.reached(c);
    const d = done(await storage.put(key('d'), '1', { expected: 0 }));
    await log.reached(d);
    assert.deepEqual(log.events, [
      { type: 'put', key: key('b'), value: '1', revision: b },
      { type: 'delete', key: key('a'), value: '', revision: gone },
      { type: 'put', key: key('c'), value: '1', revision: c },
      { type: 'put', key: key('d'), value: '1', revision: d },
    ]);
    assert.equal(log.ended, undefined);
  });

  it('sends a write to watches before the writer gets its answer', async () => {
    const { storage, key, watch } = fixture;
    const log = watch(await storage.revision());
    await log.reached(done(await storage.put(key('first'), '', { expected: 0 })));
    for (let i = 0; i < 20; i++) {
      const revision = done(await storage.put(key(`k${i}`), '', { expected: 0 }));
      assert.equal(log.revision, revision);
    }
    assert.equal(log.events.length, 21);
  });

  it('sends only keys with the prefix, but reports progress when other keys are written', async () => {
    const { storage, key, watch } = fixture;
    const from = await storage.revision();
    const log = watch(from, key('pods/'));
    done(await storage.put(key('podsx'), '', { expected: 0 }));
    const pod = done(await storage.put(key('pods/a'), '', { expected: 0 }));
    const other = done(await storage.put(key('services/a'), '', { expected: 0 }));
    await log.reached(other);
    assert.deepEqual(log.events, [{ type: 'put', key: key('pods/a'), value: '', revision: pod }]);
  });

  it('serves watches that start at different revisions, and sends nothing after close', async () => {
    const { storage, key, watch } = fixture;
    const from = await storage.revision();
    const revisions: number[] = [];
    const logs: WatchLog[] = [];
    for (let i = 0; i < 6; i++) {
      revisions.push(done(await storage.put(key(`k${i}`), '', { expected: 0 })));
      logs.push(watch(from), watch(revisions[i] ?? 0));
    }
    const closed = watch(from);
    closed.close();
    await Promise.all(logs.map((log) => log.reached(revisions[5] ?? 0)));
    const last = done(await storage.put(key('last'), '', { expected: 0 }));
    await Promise.all(logs.map((log) => log.reached(last)));
    const expected = [...revisions, last];
    assert.deepEqual(
      logs.map((log) => log.events.map(({ revision }) => revision)),
      logs.map((_, i) => (i % 2 === 0 ? expected : expected.slice((i + 1) / 2))),
    );
    assert.deepEqual(closed.calls, []);
  });

  it('sends every one of many simultaneous writes', async () => {
    const { storage, key, watch } = fixture;
    const from = await storage.revision();
    const early = watch(from);
    const written = await Promise.all(
      Array.from({ length: 1200 }, (_, i) => storage.put(key(`k${i}`), 'x'.repeat(100), { expected: 0 })),
    );
    const revisions = written.map(done).sort((a, b) => a - b);
    const late = watch(from);
    for (const log of [early, late]) {
      await log.reached(revisions.at(-1) ?? 0);
      assert.deepEqual(
        log.events.map(({ revision }) => revision),
        revisions,
      );
    }
    assert.equal(new Set(revisions).size, 1200);
  });

  it('serves the other watches when one listener throws', async () => {
    const { storage, key, watch } = fixture;
    const from = await storage.revision();
    const failing = storage.watch(
      key(''),
      from,
      () => assert.fail('a listener that fails'),
      () => undefined,
    );
    const log = watch(from);
    const revision = done(await storage.put(key('a'), '', { expected: 0 }));
    await log.reached(revision);
    failing.close();
    assert.equal(log.events.length, 1);
  });
}
