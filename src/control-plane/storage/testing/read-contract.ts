import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { StorageFixture } from './storage-fixture.ts';
import { done, keysOf, pairsOf, rejectsWith } from './storage-fixture.ts';

/** The contract of stores about lists: order, pages, older revisions. */
export function readContract(fixture: StorageFixture): void {
  it('lists exactly the keys with a prefix, in byte order', async () => {
    const { storage, key } = fixture;
    for (const name of [
      'pods/b',
      'pods/a/x',
      'pods/a',
      'pods/Z',
      'pods/ä',
      'pods/\u{1f600}',
      'pods/\uffee',
      'podsx',
      'pod',
      'services/a',
    ])
      done(await storage.put(key(name), name, { expected: 0 }));
    const list = await storage.list(key('pods/'));
    assert.deepEqual(
      keysOf(list),
      ['pods/Z', 'pods/a', 'pods/a/x', 'pods/b', 'pods/ä', 'pods/\uffee', 'pods/\u{1f600}'].map(key),
    );
    assert.deepEqual([list.remaining, list.revision], [0, await storage.revision()]);
    assert.deepEqual(await storage.list(key('none/')), { items: [], revision: list.revision, remaining: 0 });
  });

  it('pages through one revision while writes go on', async () => {
    const { storage, key } = fixture;
    for (let i = 0; i < 7; i++) done(await storage.put(key(`k${i}`), String(i), { expected: 0 }));
    const first = await storage.list(key(''), { limit: 3 });
    assert.deepEqual([keysOf(first), first.remaining], [['k0', 'k1', 'k2'].map(key), 4]);
    done(await storage.delete(key('k3'), (await storage.get(key('k3')))?.revision ?? 0));
    done(await storage.put(key('k4'), 'new', { expected: (await storage.get(key('k4')))?.revision ?? 0 }));
    done(await storage.put(key('k45'), 'later', { expected: 0 }));
    const second = await storage.list(key(''), { limit: 3, afterKey: key('k2'), revision: first.revision });
    const third = await storage.list(key(''), { limit: 3, afterKey: key('k5'), revision: first.revision });
    assert.deepEqual(
      [pairsOf(second), second.remaining, second.revision],
      [[key('k3=3'), key('k4=4'), key('k5=5')], 1, first.revision],
    );
    assert.deepEqual([pairsOf(third), third.remaining], [[key('k6=6')], 0]);
    const now = await storage.list(key(''), { limit: 10, afterKey: key('k2') });
    assert.deepEqual([pairsOf(now), now.remaining], [[key('k4=new'), key('k45=later'), key('k5=5'), key('k6=6')], 0]);
    assert.equal((await storage.list(key(''), { limit: 7 })).remaining, 0);
    // Without a count it says only whether there is more, now and as of a revision.
    for (const revision of [undefined, first.revision]) {
      const part = { isCounted: false, ...(revision !== undefined && { revision }) };
      const some = await storage.list(key(''), { ...part, limit: 3 });
      assert.deepEqual([some.items.length, some.remaining > 0], [3, true]);
      assert.equal((await storage.list(key(''), { ...part, limit: 7 })).remaining, 0);
    }
  });

  it('lists an older revision, including keys that were deleted or rewritten since', async () => {
    const { storage, key } = fixture;
    const a = done(await storage.put(key('a'), '1', { expected: 0 }));
    const b = done(await storage.put(key('b'), '1', { expected: 0 }));
    const gone = done(await storage.delete(key('a'), a));
    const back = done(await storage.put(key('a'), '2', { expected: 0 }));
    const shown = await Promise.all(
      [a, b, gone, back].map(async (revision) => pairsOf(await storage.list(key(''), { revision }))),
    );
    assert.deepEqual(shown, [[key('a=1')], [key('a=1'), key('b=1')], [key('b=1')], [key('a=2'), key('b=1')]]);
    assert.deepEqual(
      (await storage.list(key(''), { revision: b })).items.map(({ revision }) => revision),
      [a, b],
    );
  });

  it('refuses to list a revision that does not exist yet', async () => {
    const { storage, key } = fixture;
    await assert.rejects(storage.list(key(''), { revision: (await storage.revision()) + 100 }), rejectsWith('Invalid'));
  });
}
