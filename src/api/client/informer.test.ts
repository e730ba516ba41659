import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { silentLogger } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import type { ConfigMap } from '../core/config-map.ts';
import { ApiStatusError } from '../status/api-status-error.ts';
import { createInformer, createInformers } from './informer.ts';
import type { Informer, Informers } from './informer.ts';
import { configMaps } from './resource-types.ts';
import { FakeApiClient } from './testing/fake-api-client.ts';
import type { FakeApiOptions } from './testing/fake-api-client.ts';

const build = (name: string, value = '1', namespace = 'default'): ConfigMap => ({
  metadata: { name, namespace, uid: '' },
  data: { value },
});
const key = (name: string): { namespace: string; name: string } => ({ namespace: 'default', name });

interface Setting {
  readonly clock: FakeClock;
  readonly api: FakeApiClient;
  readonly informers: Informers;
  readonly informer: Informer<ConfigMap>;
  readonly said: string[];
}

function setUp(options: Partial<FakeApiOptions> = {}): Setting {
  const clock = new FakeClock();
  const api = new FakeApiClient({ clock, ...options });
  const informers = createInformers({ client: api, clock, random: seededRandom(3), log: silentLogger });
  const informer = informers.for(configMaps);
  const said: string[] = [];
  informer.addHandlers({
    onAdd: ({ metadata, data }, initial) =>
      said.push(`${initial ? 'first' : 'add'} ${metadata.name}=${data?.['value']}`),
    onUpdate: (before, after) =>
      said.push(`update ${after.metadata.name} ${before.data?.['value']}->${after.data?.['value']}`),
    onDelete: ({ metadata }, unknown) => said.push(`${unknown ? 'lost' : 'delete'} ${metadata.name}`),
  });
  return { clock, api, informers, informer, said };
}

const verbs = (api: FakeApiClient): string =>
  api.calls
    .filter(({ verb }) => verb === 'list' || verb === 'watch')
    .map(({ verb }) => verb)
    .join(' ');
const setValue = (api: FakeApiClient, name: string, value: string): void =>
  void api.change(configMaps, key(name), (object) => ({ ...object, data: { value } }));

for (const streamsLists of [true, false]) {
  describe(streamsLists ? 'informer on a server that streams lists' : 'informer on a server that only lists', () => {
    it('delivers the existing objects, then every change, and has synced after the first list', async () => {
      const { clock, api, informers, informer, said } = setUp({ streamsLists });
      api.seed(configMaps, build('a'));
      assert.equal(informer.hasSynced(), false);
      informers.start();
      await clock.settle();
      assert.equal(informer.hasSynced(), true);
      await informers.whenSynced();
      await api.create(configMaps, build('b'));
      setValue(api, 'a', '2');
      await api.delete(configMaps, key('b'));
      await clock.settle();
      assert.deepEqual(said, ['first a=1', 'add b=1', 'update a 1->2', 'delete b']);
      assert.equal(verbs(api), streamsLists ? 'watch' : 'watch list watch');
      await informers.stop();
      assert.deepEqual([api.openWatches, clock.armedTimers], [[], 0]);
    });

    it('lists again after a compaction and delivers missed changes: deletions, and replaced objects as deletion and addition', async () => {
      const { clock, api, informers, said } = setUp({ streamsLists });
      for (const name of ['a', 'b', 'c', 'd']) api.seed(configMaps, build(name));
      informers.start();
      await clock.settle();
      said.length = 0;
      api.muteWatches();
      setValue(api, 'a', '2');
      api.remove(configMaps, key('b'));
      api.remove(configMaps, key('c'));
      await api.create(configMaps, build('c', '9'));
      api.compact();
      api.endWatches();
      await clock.advance(5_000);
      assert.deepEqual(said.toSorted(), ['add c=9', 'lost b', 'lost c', 'update a 1->2']);
      await informers.stop();
    });
  });
}

it('a watch that ended goes on from where it was, without a list; bookmarks count as having been somewhere', async () => {
  const { clock, api, informers, said } = setUp();
  api.seed(configMaps, build('a'));
  informers.start();
  await clock.settle();
  const seen = api.calls.length;
  setValue(api, 'a', '2');
  await clock.settle();
  api.endWatches();
  setValue(api, 'a', '3');
  await clock.advance(100);
  assert.deepEqual([said.slice(1), api.calls.length - seen], [['update a 1->2', 'update a 2->3'], 1]);
  api.seed(configMaps, build('z', '1', 'other'));
  api.bookmark();
  await clock.settle();
  api.compact();
  api.endWatches();
  await clock.advance(100);
  assert.deepEqual([api.calls.length - seen, verbs(api)], [2, 'watch watch watch']);
  await informers.stop();
});

it('a deletion tells the state that the object had when it was deleted, which may be newer than the last one told', async () => {
  const { clock, api, informers, informer } = setUp();
  const last: unknown[] = [];
  informer.addHandlers({
    onDelete: ({ metadata, data }) => last.push([metadata.resourceVersion, data?.['value']]),
  });
  api.seed(configMaps, build('a'));
  informers.start();
  await clock.settle();
  const known = informer.get(key('a'))?.metadata.resourceVersion;
  api.remove(configMaps, key('a'));
  await clock.settle();
  assert.equal(last.length, 1);
  assert.notDeepEqual(last, [[known, '1']]);
  await informers.stop();
});

