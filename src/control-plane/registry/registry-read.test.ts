import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { ListOptions, WatchOptions } from '../../api/client/api-client.ts';
import { isApiError } from '../../api/status/api-status-error.ts';
import type { ResourceDefinition } from '../model/resource-definition.ts';
import type { ServedList } from './registry.ts';
import { startRegistry, widgets } from './testing/registry-fixture.ts';
import type { RegistryFixture, Widget } from './testing/registry-fixture.ts';

// The tests are in a suite, because all test files share one process and hooks outside suites would apply to all of
// them.
describe('the registry lists and watches', () => {
  let fixture: RegistryFixture;
  beforeEach(async () => {
    fixture = await startRegistry();
  });
  afterEach(() => fixture.stop());

  const list = (options: ListOptions = {}): Promise<ServedList> =>
    fixture.registry.list(fixture.request(widgets), options);
  const names = ({ items }: ServedList): string[] => items.map(({ object }) => object.metadata.name);
  const makeMany = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index++)
      await fixture.create({
        name: `w${index}`,
        metadata: { name: `w${index}`, namespace: '', uid: '', labels: { odd: String(index % 2 === 1) } },
      } as never);
  };

  interface Seen {
    readonly events: string[];
    readonly close: () => void;
  }
  async function watch(options: WatchOptions): Promise<Seen> {
    const events: string[] = [];
    const { close } = await fixture.registry.watch(fixture.request(widgets), options, {
      event: (type, { object }) => events.push(`${type} ${object.metadata.name}`),
      bookmark: (_, initialEventsEnd) => events.push(initialEventsEnd ? 'END OF STATE' : 'BOOKMARK'),
      end: () => events.push('END'),
    });
    return { events, close };
  }
  const relabel = async (name: string, labels: Record<string, string>): Promise<unknown> => {
    const { object } = await fixture.registry.get(fixture.request(widgets, name), {});
    return fixture.registry.update(fixture.request(widgets, name), {
      value: { ...object, metadata: { ...object.metadata, labels } },
      duplicates: [],
    });
  };

  test('pages form one list of one version, whatever is written in between', async () => {
    await makeMany(5);
    const first = await list({ limit: 2 });
    assert.deepEqual([names(first), first.remainingItemCount], [['w0', 'w1'], 3]);
    await fixture.registry.delete(fixture.request(widgets, 'w3'), {});
    await fixture.create({ name: 'w2a' });
    const second = await list({ limit: 2, continue: first.continue ?? '' });
    const third = await list({ limit: 2, continue: second.continue ?? '' });
    assert.deepEqual([names(second), names(third), third.continue], [['w2', 'w3'], ['w4'], undefined]);
    assert.equal(third.resourceVersion, first.resourceVersion);
  });

  test('pages of one version are complete for any page length, without a read of the store', async () => {
    await makeMany(6);
    const long = await list({ limit: 4 });
    const short = await list({ limit: 1 });
    await fixture.registry.delete(fixture.request(widgets, 'w2'), {});
    await relabel('w4', { changed: 'yes' });
    await fixture.storage.compact(await fixture.storage.revision());
    const rest = async ({ continue: token = '' }: ServedList): Promise<ServedList> => list({ continue: token });
    assert.deepEqual(names(await rest(long)), ['w4', 'w5']);
    assert.deepEqual(names(await rest(short)), ['w1', 'w2', 'w3', 'w4', 'w5']);
    const before = await list({ continue: short.continue ?? '', labelSelector: 'changed!=yes' });
    assert.deepEqual(names(before), ['w1', 'w2', 'w3', 'w4', 'w5']);
  });

  test('pages of a selection that takes several turns are of one version, without a read of the store', async () => {
    await fixture.stop();
    let ms = 0;
    fixture = await startRegistry([], { workedMs: () => (ms += 20) });
    await makeMany(120);
    const all = names(await list({ labelSelector: 'odd=true' }));
    const reading = list({ labelSelector: 'odd=true', limit: 50 });
    const removing = Promise.all(
      ['w1', 'w97', 'w99'].map((name) => fixture.registry.delete(fixture.request(widgets, name), {})),
    );
    const [first] = await Promise.all([reading, removing]);
    await fixture.storage.compact(await fixture.storage.revision());
    const second = await list({ labelSelector: 'odd=true', limit: 50, continue: first.continue ?? '' });
    assert.deepEqual([...names(first), ...names(second)], all);
    assert.equal(names(await list({ labelSelector: 'odd=true' })).length, all.length - 3);
  });

  test('keeps a bounded number of lists for their next pages, the newest ones', async () => {
    await makeMany(2);
    const firstPages: ServedList[] = [];
    for (let index = 0; index < 20; index++) {
      firstPages.push(await list({ limit: 1 }));
      await relabel('w1', { version: String(index) });
    }
    await fixture.storage.compact(await fixture.storage.revision());
    const answers = await Promise.allSettled(
      firstPages.map(({ continue: token = '' }) => list({ limit: 1, continue: token })),
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      [...Array<string>(4).fill('rejected'), ...Array<string>(16).fill('fulfilled')],
    );
  });

  test('pages of a version are of exactly that version, unless newer ones are permitted', async () => {
    await makeMany(2);
    const { resourceVersion } = await list({});
    await fixture.create({ name: 'w2' });
    assert.deepEqual(names(await list({ resourceVersion, limit: 10 })), ['w0', 'w1']);
    assert.deepEqual(
      [
        names(await list({ resourceVersion })),
        names(await list({ resourceVersion, limit: 10, resourceVersionMatch: 'NotOlderThan' })),
      ],
      [
        ['w0', 'w1', 'w2'],
        ['w0', 'w1', 'w2'],
      ],
    );
    const first = await list({ limit: 1 });
    await assert.rejects(
      list({ limit: 1, continue: first.continue ?? '', resourceVersion }),
      (error) =>
        isApiError(error, 'BadRequest') &&
        error.message === 'specifying resource version is not allowed when using continue',
    );
  });

  test('a page of a compacted version is rejected with 410 and a token for continuing without it', async () => {
    await makeMany(3);
    const first = await list({ limit: 1 });
    await fixture.create({ name: 'x' });
    await fixture.storage.compact(await fixture.storage.revision());
    await fixture.clock.advance(60_000);
    let token = '';
    await assert.rejects(list({ limit: 1, continue: first.continue ?? '' }), (error) => {
      token = isApiError(error, 'Expired') ? (error.continueToken ?? '') : '';
      return token !== '';
    });
    assert.deepEqual(names(await list({ continue: token })), ['w1', 'w2', 'x']);
  });

  test('a page of a compacted version is also rejected if nothing changed and it was read repeatedly', async () => {
    await makeMany(3);
    const { continue: token = '' } = await list({ limit: 1 });
    await fixture.storage.put('/elsewhere', '{}', { expected: 0 });
    await fixture.storage.compact(await fixture.storage.revision());
    await fixture.clock.advance(30_000);
    assert.deepEqual(names(await list({ limit: 1, continue: token })), ['w1']);
    await fixture.clock.advance(30_000);
    await assert.rejects(list({ limit: 1, continue: token }), (error) => isApiError(error, 'Expired'));
  });

  test('lists are selected by labels and fields; unknown fields and invalid selectors are bad requests', async () => {
    await makeMany(4);
    assert.deepEqual(names(await list({ labelSelector: 'odd=true' })), ['w1', 'w3']);
    assert.deepEqual(names(await list({ fieldSelector: 'metadata.name!=w1,spec.size=1' })), ['w0', 'w2', 'w3']);
    await assert.rejects(
      list({ fieldSelector: 'spec.color=red' }),
      (error) => isApiError(error, 'BadRequest') && /field label not supported: spec.color/.test(error.message),
    );
    await assert.rejects(list({ labelSelector: 'a=(' }), (error) => isApiError(error, 'BadRequest'));
    await assert.rejects(list({ continue: 'rubbish' }), (error) => isApiError(error, 'BadRequest'));
    assert.deepEqual(names(await list({ labelSelector: 'odd=true', limit: 1 })), ['w1']);
  });

  test('a list of an exact older version shows the objects of that version', async () => {
    await makeMany(1);
    const { resourceVersion } = await list();
    await fixture.create({ name: 'later' });
    assert.deepEqual(names(await list({ resourceVersion, resourceVersionMatch: 'Exact' })), ['w0']);
    assert.deepEqual(names(await list({ resourceVersion })), ['later', 'w0']);
  });

  test('a request for a future version waits, and is rejected as too large if the version does not arrive', async () => {
    await makeMany(1);
    const future = Number((await list()).resourceVersion) + 1;
    const waiting = list({ resourceVersion: String(future) });
    await fixture.create({ name: 'b' });
    assert.deepEqual(names(await waiting), ['b', 'w0']);
    const tooFar = assert.rejects(
      list({ resourceVersion: String(future + 100) }),
      (error) => isApiError(error, 'Timeout') && /Too large resource version/.test(error.message),
    );
    await fixture.clock.advance(3000);
    await tooFar;
  });

  test('a watch from a version delivers the later changes, and continues', async () => {
    await makeMany(1);
    const { resourceVersion } = await list();
    await fixture.create({ name: 'b' });
    const { events, close } = await watch({ resourceVersion });
    await fixture.create({ name: 'c' });
    await fixture.registry.delete(fixture.request(widgets, 'b'), {});
    close();
    await fixture.create({ name: 'd' });
    assert.deepEqual(events, ['ADDED b', 'ADDED c', 'DELETED b']);
  });

  test('a watch without a version, or with sendInitialEvents, begins with the existing objects', async () => {
    await makeMany(2);
    const plain = await watch({});
    const stream = await watch({ sendInitialEvents: true, allowBookmarks: true });
    await relabel('w0', { x: 'y' });
    assert.deepEqual(plain.events, ['ADDED w0', 'ADDED w1', 'MODIFIED w0']);
    assert.deepEqual(stream.events, ['ADDED w0', 'ADDED w1', 'END OF STATE', 'MODIFIED w0']);
    await fixture.clock.advance(60_000);
    assert.equal(stream.events.at(-1), 'BOOKMARK');
    plain.close();
    stream.close();
  });

  test('an object that starts to match is ADDED for the watcher, one that stops matching is DELETED', async () => {
    await makeMany(1);
    const { events, close } = await watch({
      labelSelector: 'odd=true',
      resourceVersion: (await list()).resourceVersion,
    });
    await relabel('w0', { odd: 'true' });
    await relabel('w0', { odd: 'true', more: 'x' });
    await relabel('w0', {});
    assert.deepEqual(events, ['ADDED w0', 'MODIFIED w0', 'DELETED w0']);
    close();
  });

  test('a watch from a version whose changes were dropped is rejected with 410', async () => {
    await makeMany(1);
    const { resourceVersion } = await list();
    for (let index = 0; index < 1100; index++) await relabel('w0', { index: String(index) });
    await assert.rejects(
      watch({ resourceVersion }),
      (error) => isApiError(error, 'Expired') && /^too old resource version: \d+ \(\d+\)$/.test(error.message),
    );
  });

  test('a server that starts on a store with objects serves them with the same versions', async () => {
    await makeMany(3);
    const other = await fixture.second();
    const there = await other.registry.list(other.request(widgets), {});
    assert.deepEqual(
      there.items.map(({ json }) => json),
      (await list()).items.map(({ json }) => json),
    );
    await other.stop();
  });

  test("two servers on one store see each other's writes, and do not overwrite them", async () => {
    const other = await fixture.second();
    const mine = await fixture.create({ name: 'a' });
    const theirs = (await other.registry.get(other.request(widgets, 'a'), {})).object as Widget;
    await other.registry.update(other.request(widgets, 'a'), {
      value: { ...theirs, spec: { size: 2 } },
      duplicates: [],
    });
    await assert.rejects(
      fixture.registry.update(fixture.request(widgets, 'a'), { value: { ...mine, spec: { size: 3 } }, duplicates: [] }),
      (error) => isApiError(error, 'Conflict'),
    );
    await other.stop();
  });
});

