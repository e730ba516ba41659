import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { StorageFixture } from './storage-fixture.ts';
import { done, keysOf, pairsOf, rejectsWith } from './storage-fixture.ts';

/** The contract of stores about writes and their conditions. */
export function writeContract(fixture: StorageFixture): void {
  it('stores each write with a greater revision', async () => {
    const { storage, key } = fixture;
    assert.equal(await storage.get(key('a')), undefined);
    const before = await storage.revision();
    assert.ok(before >= 1);
    const first = done(await storage.put(key('a'), '{"x":"ä€😀"}', { expected: 0 }));
    const second = done(await storage.put(key('b'), '', { expected: 0 }));
    const third = done(await storage.put(key('a'), 'new', { expected: first }));
    assert.ok(before < first && first < second && second < third);
    assert.deepEqual(
      [await storage.get(key('a')), await storage.get(key('b')), await storage.revision()],
      [{ key: key('a'), value: 'new', revision: third }, { key: key('b'), value: '', revision: second }, third],
    );
  });

  it('refuses a write whose condition does not hold, and returns the current value', async () => {
    const { storage, key } = fixture;
    const revision = done(await storage.put(key('a'), '1', { expected: 0 }));
    const current = { key: key('a'), value: '1', revision };
    const outcomes = [
      await storage.put(key('a'), '2', { expected: 0 }),
      await storage.put(key('a'), '2', { expected: revision + 1 }),
      await storage.put(key('none'), '2', { expected: revision }),
      await storage.delete(key('a'), revision + 1),
      await storage.delete(key('a'), 0),
      await storage.delete(key('none'), 0),
      await storage.delete(key('none'), 7),
    ];
    assert.deepEqual(
      outcomes.map((result) => (result.outcome === 'conflict' ? result.current : 'done')),
      [current, current, undefined, current, current, undefined, undefined],
    );
    assert.deepEqual([await storage.get(key('a')), await storage.revision()], [current, revision]);
  });

  it('lets exactly one of several writers with the same condition succeed', async () => {
    const { storage, key } = fixture;
    const creates = await Promise.all(
      Array.from({ length: 10 }, (_, i) => storage.put(key('a'), String(i), { expected: 0, unhurried: i === 0 })),
    );
    const winner = creates.findIndex(({ outcome }) => outcome === 'done');
    assert.deepEqual(
      [creates.filter(({ outcome }) => outcome === 'done').length, (await storage.get(key('a')))?.value],
      [1, String(winner)],
    );
    const stands = (await storage.get(key('a')))?.revision ?? 0;
    const ends = await Promise.all([
      storage.delete(key('a'), stands),
      storage.put(key('a'), 'x', { expected: stands }),
      storage.delete(key('a'), stands),
    ]);
    assert.equal(ends.filter(({ outcome }) => outcome === 'done').length, 1);
  });

  it('refuses a write whose guard has changed, even if its own condition holds', async () => {
    const { storage, key } = fixture;
    const revision = done(await storage.put(key('term'), '1', { expected: 0 }));
    const guard = { key: key('term'), revision };
    const created = done(await storage.put(key('a'), '1', { expected: 0, guard }));
    const updated = done(await storage.put(key('a'), '2', { expected: created, guard }));
    assert.equal((await storage.put(key('a'), '3', { expected: created, guard })).outcome, 'conflict');
    const next = done(await storage.put(key('term'), '2', { expected: revision, guard }));
    const refused = [
      await storage.put(key('b'), '1', { expected: 0, guard }),
      await storage.put(key('a'), '3', { expected: updated, guard }),
      await storage.put(key('a'), '3', { expected: 0, guard }),
      await storage.delete(key('a'), updated, guard),
    ];
    assert.deepEqual(
      refused.map(({ outcome }) => outcome),
      ['fenced', 'fenced', 'fenced', 'fenced'],
    );
    assert.deepEqual(pairsOf(await storage.list(key(''))), [`${key('a')}=2`, `${key('term')}=2`]);
    done(await storage.delete(key('a'), updated, { ...guard, revision: next }));
    done(await storage.delete(key('term'), next));
    assert.equal((await storage.put(key('b'), '1', { expected: 0, guard })).outcome, 'fenced');
  });

  it('treats a deleted key like one that never existed', async () => {
    const { storage, key } = fixture;
    const revision = done(await storage.put(key('a'), '1', { expected: 0 }));
    const gone = done(await storage.delete(key('a'), revision));
    assert.ok(gone > revision);
    assert.deepEqual([await storage.get(key('a')), keysOf(await storage.list(key('')))], [undefined, []]);
    assert.equal((await storage.put(key('a'), '2', { expected: gone })).outcome, 'conflict');
    assert.ok(done(await storage.put(key('a'), '2', { expected: 0 })) > gone);
  });

  it('acknowledges unhurried writes too, together with those that join them', async () => {
    const { storage, harness, key } = fixture;
    const slow = storage.put(key('a'), '1', { expected: 0, unhurried: true });
    const quick = storage.put(key('b'), '2', { expected: 0 });
    // The store decides the order, because the test has awaited neither.
    const [a, b] = (await Promise.all([slow, quick])).map(done) as [number, number];
    assert.notEqual(a, b);
    const alone = storage.put(key('c'), '3', { expected: 0, unhurried: true });
    await harness.elapse(1);
    assert.ok(done(await alone) > Math.max(a, b));
  });

  it('stores values of one mebibyte unchanged', async () => {
    const { storage, key } = fixture;
    const value = 'ü€x'.repeat(170_000);
    done(await storage.put(key('big'), value, { expected: 0 }));
    assert.ok((await storage.get(key('big')))?.value === value);
  });

  it('reports its health and size, and refuses every call after close', async () => {
    const { storage, key } = fixture;
    done(await storage.put(key('a'), '1', { expected: 0 }));
    await storage.check();
    assert.ok((await storage.sizeBytes()) > 0);
    const again = await fixture.harness.reopen();
    await assert.rejects(storage.put(key('a'), '2', { expected: 0 }), rejectsWith('Aborted'));
    await assert.rejects(storage.get(key('a')), rejectsWith('Aborted'));
    await assert.rejects(storage.check(), rejectsWith('Aborted'));
    assert.equal((await again.get(key('a')))?.value, '1');
  });
}
