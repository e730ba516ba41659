import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import fc from 'fast-check';
import { isKind } from '../../../base/errors.ts';
import type { Storage, StoredList, WriteResult } from '../storage.ts';
import { WatchLog } from './watch-log.ts';

/** A store to be tried. It may hold other keys; those below `prefix` are the test's own. */
export interface StorageHarness {
  readonly storage: Storage;
  readonly prefix: string;
  /** Lets time pass for the store; real stores may take the time they need and return at once. */
  elapse(seconds: number): Promise<void>;
  /** As after a restart of the process. The old storage is closed. */
  reopen(): Promise<Storage>;
  stop(): Promise<void>;
}

/** The revision of a write that must have succeeded. */
export function done(result: WriteResult): number {
  assert.equal(result.outcome, 'done', `refused: ${JSON.stringify(result)}`);
  return result.outcome === 'done' ? result.revision : 0;
}

const keysOf = (list: StoredList): string[] => list.items.map(({ key }) => key);
const pairsOf = (list: StoredList): string[] => list.items.map(({ key, value }) => `${key}=${value}`);
const rejectsWith =
  (kind: 'Conflict' | 'Invalid' | 'Aborted') =>
  (error: unknown): boolean =>
    isKind(error, kind);

interface Fixture {
  readonly storage: Storage;
  readonly harness: StorageHarness;
  readonly key: (name: string) => string;
  readonly watch: (after: number, prefix?: string) => WatchLog;
}

/** What every store must do; `start` gives each test its own fixture. `propertyRuns`: how often laws are tried. */
export function storageContract(name: string, start: () => Promise<StorageHarness>, propertyRuns = 50): void {
  describe(`${name} as a store`, () => {
    const fixture = {} as Fixture;
    const logs: WatchLog[] = [];
    beforeEach(async () => {
      const harness = await start();
      Object.assign(fixture, {
        harness,
        storage: harness.storage,
        key: (key: string) => harness.prefix + key,
        watch: (after: number, prefix = harness.prefix) => {
          const log = new WatchLog(fixture.storage, prefix, after);
          logs.push(log);
          return log;
        },
      });
    });
    afterEach(async () => {
      for (const log of logs.splice(0)) log.close();
      await fixture.harness.stop();
    });
    writes(fixture);
    reads(fixture);
    watches(fixture);
    forgetting(fixture);
    expiry(fixture);
    laws(fixture, propertyRuns);
  });
}