test('a list by fields waits for the conversion of objects that are stored in another version', async () => {
  const converted = new WeakSet<object>();
  let conversions = 0;
  const shown: typeof widgets = {
    ...widgets,
    type: { ...widgets.type, version: 'v2', plural: 'shownwidgets' },
    storagePath: widgets.storagePath,
    storedAs: {
      stored: widgets.type,
      toStored: (object) => object,
      fromStored: (object) => {
        assert.ok(converted.has(object), 'read before it was converted');
        const { spec, ...rest } = object as Widget;
        return { ...rest, spec: { size: 10 * (spec.size ?? 0) } };
      },
      prepare: (objects) => {
        const waiting = objects.filter((object) => !converted.has(object));
        if (waiting.length === 0) return undefined;
        return (async () => {
          if (conversions++ === 0) await fixture.create({ name: 'late', spec: { size: 2 } });
          await new Promise(setImmediate);
          for (const object of waiting) converted.add(object);
        })();
      },
    },
  };
  const fixture = await startRegistry([], { kinds: [widgets, shown] as unknown as readonly ResourceDefinition[] });
  try {
    await fixture.create({ name: 'a', spec: { size: 1 } });
    await fixture.create({ name: 'b', spec: { size: 2 } });
    const { items } = await fixture.registry.list(fixture.request(shown), { fieldSelector: 'spec.size=20' });
    assert.deepEqual(
      items.map(({ object }) => object.metadata.name),
      ['b', 'late'],
    );
    assert.equal(conversions, 2);
  } finally {
    await fixture.stop();
  }
});
