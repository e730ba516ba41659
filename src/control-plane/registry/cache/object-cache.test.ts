import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { seededRandom } from '../../../base/random.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import { noFaults, HostileStorage } from '../testing/hostile-storage.ts';
import { startRegistry, widgets } from '../testing/registry-ground.ts';
import type { RegistryGround } from '../testing/registry-ground.ts';

interface Seen {
  readonly events: string[];
  readonly versions: number[];
  readonly ends: unknown[];
  close(): void;
}

async function watchFrom(ground: RegistryGround, resourceVersion: string): Promise<Seen> {
  const seen = { events: [] as string[], versions: [] as number[], ends: [] as unknown[] };
  const { close } = await ground.registry.watch(
    ground.request(widgets),
    { resourceVersion },
    {
      event: (type, { object }) => {
        seen.events.push(`${type} ${object.metadata.name}`);
        seen.versions.push(Number(object.metadata.resourceVersion));
      },
      bookmark: () => undefined,
      end: (error) => seen.ends.push(error),
    },
  );
  return { ...seen, close };
}

describe('the cache of objects', () => {
  let ground: RegistryGround;
  let storage: HostileStorage;
  beforeEach(async () => {
    ground = await startRegistry([], {
      wrap: (inner, clock) => (storage = new HostileStorage(inner, clock, seededRandom(7))),
    });
  });
  afterEach(() => ground.stop());
  const remove = (name: string): Promise<unknown> => ground.registry.delete(ground.request(widgets, name), {});

  test('a version from before the server began is refused with 410: what was deleted after it is not known', async () => {
    const { metadata } = await ground.create({ name: 'a' });
    await remove('a');
    const restarted = await ground.second();
    await assert.rejects(watchFrom(restarted, metadata.resourceVersion ?? ''), (error) => isApiError(error, 'Expired'));
    await restarted.stop();
  });

  test('a list of a version from before the server began shows what was deleted after it', async () => {
    const { metadata } = await ground.create({ name: 'a' });
    await remove('a');
    const restarted = await ground.second();
    const { items } = await restarted.registry.list(restarted.request(widgets), {
      resourceVersion: metadata.resourceVersion ?? '',
      resourceVersionMatch: 'Exact',
    });
    assert.deepEqual(
      items.map(({ object }) => object.metadata.name),
      ['a'],
    );
    await restarted.stop();
  });

  test('after a gap watches end with 410, and nobody goes on from a version within it', async () => {
    const other = await ground.second();
    const { metadata } = await ground.create({ name: 'before' });
    const watch = await watchFrom(ground, metadata.resourceVersion ?? '');
    storage.faults = { ...noFaults, refuse: 1 };
    storage.endWatches({ kind: 'Compacted' });
    await ground.clock.settle();
    storage.faults = noFaults;
    const within = await other.create({ name: 'b' });
    await other.create({ name: 'a' });
    await other.registry.delete(other.request(widgets, 'b'), {});
    await ground.clock.advance(1000);
    assert.deepEqual([watch.events, watch.ends.map((error) => isApiError(error, 'Expired'))], [[], [true]]);
    await assert.rejects(watchFrom(ground, within.metadata.resourceVersion ?? ''), (error) =>
      isApiError(error, 'Expired'),
    );
    const { items } = await ground.registry.list(ground.request(widgets), {});
    assert.deepEqual(
      items.map(({ object }) => object.metadata.name),
      ['a', 'before'],
    );
    await other.stop();
  });

  test('after a gap the listeners of the server hear of the changes in the order of their versions', async () => {
    const versions: number[] = [];
    const kind = ground.cache.kind(widgets as unknown as ResourceDefinition);
    kind.listeners.add(({ revision }) => versions.push(revision));
    const other = await ground.second();
    storage.faults = { ...noFaults, refuse: 1 };
    storage.endWatches({ kind: 'Compacted' });
    await ground.clock.settle();
    storage.faults = noFaults;
    for (const name of ['c', 'a', 'b']) await other.create({ name });
    await ground.clock.advance(1000);
    assert.equal(versions.length, 3);
    assert.deepEqual(
      versions,
      versions.toSorted((one, next) => one - next),
    );
    await other.stop();
  });

  test('a listener that throws takes nothing from the others', async () => {
    const heard: string[] = [];
    const kind = ground.cache.kind(widgets as unknown as ResourceDefinition);
    kind.listeners.add(() => {
      throw new Error('a plugin with a fault');
    });
    kind.listeners.add(({ key }) => heard.push(key));
    const { metadata } = await ground.create({ name: 'a' });
    assert.deepEqual([heard, ground.cache.revision >= Number(metadata.resourceVersion)], [['default/a'], true]);
  });

  test('a watch whose reader throws ends, rather than going on with a change left out', async () => {
    const ends: unknown[] = [];
    await ground.registry.watch(
      ground.request(widgets),
      {},
      {
        event: () => {
          throw new Error('cannot be written');
        },
        bookmark: () => undefined,
        end: (error) => ends.push(isApiError(error, 'InternalError')),
      },
    );
    await ground.create({ name: 'a' });
    await ground.create({ name: 'b' });
    assert.deepEqual(ends, [true]);
  });

  test('a store that cannot be watched is asked again after a while, not at once', async () => {
    let asked = 0;
    const watch = storage.watch.bind(storage);
    storage.watch = (...args) => {
      asked++;
      const [, , , onEnd] = args;
      if (asked <= 3) queueMicrotask(() => onEnd({ kind: 'Unavailable', message: 'input/output error' }));
      return asked <= 3 ? { close: () => undefined } : watch(...args);
    };
    storage.endWatches({ kind: 'Unavailable', message: 'input/output error' });
    await ground.clock.settle();
    assert.equal(asked, 0);
    await ground.clock.advance(5000);
    assert.equal(asked, 4);
    assert.equal((await ground.create({ name: 'a' })).metadata.name, 'a');
  });
});
