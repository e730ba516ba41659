import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { ApiObject, ResourceType } from '../../../api/client/resource-type.ts';
import { configMaps } from '../../../api/client/resource-types.ts';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import type { OwnerReference } from '../../../api/core/meta.ts';
import { ApiStatusError, isApiError } from '../../../api/status/api-status-error.ts';
import type { Clock } from '../../../base/clock.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { noOtherApis } from '../../controller-runtime/other-apis.ts';
import type { CollectableKind, OtherApis } from '../../controller-runtime/other-apis.ts';
import { createGarbageCollector } from './garbage-collector.ts';

const boats: ResourceType = { group: 'sea.io', version: 'v1', kind: 'Boat', plural: 'boats', namespaced: true };

/** A server behind an APIService with Boats, which may be away, and which may hang. */
class SeaServer implements OtherApis {
  readonly versionOf = noOtherApis.versionOf;
  readonly delete = noOtherApis.delete;
  readonly resources = noOtherApis.resources;
  readonly api: FakeApiClient;
  kinds: readonly CollectableKind[] = [{ ...boats, verbs: ['get', 'list', 'watch', 'delete', 'patch'] }];
  unknown: readonly string[] = [];
  isHanging = false;
  readonly #listeners = new Set<() => void>();

  constructor(clock: Clock) {
    this.api = new FakeApiClient({ clock, streamsLists: false });
  }

  collectable(): readonly CollectableKind[] {
    return this.kinds;
  }

