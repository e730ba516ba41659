import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { StorageFixture } from './storage-fixture.ts';
import { done, keysOf, pairsOf, rejectsWith } from './storage-fixture.ts';

/** The contract of stores about compaction and the expiry of keys. */
export function expiryContract(fixture: StorageFixture): void {
  compaction(fixture);
  expiry(fixture);
}

function compaction(fixture: StorageFixture): void {
  it('compacts what was replaced before a revision, and keeps current values', async () => {
    const { storage, key, watch } = fixture;
    const old = done(await storage.put(key('a'), '1', { expected: 0 }));
    const gone = done(await storage.put(key('gone'), '1', { expected: 0 }));
    done(await storage.delete(key('gone'), gone));
    const at = done(await storage.put(key('a'), '2', { expected: old }));
    const after = done(await storage.put(key('b'), '1', { expected: 0 }));
    await storage.compact(at);
    await storage.compact(at);
    await storage.compact(old);
    await assert.rejects(storage.list(key(''), { revision: old }), rejectsWith('Conflict'));
    assert.deepEqual(
      [pairsOf(await storage.list(key(''), { revision: at })), pairsOf(await storage.list(key('')))],
      [[key('a=2')], [key('a=2'), key('b=1')]],
    );
    const past = watch(old);
    await past.until(() => past.ended !== undefined);
    assert.deepEqual([past.ended, past.events], [{ kind: 'Compacted' }, []]);
    const log = watch(at);
    await log.reached(after);
    assert.deepEqual(log.words, [`put ${key('b')}=1`]);
    assert.deepEqual(await storage.get(key('a')), { key: key('a'), value: '2', revision: at });
  });

  it('does not end a watch that is up to date', async () => {
    const { storage, key, watch } = fixture;
    const log = watch(await storage.revision());
    const a = done(await storage.put(key('a'), '1', { expected: 0 }));
    await log.reached(a);
    await storage.compact(a);
    const b = done(await storage.put(key('b'), '1', { expected: 0 }));
    await log.reached(b);
    assert.deepEqual([log.words, log.ended], [[`put ${key('a')}=1`, `put ${key('b')}=1`], undefined]);
  });

  it('refuses to compact at a revision that does not exist yet', async () => {
    const { storage } = fixture;
    await assert.rejects(storage.compact((await storage.revision()) + 100), rejectsWith('Invalid'));
  });

  it('continues with greater revisions when everything was deleted and compacted, also after a restart', async () => {
    const { storage, harness, key } = fixture;
    let last = 0;
    for (const name of ['a', 'b', 'c'])
      last = done(await storage.delete(key(name), done(await storage.put(key(name), name, { expected: 0 }))));
    await storage.compact(last);
    const again = await harness.reopen();
    assert.deepEqual([await again.revision(), keysOf(await again.list(key('')))], [last, []]);
    assert.ok(done(await again.put(key('a'), 'again', { expected: 0 })) > last);
  });
}

function expiry(fixture: StorageFixture): void {
  it('deletes a key when its TTL expires, as a write that watches see', async () => {
    const { storage, harness, key, watch } = fixture;
    const log = watch(await storage.revision());
    const revision = done(await storage.put(key('event'), '1', { expected: 0, ttlSeconds: 3 }));
    const kept = done(await storage.put(key('kept'), '1', { expected: 0, ttlSeconds: 3600 }));
    done(await storage.put(key('kept'), '2', { expected: kept }));
    await log.reached(revision);
    assert.equal((await storage.get(key('event')))?.value, '1');
    const gone = log.until(() => log.events.some(({ type }) => type === 'delete'));
    await harness.elapse(10);
    await gone;
    assert.deepEqual(log.words.at(-1), `delete ${key('event')}`);
    assert.ok((log.events.at(-1)?.revision ?? 0) > kept);
    assert.deepEqual(pairsOf(await storage.list(key(''))), [key('kept=2')]);
  });

  it('keeps a key whose newest write has no TTL or a longer one', async () => {
    const { storage, harness, key, watch } = fixture;
    const log = watch(await storage.revision());
    const write = async (name: string, expected: number, ttlSeconds: number | undefined): Promise<number> =>
      done(await storage.put(key(name), 'x', { expected, ttlSeconds }));
    await write('forever', await write('forever', 0, 3), undefined);
    await write('longer', await write('longer', 0, 3), 3600);
    await write('short', 0, 4);
    await harness.elapse(10);
    await log.until(() => log.events.some(({ type }) => type === 'delete'));
    assert.deepEqual(keysOf(await storage.list(key(''))), ['forever', 'longer'].map(key));
  });
}