function writes(fixture: Fixture): void {
  it('keeps what was written, each write with a greater revision', async () => {
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

  it('refuses a write whose condition does not hold and tells what stands there', async () => {
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

  it('lets one of many writers with the same condition win', async () => {
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

  it('deletes, and a key that was deleted is as one that never was', async () => {
    const { storage, key } = fixture;
    const revision = done(await storage.put(key('a'), '1', { expected: 0 }));
    const gone = done(await storage.delete(key('a'), revision));
    assert.ok(gone > revision);
    assert.deepEqual([await storage.get(key('a')), keysOf(await storage.list(key('')))], [undefined, []]);
    assert.equal((await storage.put(key('a'), '2', { expected: gone })).outcome, 'conflict');
    assert.ok(done(await storage.put(key('a'), '2', { expected: 0 })) > gone);
  });

  it('acknowledges writes in no hurry too, together with those that join them', async () => {
    const { storage, harness, key } = fixture;
    const slow = storage.put(key('a'), '1', { expected: 0, unhurried: true });
    const quick = storage.put(key('b'), '2', { expected: 0 });
    // The store decides the order: the test has waited for neither.
    const [a, b] = (await Promise.all([slow, quick])).map(done) as [number, number];
    assert.notEqual(a, b);
    const alone = storage.put(key('c'), '3', { expected: 0, unhurried: true });
    await harness.elapse(1);
    assert.ok(done(await alone) > Math.max(a, b));
  });

  it('keeps values of a mebibyte whole', async () => {
    const { storage, key } = fixture;
    const value = 'ü€x'.repeat(170_000);
    done(await storage.put(key('big'), value, { expected: 0 }));
    assert.ok((await storage.get(key('big')))?.value === value);
  });

  it('can be written, has a size, and after its close refuses everything', async () => {
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

function reads(fixture: Fixture): void {
  it('lists the keys with a prefix, and no others, in the order of bytes', async () => {
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

  it('lists as of an older revision, including what was deleted or written again since', async () => {
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

  it('refuses a list from the future', async () => {
    const { storage, key } = fixture;
    await assert.rejects(storage.list(key(''), { revision: (await storage.revision()) + 100 }), rejectsWith('Invalid'));
  });
}

function watches(fixture: Fixture): void {
  it('tells a watch from the past all writes after it once and in order, and goes on with those to come', async () => {
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

  it('has sent a write to watches when its writer gets the answer', async () => {
    const { storage, key, watch } = fixture;
    const log = watch(await storage.revision());
    await log.reached(done(await storage.put(key('first'), '', { expected: 0 })));
    for (let i = 0; i < 20; i++) {
      const revision = done(await storage.put(key(`k${i}`), '', { expected: 0 }));
      assert.equal(log.revision, revision);
    }
    assert.equal(log.events.length, 21);
  });

  it('tells only of the prefix, but says how far it has come when others write', async () => {
    const { storage, key, watch } = fixture;
    const from = await storage.revision();
    const log = watch(from, key('pods/'));
    done(await storage.put(key('podsx'), '', { expected: 0 }));
    const pod = done(await storage.put(key('pods/a'), '', { expected: 0 }));
    const other = done(await storage.put(key('services/a'), '', { expected: 0 }));
    await log.reached(other);
    assert.deepEqual(log.events, [{ type: 'put', key: key('pods/a'), value: '', revision: pod }]);
  });

  it('serves watches that begin at different times alike, and none after its close', async () => {
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

  it('loses nothing of many writes made at once', async () => {
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

  it('goes on with the others when the listener of one fails', async () => {
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

function forgetting(fixture: Fixture): void {
  it('forgets what was replaced before a revision, and nothing that stands', async () => {
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

  it('does not disturb a watch that is not behind', async () => {
    const { storage, key, watch } = fixture;
    const log = watch(await storage.revision());
    const a = done(await storage.put(key('a'), '1', { expected: 0 }));
    await log.reached(a);
    await storage.compact(a);
    const b = done(await storage.put(key('b'), '1', { expected: 0 }));
    await log.reached(b);
    assert.deepEqual([log.words, log.ended], [[`put ${key('a')}=1`, `put ${key('b')}=1`], undefined]);
  });

  it('cannot forget the future', async () => {
    const { storage } = fixture;
    await assert.rejects(storage.compact((await storage.revision()) + 100), rejectsWith('Invalid'));
  });

  it('goes on with greater revisions when everything was deleted and forgotten, also after a restart', async () => {
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

function expiry(fixture: Fixture): void {
  it('deletes a key when its time has come, as a write that watches hear of', async () => {
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

  it('keeps a key whose newest write has no end, or a later one', async () => {
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

type Command = { readonly op: 'put' | 'delete' | 'stalePut'; readonly name: string; readonly value: string };

function laws(fixture: Fixture, runs: number): void {
  const command: fc.Arbitrary<Command> = fc.record({
    op: fc.constantFrom('put', 'put', 'delete', 'stalePut'),
    name: fc.constantFrom('a', 'b', 'c/1', 'c/2'),
    value: fc.string({ maxLength: 5 }),
  });
  it('is a map with a history: every revision lists and every watch replays to what a plain map says', async () => {
    const { storage, key } = fixture;
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 25 }), fc.nat(), async (commands, cut) => {
        const own = key(`law${run++}/`);
        const from = await storage.revision();
        const states: { revision: number; pairs: [string, string][] }[] = [{ revision: from, pairs: [] }];
        const model = new Map<string, { value: string; revision: number }>();
        for (const { op, name, value } of commands) {
          const stands = model.get(name)?.revision ?? 0;
          const expected = op === 'stalePut' ? stands + 1 : stands;
          const result =
            op === 'delete'
              ? await storage.delete(own + name, expected)
              : await storage.put(own + name, value, { expected });
          assert.equal(result.outcome, op === 'stalePut' || (op === 'delete' && stands === 0) ? 'conflict' : 'done');
          if (result.outcome === 'conflict') continue;
          if (op === 'delete') model.delete(name);
          else model.set(name, { value, revision: result.revision });
          states.push({ revision: result.revision, pairs: sorted([...model].map(([k, v]) => [k, v.value])) });
        }
        for (const { revision, pairs } of states)
          assert.deepEqual(
            (await storage.list(own, { revision })).items.map((item) => [item.key.slice(own.length), item.value]),
            pairs,
          );
        const begin = states[cut % states.length];
        const log = new WatchLog(storage, own, begin?.revision ?? 0);
        await log.reached(states.at(-1)?.revision ?? 0);
        log.close();
        const replayed = new Map(begin?.pairs);
        for (const { type, key: at, value } of log.events) {
          if (type === 'put') replayed.set(at.slice(own.length), value);
          else replayed.delete(at.slice(own.length));
        }
        assert.deepEqual(sorted([...replayed]), states.at(-1)?.pairs);
      }),
      { numRuns: runs },
    );
  });
}

function sorted(pairs: readonly (readonly [string, string])[]): [string, string][] {
  return pairs.map(([key, value]): [string, string] => [key, value]).sort(([a], [b]) => (a < b ? -1 : 1));
}
