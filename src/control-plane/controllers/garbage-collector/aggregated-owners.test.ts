import assert from 'node:assert/strict';
import { it } from 'node:test';
import { configMaps, nodes } from '../../../api/client/resource-types.ts';
import type { ApiObject, ResourceType } from '../../../api/client/resource-type.ts';
import type { OwnerReference } from '../../../api/core/meta.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { noOtherApis } from '../../controller-runtime/other-apis.ts';
import type { OtherApis } from '../../controller-runtime/other-apis.ts';
import { createGarbageCollector } from './garbage-collector.ts';

const types: readonly ResourceType[] = [configMaps, nodes];

interface Shape {
  readonly type?: ResourceType;
  readonly references: readonly OwnerReference[];
}

/** A server behind an APIService with Boats in namespaces and Seas outside of them. */
class FakeOtherServer implements OtherApis {
  readonly versionOf = noOtherApis.versionOf;
  readonly delete = noOtherApis.delete;
  readonly resources = noOtherApis.resources;
  readonly collectable = noOtherApis.collectable;
  readonly undiscovered = noOtherApis.undiscovered;
  readonly onChange = noOtherApis.onChange;
  readonly clientFor = noOtherApis.clientFor;
  readonly objects = new Map<string, object>();
  readonly asked: string[] = [];
  failure: Error | undefined;
  isKnown = true;

  find(group: string, kind: string): ReturnType<OtherApis['find']> {
    if (!this.isKnown || group !== 'sea.io' || !['Boat', 'Sea'].includes(kind)) return undefined;
    return { group, version: 'v2', plural: `${kind.toLowerCase()}s`, verbs: ['get'], namespaced: kind === 'Boat' };
  }

  get(_: unknown, path: string): Promise<unknown> {
    this.asked.push(path);
    if (this.failure !== undefined) return Promise.reject(this.failure);
    const found = this.objects.get(path.replace('/apis/sea.io/v2/', ''));
    const missing = new ApiStatusError('NotFound', 'not found', { name: path.split('/').at(-1) ?? '' });
    return found === undefined ? Promise.reject(missing) : Promise.resolve(found);
  }
}

const names = (world: ControllerWorld): string[] =>
  types.flatMap((type) => world.api.all(type).map(({ metadata }) => metadata.name)).sort();
const find = (world: ControllerWorld, name: string): ApiObject | undefined =>
  world.api.peek(configMaps, { namespace: 'default', name });
const seaOwner = (kind: string, name: string): OwnerReference => ({ apiVersion: 'sea.io/v1', kind, name, uid: name });

async function seaWorld(server: FakeOtherServer, shapes: Readonly<Record<string, Shape>>): Promise<ControllerWorld> {
  const world = new ControllerWorld({
    make: (options) => [createGarbageCollector({ ...options, types, otherApis: server })],
  });
  for (const [name, { type = configMaps, references }] of Object.entries(shapes))
    world.api.seed(type, {
      metadata: { name, uid: name, namespace: type.namespaced ? 'default' : '', ownerReferences: [...references] },
    });
  world.start();
  await world.clock.advance(2_000);
  return world;
}

it('dependents of an object of an aggregated server go within a minute after it', async () => {
  const server = new FakeOtherServer();
  server.objects.set('namespaces/default/boats/b', { metadata: { name: 'b', uid: 'b' } });
  server.objects.set('seas/s', { metadata: { name: 's', uid: 's' } });
  server.objects.set('seas/renewed', { metadata: { name: 'renewed', uid: 'another one' } });
  const world = await seaWorld(server, {
    one: { references: [seaOwner('Boat', 'b')] },
    two: { references: [seaOwner('Boat', 'b')] },
    wide: { type: nodes, references: [seaOwner('Sea', 's')] },
    both: { references: [seaOwner('Boat', 'b'), seaOwner('Sea', 'none')] },
    never: { references: [seaOwner('Boat', 'none')] },
    renewed: { references: [seaOwner('Sea', 'renewed')] },
    // A cluster-scoped object cannot have a namespaced owner.
    node: { type: nodes, references: [seaOwner('Boat', 'none')] },
  });
  assert.deepEqual(names(world), ['both', 'node', 'one', 'two', 'wide']);
  assert.deepEqual(
    find(world, 'both')?.metadata.ownerReferences?.map(({ uid }) => uid),
    ['b'],
  );
  assert.equal(server.asked.filter((path) => path.endsWith('/boats/b')).length, 1);
  await world.clock.advance(60_000);
  assert.deepEqual(names(world), ['both', 'node', 'one', 'two', 'wide']);
  server.objects.clear();
  await world.clock.advance(60_000);
  assert.deepEqual(names(world), ['node']);
  await world.stop();
});

it('while an aggregated server is away or lies the dependents of its objects are kept', async () => {
  const server = new FakeOtherServer();
  server.failure = new Error('the server is currently unable to handle the request');
  const world = await seaWorld(server, {
    kept: { references: [seaOwner('Boat', 'b')] },
    lost: { references: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'missing', uid: 'missing' }] },
  });
  assert.deepEqual(names(world), ['kept']);
  await world.clock.advance(600_000);
  server.failure = undefined;
  for (const lie of [{}, [], { metadata: {} }, { kind: 'Status' }]) {
    server.objects.set('namespaces/default/boats/b', lie);
    await world.clock.advance(1_000_000);
    assert.deepEqual(names(world), ['kept']);
  }
  // Its APIService is removed, and comes back.
  server.isKnown = false;
  await world.clock.advance(2_000_000);
  server.objects.clear();
  assert.deepEqual(names(world), ['kept']);
  server.isKnown = true;
  await world.clock.advance(60_000);
  assert.deepEqual(names(world), []);
  await world.stop();
});