it('a watch on which nothing comes, not even a bookmark, is given up and taken up again', async () => {
  const { clock, api, informers, said } = setUp();
  api.seed(configMaps, build('a'));
  informers.start();
  await clock.settle();
  api.muteWatches();
  setValue(api, 'a', '2');
  await clock.advance(149_000);
  assert.deepEqual(said, ['first a=1']);
  await clock.advance(2_000);
  assert.deepEqual([said, verbs(api)], [['first a=1', 'update a 1->2'], 'watch watch']);
  await informers.stop();
});

it('failures wait longer each time, with jitter, and never end it', async () => {
  const { clock, api, informers, informer } = setUp({ streamsLists: false });
  const triedMs: number[] = [];
  const end = api.script(({ verb }) => {
    if (verb === 'list') triedMs.push(clock.monotonicMs());
    return verb === 'list' ? new ApiStatusError('ServiceUnavailable', 'not yet') : undefined;
  });
  informers.start();
  await clock.advance(100_000);
  const pauses = triedMs.slice(1).map((at, index) => at - (triedMs[index] ?? 0));
  for (const [index, pauseMs] of pauses.entries()) {
    const baseMs = Math.min(30_000, 200 * 2 ** index);
    assert.ok(pauseMs >= baseMs && pauseMs <= 2 * baseMs, `pause ${index} is ${pauseMs}`);
  }
  assert.ok(pauses.length >= 7);
  end();
  await clock.advance(60_000);
  assert.equal(informer.hasSynced(), true);
  await informers.stop();
});

it('a server that ends every watch at once is not asked in a tight loop', async () => {
  const { clock, api, informers } = setUp();
  informers.start();
  await clock.settle();
  const end = api.script(({ verb }) => {
    if (verb === 'watch') queueMicrotask(() => setImmediate(() => api.endWatches()));
    return undefined;
  });
  api.endWatches();
  await clock.advance(10_000);
  assert.ok(api.calls.length < 12, `${api.calls.length} calls in ten seconds`);
  end();
  await informers.stop();
});

it('one watch per kind, for any number of handlers; a late handler gets the existing objects; a removed one gets nothing', async () => {
  const { clock, api, informers, informer, said } = setUp();
  assert.equal(informers.for(configMaps), informer);
  api.seed(configMaps, build('a'));
  informers.start();
  await clock.settle();
  const late: string[] = [];
  const leave = informers
    .for(configMaps)
    .addHandlers({ onAdd: ({ metadata }, initial) => late.push(`${metadata.name} ${initial}`) });
  api.seed(configMaps, build('b'));
  await clock.settle();
  leave();
  api.seed(configMaps, build('c'));
  await clock.settle();
  assert.deepEqual([late, said.length, api.openWatches], [['a true', 'b false'], 3, ['configmaps']]);
  await informers.stop();
});

it('an exception in one handler does not keep events from the other handlers', async () => {
  const { clock, api, informers, informer } = setUp();
  const heard: string[] = [];
  informer.addHandlers({
    onAdd: () => {
      throw new Error('broken');
    },
  });
  informer.addHandlers({ onAdd: ({ metadata }) => heard.push(metadata.name) });
  informers.start();
  api.seed(configMaps, build('a'));
  await clock.settle();
  assert.deepEqual(heard, ['a']);
  await informers.stop();
});

it('a part of a kind is followed by selectors: what ceases to be selected is deleted', async () => {
  const clock = new FakeClock();
  const api = new FakeApiClient({ clock });
  const informer = createInformer({
    client: api,
    clock,
    random: seededRandom(1),
    log: silentLogger,
    type: configMaps,
    namespace: 'default',
    labelSelector: 'on=yes',
  });
  informer.start();
  const labelled = (value: string): ConfigMap => ({
    metadata: { name: 'a', namespace: 'default', uid: 'u', labels: { on: value } },
  });
  api.seed(configMaps, labelled('yes'));
  api.seed(configMaps, build('b'));
  await clock.settle();
  assert.deepEqual(
    informer.list().map(({ metadata }) => metadata.name),
    ['a'],
  );
  api.seed(configMaps, labelled('no'));
  await clock.settle();
  assert.equal(informer.size, 0);
  await informer.stop();
});

it('indexes always say what a search through all objects would', () => {
  const steps = fc.array(
    fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd'), value: fc.constantFrom('1', '2', ''), gone: fc.boolean() }),
    { maxLength: 30 },
  );
  return fc.assert(
    fc.asyncProperty(steps, async (changes) => {
      const { clock, api, informers, informer } = setUp();
      const by = ({ data }: ConfigMap): string[] => (data?.['value'] === '' ? [] : [data?.['value'] ?? '', 'any']);
      const index = informer.index('value', by);
      informers.start();
      for (const { name, value, gone } of changes) {
        if (gone) api.remove(configMaps, key(name));
        else api.seed(configMaps, { ...build(name, value), metadata: { ...build(name).metadata, uid: name } });
      }
      await clock.settle();
      const late = informer.index('late', by);
      const names = (objects: readonly ConfigMap[]): string[] =>
        objects.map(({ metadata }) => metadata.name).toSorted();
      for (const value of ['1', '2', 'any', '']) {
        const searched = names(api.all(configMaps).filter((each) => by(each).includes(value)));
        assert.deepEqual(
          [names(index.get(value)), names(late.get(value)), index.count(value)],
          [searched, searched, searched.length],
        );
      }
      assert.deepEqual(names(informer.list('default')), names(api.all(configMaps)));
      await informers.stop();
    }),
    { numRuns: 50 },
  );
});
