import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { seededRandom } from '../../../base/random.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import { noFaults, FaultyStorage } from '../testing/faulty-storage.ts';
import { startRegistry, widgets } from '../testing/registry-fixture.ts';
import type { RegistryFixture } from '../testing/registry-fixture.ts';

interface Seen {
  readonly events: string[];
  readonly versions: number[];
  readonly ends: unknown[];
  close(): void;
}

async function watchFrom(fixture: RegistryFixture, resourceVersion: string): Promise<Seen> {
  const seen = { events: [] as string[], versions: [] as number[], ends: [] as unknown[] };
  const { close } = await fixture.registry.watch(
    fixture.request(widgets),
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

describe('the watch cache', () => {
  let fixture: RegistryFixture;
  let storage: FaultyStorage;
  beforeEach(async () => {
    fixture = await startRegistry([], {
      wrap: (inner, clock) => (storage = new FaultyStorage(inner, clock, seededRandom(7))),
    });
  });
  afterEach(() => fixture.stop());
  const remove = (name: string): Promise<unknown> => fixture.registry.delete(fixture.request(widgets, name), {});

  test('a version from before the start of the server is rejected with 410, because later deletions are unknown', async () => {
    const { metadata } = await fixture.create({ name: 'a' });
    await remove('a');
    const restarted = await fixture.second();
    await assert.rejects(watchFrom(restarted, metadata.resourceVersion ?? ''), (error) => isApiError(error, 'Expired'));
    await restarted.stop();
  });

  test('a list of a version from before the server started includes objects that were deleted later', async () => {
    const { metadata } = await fixture.create({ name: 'a' });
    await remove('a');
    const restarted = await fixture.second();
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

  test('after a gap watches end with 410, and no watch resumes from a version within it', async () => {
    const other = await fixture.second();
    const { metadata } = await fixture.create({ name: 'before' });
    const watch = await watchFrom(fixture, metadata.resourceVersion ?? '');
    storage.faults = { ...noFaults, refuse: 1 };
    storage.endWatches({ kind: 'Compacted' });
    await fixture.clock.settle();
    storage.faults = noFaults;
    const within = await other.create({ name: 'b' });
    await other.create({ name: 'a' });
    await other.registry.delete(other.request(widgets, 'b'), {});
    await fixture.clock.advance(1000);
    assert.deepEqual([watch.events, watch.ends.map((error) => isApiError(error, 'Expired'))], [[], [true]]);
    await assert.rejects(watchFrom(fixture, within.metadata.resourceVersion ?? ''), (error) =>
      isApiError(error, 'Expired'),
    );
    const { items } = await fixture.registry.list(fixture.request(widgets), {});
    assert.deepEqual(
      items.map(({ object }) => object.metadata.name),
      ['a', 'before'],
    );
    await other.stop();
  });

  test('after a gap, listeners receive the changes in version order', async () => {
    const versions: number[] = [];
    const kind = fixture.cache.kind(widgets as unknown as ResourceDefinition);
    kind.listeners.add(({ revision }) => versions.push(revision));
    const other = await fixture.second();
    storage.faults = { ...noFaults, refuse: 1 };
    storage.endWatches({ kind: 'Compacted' });
    await fixture.clock.settle();
    storage.faults = noFaults;
    for (const name of ['c', 'a', 'b']) await other.create({ name });
    await fixture.clock.advance(1000);
    assert.equal(versions.length, 3);
    assert.deepEqual(
      versions,
      versions.toSorted((one, next) => one - next),
    );
    await other.stop();
  });

  test('a listener that throws does not affect the others', async () => {
    const heard: string[] = [];
    const kind = fixture.cache.kind(widgets as unknown as ResourceDefinition);
    kind.listeners.add(() => {
      throw new Error('a plugin with a fault');
    });
    kind.listeners.add(({ key }) => heard.push(key));
    const { metadata } = await fixture.create({ name: 'a' });
    assert.deepEqual([heard, fixture.cache.revision >= Number(metadata.resourceVersion)], [['default/a'], true]);
  });

  test('a watch whose reader throws ends, so that no change is omitted', async () => {
    const ends: unknown[] = [];
    await fixture.registry.watch(
      fixture.request(widgets),
      {},
      {
        event: () => {
          throw new Error('cannot be written');
        },
        bookmark: () => undefined,
        end: (error) => ends.push(isApiError(error, 'InternalError')),
      },
    );
    await fixture.create({ name: 'a' });
    await fixture.create({ name: 'b' });
    assert.deepEqual(ends, [true]);
  });

  test('a watch that fails is retried after a delay', async () => {
    let asked = 0;
    const watch = storage.watch.bind(storage);
    storage.watch = (...args) => {
      asked++;
      const [, , , onEnd] = args;
      if (asked <= 3) queueMicrotask(() => onEnd({ kind: 'Unavailable', message: 'input/output error' }));
      return asked <= 3 ? { close: () => undefined } : watch(...args);
    };
    storage.endWatches({ kind: 'Unavailable', message: 'input/output error' });
    await fixture.clock.settle();
    assert.equal(asked, 0);
    await fixture.clock.advance(5000);
    assert.equal(asked, 4);
    assert.equal((await fixture.create({ name: 'a' })).metadata.name, 'a');
  });
});