  undiscovered(): readonly string[] {
    return this.unknown;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  changed(): void {
    for (const listener of this.#listeners) listener();
  }

  clientFor(): ReturnType<OtherApis['clientFor']> {
    const never = (): Promise<never> => new Promise(() => undefined);
    return new Proxy(this.api, {
      get: (api, name: keyof FakeApiClient) => {
        const member: unknown = api[name];
        if (typeof member !== 'function') return member;
        if (this.isHanging && name !== 'watch') return never;
        return member.bind(api) as unknown;
      },
    });
  }

  find(group: string, kind: string): ReturnType<OtherApis['find']> {
    return this.kinds.find((each) => each.group === group && each.kind === kind);
  }

  get(_: unknown, path: string): Promise<unknown> {
    const [, namespace = '', name = ''] = /namespaces\/(.*)\/boats\/(.*)$/.exec(path) ?? [];
    return this.api.get(boats, { namespace, name });
  }

  boat(name: string, more: Partial<ApiObject['metadata']> = {}): void {
    this.api.seed(boats, { metadata: { name, namespace: 'default', uid: name, ...more } });
  }

  get names(): readonly string[] {
    return this.api.all(boats).map(({ metadata }) => metadata.name);
  }
}

const owner = (kind: 'ConfigMap' | 'Boat', name: string, blockOwnerDeletion = true): OwnerReference => ({
  apiVersion: kind === 'Boat' ? 'sea.io/v1' : 'v1',
  kind,
  name,
  uid: name,
  blockOwnerDeletion,
});

interface World {
  readonly world: ControllerWorld;
  readonly sea: SeaServer;
  readonly maps: () => readonly string[];
  readonly map: (name: string, more?: Partial<ApiObject['metadata']>) => void;
  readonly remove: (name: string, propagationPolicy: 'Background' | 'Foreground' | 'Orphan') => Promise<void>;
}

async function setUp(seed: (world: Pick<World, 'sea' | 'map'>) => void): Promise<World> {
  const world: ControllerWorld = new ControllerWorld({
    make: (options) => [createGarbageCollector({ ...options, types: [configMaps], otherApis: sea })],
  });
  const sea = new SeaServer(world.clock);
  const map: World['map'] = (name, more = {}) =>
    void world.api.seed(configMaps, { metadata: { name, namespace: 'default', uid: name, ...more } });
  seed({ sea, map });
  world.start();
  await world.clock.advance(2_000);
  return {
    world,
    sea,
    map,
    maps: () => world.api.all(configMaps).map(({ metadata }) => metadata.name),
    remove: async (name, propagationPolicy) => {
      await world.api.delete(configMaps, { namespace: 'default', name }, { propagationPolicy });
      await world.clock.advance(5_000);
    },
  };
}

it('dependents on an aggregated server are deleted after their owner, recursively and without a poll', async () => {
  const { world, sea, maps, remove } = await setUp(({ sea: server, map }) => {
    map('top');
    server.boat('boat', { ownerReferences: [owner('ConfigMap', 'top')] });
    server.boat('dinghy', { ownerReferences: [owner('Boat', 'boat')] });
    map('below', { ownerReferences: [owner('Boat', 'dinghy')] });
    server.boat('other');
    server.boat('stray', { ownerReferences: [owner('ConfigMap', 'never')] });
  });
  assert.deepEqual(
    [sea.names, maps()],
    [
      ['boat', 'dinghy', 'other'],
      ['top', 'below'],
    ],
  );
  await remove('top', 'Background');
  assert.deepEqual([sea.names, maps()], [['other'], []]);
  await world.stop();
});

it('foreground deletion waits for blocking dependents on an aggregated server', async () => {
  const { world, sea, maps, remove } = await setUp(({ sea: server, map }) => {
    map('top');
    server.boat('boat', { ownerReferences: [owner('ConfigMap', 'top')], finalizers: ['sea.io/moored'] });
  });
  await remove('top', 'Foreground');
  assert.deepEqual([sea.names, maps()], [['boat'], ['top']]);
  sea.api.change(boats, { namespace: 'default', name: 'boat' }, (boat) => ({
    ...boat,
    metadata: { ...boat.metadata, finalizers: [] },
  }));
  await world.clock.advance(5_000);
  assert.deepEqual([sea.names, maps()], [[], []]);
  await world.stop();
});

it('an orphaned dependent on an aggregated server loses its owner, which goes after that', async () => {
  const { world, sea, maps, remove } = await setUp(({ sea: server, map }) => {
    map('top');
    server.boat('boat', { ownerReferences: [owner('ConfigMap', 'top'), owner('Boat', 'other')] });
    server.boat('other');
  });
  const end = sea.api.script(({ verb }) =>
    verb === 'patch' ? new ApiStatusError('ServiceUnavailable', 'away') : undefined,
  );
  await remove('top', 'Orphan');
  assert.deepEqual(maps(), ['top']);
  end();
  await world.clock.advance(60_000);
  const boat = sea.api.peek(boats, { namespace: 'default', name: 'boat' });
  assert.deepEqual([maps(), boat?.metadata.ownerReferences?.map(({ uid }) => uid)], [[], ['other']]);
  await world.stop();
});

it('owners on an aggregated server are released after foreground and orphan deletion', async () => {
  const { world, sea, map, maps } = await setUp(({ sea: server, map: seedMap }) => {
    server.boat('first');
    server.boat('second');
    seedMap('held', { ownerReferences: [owner('Boat', 'first')], finalizers: ['x/y'] });
    seedMap('freed', { ownerReferences: [owner('Boat', 'second')] });
  });
  for (const [name, propagationPolicy] of [
    ['first', 'Foreground'],
    ['second', 'Orphan'],
  ] as const)
    await sea.api.delete(boats, { namespace: 'default', name }, { propagationPolicy });
  await world.clock.advance(5_000);
  assert.deepEqual([sea.names, maps()], [['first'], ['held', 'freed']]);
  assert.deepEqual(
    world.api.peek(configMaps, { namespace: 'default', name: 'freed' })?.metadata.ownerReferences ?? [],
    [],
  );
  world.api.change(configMaps, { namespace: 'default', name: 'held' }, (object) => ({
    ...object,
    metadata: { ...object.metadata, finalizers: [] },
  }));
  await world.clock.advance(5_000);
  assert.deepEqual([sea.names, maps()], [[], ['freed']]);
  map('late', { ownerReferences: [owner('Boat', 'first')] });
  await world.clock.advance(5_000);
  assert.deepEqual(maps(), ['freed']);
  await world.stop();
});

it('an aggregated server that hangs delays only its own objects', async () => {
  const { world, sea, map, maps, remove } = await setUp(({ sea: server, map: seedMap }) => {
    for (let number = 0; number < 50; number++) {
      seedMap(`top-${number}`);
      server.boat(`boat-${number}`, { ownerReferences: [owner('ConfigMap', `top-${number}`)] });
    }
  });
  sea.isHanging = true;
  for (let number = 0; number < 50; number++)
    await world.api.delete(
      configMaps,
      { namespace: 'default', name: `top-${number}` },
      {
        propagationPolicy: number % 2 === 0 ? 'Foreground' : 'Orphan',
      },
    );
  await world.clock.advance(5_000);
  map('owner');
  map('dependent', { ownerReferences: [owner('ConfigMap', 'owner')] });
  await world.clock.advance(1_000);
  await remove('owner', 'Foreground');
  assert.deepEqual(
    maps().filter((name) => !name.startsWith('top-')),
    [],
  );
  await world.stop();
});

it('orphan deletion waits half a minute for an aggregated server whose kinds are not known', async () => {
  const { world, sea, maps, remove } = await setUp(({ sea: server, map }) => {
    server.unknown = ['sea.io/v1'];
    server.kinds = [];
    map('top');
    map('second');
    server.boat('boat', { ownerReferences: [owner('ConfigMap', 'top')] });
  });
  await remove('top', 'Orphan');
  assert.deepEqual(maps(), ['top', 'second']);
  sea.unknown = [];
  sea.kinds = [{ ...boats, verbs: ['list', 'watch', 'delete'] }];
  sea.changed();
  await world.clock.advance(5_000);
  assert.deepEqual([maps(), sea.names], [['second'], ['boat']]);
  sea.unknown = ['sky.io/v1'];
  sea.changed();
  await remove('second', 'Foreground');
  assert.deepEqual(maps(), ['second']);
  await world.clock.advance(30_000);
  assert.deepEqual(maps(), []);
  await world.stop();
});

it('a kind of an aggregated server is no longer followed when its APIService is removed', async () => {
  const { world, sea, remove } = await setUp(({ sea: server, map }) => {
    map('top');
    server.boat('boat', { ownerReferences: [owner('ConfigMap', 'top')] });
  });
  sea.kinds = [];
  sea.changed();
  await remove('top', 'Foreground');
  assert.deepEqual(sea.names, ['boat']);
  assert.equal(
    await world.api
      .get(configMaps, { namespace: 'default', name: 'top' })
      .catch((error: unknown) => isApiError(error, 'NotFound')),
    true,
  );
  await world.stop();
});
