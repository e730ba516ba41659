import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import type { ApiObject, ResourceType } from '../../../api/client/resource-type.ts';
import { configMaps, nodes, pods, replicaSets, secrets } from '../../../api/client/resource-types.ts';
import type { OwnerReference } from '../../../api/core/meta.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import type { CustomKind } from '../../controller-runtime/custom-kinds.ts';
import { FakeCustomKinds } from '../../controller-runtime/testing/fake-custom-kinds.ts';
import { createGarbageCollector } from './garbage-collector.ts';

const types: readonly ResourceType[] = [configMaps, secrets, nodes];

interface Shape {
  readonly type?: ResourceType;
  readonly namespace?: string;
  readonly owners?: readonly string[];
  /** Whether the reference does not block the deletion of the owner. */
  readonly loose?: boolean;
  readonly references?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
}

async function setUp(shapes: Readonly<Record<string, Shape>>, { lagMs = 0, seed = 1 } = {}): Promise<ControllerWorld> {
  const world = new ControllerWorld({
    make: (options) => [createGarbageCollector({ ...options, types })],
    lagMs,
    seed,
  });
  for (const [name, shape] of Object.entries(shapes)) seedObject(world, name, shape);
  world.start();
  await world.clock.advance(2_000);
  return world;
}

function seedObject(
  world: ControllerWorld,
  name: string,
  { type = configMaps, namespace = 'default', owners, loose = false, references, finalizers }: Shape,
): void {
  const ownerReferences =
    references ??
    owners?.map(
      (owner): OwnerReference => ({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        name: owner,
        uid: owner,
        blockOwnerDeletion: !loose,
      }),
    );
  const metadata = {
    name,
    uid: name,
    namespace: type.namespaced ? namespace : '',
    ...(ownerReferences !== undefined && { ownerReferences: [...ownerReferences] }),
    ...(finalizers !== undefined && { finalizers: [...finalizers] }),
  };
  world.api.seed(type, { metadata });
}

const names = (world: ControllerWorld): string[] =>
  types.flatMap((type) => world.api.all(type).map(({ metadata }) => metadata.name)).sort();
const find = (world: ControllerWorld, name: string): ApiObject | undefined =>
  world.api.peek(configMaps, { namespace: 'default', name });
async function remove(
  world: ControllerWorld,
  name: string,
  propagationPolicy: 'Background' | 'Foreground' | 'Orphan',
): Promise<void> {
  await world.api.delete(configMaps, { namespace: 'default', name }, { propagationPolicy });
  await world.clock.advance(5_000);
}

it('background deletion removes all dependents after their owner, recursively', async () => {
  const world = await setUp({
    top: {},
    middle: { owners: ['top'] },
    bottom: { type: secrets, owners: ['middle'] },
    other: {},
  });
  assert.deepEqual(world.api.writes, []);
  await remove(world, 'top', 'Background');
  assert.deepEqual(names(world), ['other']);
  await world.stop();
});

it('foreground deletion deletes the owner last, and waits only for blocking dependents', async () => {
  const world = await setUp({
    top: {},
    middle: { owners: ['top'] },
    bottom: { owners: ['middle'], finalizers: ['x/y'] },
    loose: { owners: ['top'], loose: true, finalizers: ['x/y'] },
  });
  await remove(world, 'top', 'Foreground');
  assert.deepEqual(names(world), ['bottom', 'loose', 'middle', 'top']);
  assert.ok(
    ['bottom', 'loose', 'middle', 'top'].every((name) => find(world, name)?.metadata.deletionTimestamp !== undefined),
  );
  world.api.change(configMaps, { namespace: 'default', name: 'bottom' }, (object) => ({
    ...object,
    metadata: { ...object.metadata, finalizers: [] },
  }));
  await world.clock.advance(5_000);
  assert.deepEqual(names(world), ['loose']);
  await world.stop();
});

it('an orphaned object loses its deleted owner, and keeps its other owners', async () => {
  const world = await setUp({ top: {}, second: {}, mine: { owners: ['top'] }, shared: { owners: ['top', 'second'] } });
  await remove(world, 'top', 'Orphan');
  assert.deepEqual(names(world), ['mine', 'second', 'shared']);
  assert.deepEqual(
    [
      find(world, 'mine')?.metadata.ownerReferences ?? [],
      find(world, 'shared')?.metadata.ownerReferences?.map(({ uid }) => uid),
    ],
    [[], ['second']],
  );
  await world.stop();
});

it('an object with another owner stays, and its deleted owner does not wait forever', async () => {
  const world = await setUp({ top: {}, second: {}, shared: { owners: ['top', 'second'] } });
  await remove(world, 'top', 'Foreground');
  assert.deepEqual(
    [names(world), find(world, 'shared')?.metadata.ownerReferences?.map(({ uid }) => uid)],
    [['second', 'shared'], ['second']],
  );
  await world.stop();
});

it('an owner stops waiting for a dependent that no longer blocks it', async () => {
  const world = await setUp({ top: {}, held: { owners: ['top'], finalizers: ['x/y'] } });
  await remove(world, 'top', 'Foreground');
  assert.deepEqual(names(world), ['held', 'top']);
  world.api.change(configMaps, { namespace: 'default', name: 'held' }, (object) => ({
    ...object,
    metadata: { ...object.metadata, ownerReferences: [] },
  }));
  await world.clock.advance(5_000);
  assert.deepEqual(names(world), ['held']);
  await world.stop();
});

it('cycles are collected, whichever object is deleted and however', async () => {
  for (const policy of ['Background', 'Foreground'] as const) {
    const world = await setUp({ a: { owners: ['c'] }, b: { owners: ['a'] }, c: { owners: ['b'] } });
    await remove(world, 'a', policy);
    assert.deepEqual(names(world), [], policy);
    await world.stop();
    const self = await setUp({ a: { owners: ['a'] } });
    await remove(self, 'a', policy);
    assert.deepEqual(names(self), [], policy);
    await self.stop();
  }
});

it('deletes objects whose owner never existed, has another UID, or is in another namespace', async () => {
  const renewed = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'top', uid: 'an older one' }];
  const world = await setUp({
    top: {},
    lost: { owners: ['missing'] },
    renewed: { references: renewed },
    elsewhere: { namespace: 'other', owners: ['top'] },
    mine: { owners: ['top'] },
  });
  assert.deepEqual(names(world), ['mine', 'top']);
  await world.stop();
});

it('nothing is deleted because of an owner of an unknown kind, or a namespaced owner of a cluster-scoped object', async () => {
  const strange = { apiVersion: 'example.com/v1', kind: 'Strange', name: 's', uid: 's' };
  const gone = { apiVersion: 'v1', kind: 'ConfigMap', name: 'missing', uid: 'missing' };
  const world = await setUp({
    strange: { references: [strange] },
    both: { references: [gone, strange] },
    node: { type: nodes, references: [gone] },
  });
  await world.clock.advance(60_000);
  assert.deepEqual([names(world), world.api.writes], [['both', 'node', 'strange'], []]);
  await world.stop();
});

it('an owner in another namespace, or a namespaced one of a cluster-scoped object, is reported', async () => {
  const references = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'top', uid: 'top' }];
  const world = await setUp({
    top: {},
    mine: { references },
    elsewhere: { namespace: 'other', references },
    node: { type: nodes, references },
    // The owner does not exist at all.
    lost: { owners: ['missing'] },
  });
  assert.deepEqual(names(world), ['mine', 'node', 'top']);
  assert.deepEqual(world.events.sort(), [
    'Warning OwnerRefInvalidNamespace ownerRef [v1/ConfigMap, namespace: , name: top, uid: top] does not exist in namespace ""',
    'Warning OwnerRefInvalidNamespace ownerRef [v1/ConfigMap, namespace: other, name: top, uid: top] does not exist in namespace "other"',
  ]);
  await world.stop();
});

it('owners in no namespace may own everywhere', async () => {
  const references = [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'n' }];
  const world = await setUp({ n: { type: nodes }, here: { references }, there: { namespace: 'other', references } });
  assert.deepEqual(names(world), ['here', 'n', 'there']);
  await world.api.delete(nodes, { namespace: '', name: 'n' });
  await world.clock.advance(5_000);
  assert.deepEqual(names(world), []);
  await world.stop();
});

it('an owner missing in the cache is looked up on the server; an owner in the cache is not', async () => {
  const world = await setUp({ top: {} });
  const { length } = world.api.calls;
  seedObject(world, 'mine', { owners: ['top'] });
  await world.clock.advance(2_000);
  assert.equal(world.api.calls.length, length);
  const blind = await setUp({}, { lagMs: 20_000, seed: 3 });
  seedObject(blind, 'owner', {});
  seedObject(blind, 'owned', { type: secrets, owners: ['owner'] });
  await blind.clock.advance(60_000);
  assert.deepEqual(names(blind), ['owned', 'owner']);
  await Promise.all([world.stop(), blind.stop()]);
});

it('a rejected deletion is retried', async () => {
  const world = await setUp({ top: {}, mine: { owners: ['top'] } });
  world.api.fail('delete', 'configmaps', new ApiStatusError('InternalError', 'no'), 3);
  world.api.remove(configMaps, { namespace: 'default', name: 'top' });
  await world.clock.advance(5_000);
  assert.deepEqual(names(world), []);
  await world.stop();
});

it('despite crashes and late events, exactly the objects without owners are deleted', () => {
  const size = 7;
  const policies = fc.constantFrom('Background' as const, 'Foreground' as const);
  const graph = fc.array(fc.uniqueArray(fc.nat(size - 1), { maxLength: 2 }), { minLength: size, maxLength: size });
  return fc.assert(
    fc.asyncProperty(
      graph,
      fc.nat(size - 1),
      policies,
      fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 2 }),
      fc.nat(1_000),
      async (edges, victim, policy, kills, seed) => {
        // Owners have smaller numbers, because cycles have a separate test.
        const owners = edges.map((of, index) => of.filter((each) => each < index));
        const shapes = Object.fromEntries(
          owners.map((of, index) => [`o${index}`, of.length === 0 ? {} : { owners: of.map((each) => `o${each}`) }]),
        );
        const world = await setUp(shapes, { lagMs: 500, seed });
        await world.api.delete(configMaps, { namespace: 'default', name: `o${victim}` }, { propagationPolicy: policy });
        for (const writes of kills) {
          world.restartAtWrite(writes);
          await world.clock.advance(1_500);
        }
        await world.clock.advance(60_000);
        const gone = new Set([victim]);
        for (const [index, of] of owners.entries())
          if (of.length > 0 && of.every((each) => gone.has(each))) gone.add(index);
        assert.deepEqual(
          names(world),
          owners.flatMap((_, index) => (gone.has(index) ? [] : [`o${index}`])),
        );
        await world.stop();
      },
    ),
    { numRuns: 60 },
  );
});

it('pods of a ReplicaSet are found by any version its group ever had', async () => {
  const world = new ControllerWorld({
    make: (options) => [createGarbageCollector({ ...options, types: [pods, replicaSets] })],
  });
  world.api.seed(configMaps, { metadata: { name: 'x', namespace: 'default', uid: 'x' } });
  world.api.seed(replicaSets, {
    metadata: { name: 'set', namespace: 'default', uid: 'set' },
    spec: { selector: {}, template: { metadata: {}, spec: { containers: [] } } },
  });
  world.api.seed(pods, {
    metadata: {
      name: 'p',
      namespace: 'default',
      uid: 'p',
      ownerReferences: [{ apiVersion: 'apps/v1beta2', kind: 'ReplicaSet', name: 'set', uid: 'set' }],
    },
    spec: { containers: [] },
  });
  world.start();
  await world.clock.advance(2_000);
  assert.equal(world.api.all(pods).length, 1);
  world.api.remove(replicaSets, { namespace: 'default', name: 'set' });
  await world.clock.advance(2_000);
  assert.equal(world.api.all(pods).length, 0);
  await world.stop();
});

const rings: ResourceType = { group: 'shop.io', version: '', kind: 'Ring', plural: 'rings', namespaced: true };
const ringOwner = (name: string): OwnerReference => ({ apiVersion: 'shop.io/v1', kind: 'Ring', name, uid: name });

interface RingWorld {
  readonly world: ControllerWorld;
  /** Adds or removes the custom kind. */
  setKinds(kinds: readonly CustomKind[]): Promise<void>;
}

async function ringWorld(shapes: Readonly<Record<string, Shape>>): Promise<RingWorld> {
  const customKinds = new FakeCustomKinds();
  const world = new ControllerWorld({
    make: (options) => [createGarbageCollector({ ...options, types, customKinds })],
  });
  for (const [name, shape] of Object.entries(shapes)) seedObject(world, name, shape);
  world.start();
  await world.clock.advance(2_000);
  return {
    world,
    setKinds: async (next) => {
      customKinds.set(next);
      await world.clock.advance(2_000);
    },
  };
}

it('a custom kind is collected while it exists', async () => {
  const { world, setKinds } = await ringWorld({
    there: { type: rings },
    kept: { references: [ringOwner('there')] },
    orphan: { references: [ringOwner('never')] },
    top: {},
    ring: { type: rings, owners: ['top'] },
  });
  const all = (): string[] => [...names(world), ...world.api.all(rings).map(({ metadata }) => metadata.name)].sort();
  // Objects with an owner of an unknown kind stay.
  assert.deepEqual(all(), ['kept', 'orphan', 'ring', 'there', 'top']);
  await setKinds([{ type: rings, served: rings }]);
  assert.deepEqual(all(), ['kept', 'ring', 'there', 'top']);
  await remove(world, 'top', 'Background');
  assert.deepEqual(all(), ['kept', 'there']);
  await setKinds([]);
  await world.api.delete(rings, { namespace: 'default', name: 'there' }, {});
  await world.clock.advance(2_000);
  assert.deepEqual(all(), ['kept']);
  await world.stop();
});

it('a custom owner that is deleted in the foreground goes after its dependents', async () => {
  const { world, setKinds } = await ringWorld({
    top: { type: rings },
    held: { references: [{ ...ringOwner('top'), blockOwnerDeletion: true }], finalizers: ['x/y'] },
  });
  await setKinds([{ type: rings, served: rings }]);
  const key = { namespace: 'default', name: 'top' };
  await world.api.delete(rings, key, { propagationPolicy: 'Foreground' });
  await world.clock.advance(5_000);
  assert.ok(world.api.peek(rings, key) !== undefined && find(world, 'held')?.metadata.deletionTimestamp !== undefined);
  world.api.change(configMaps, { namespace: 'default', name: 'held' }, (object) => ({
    ...object,
    metadata: { ...object.metadata, finalizers: [] },
  }));
  await world.clock.advance(5_000);
  assert.deepEqual([names(world), world.api.peek(rings, key)], [[], undefined]);
  await world.stop();
});

it('while the API of an owner does not answer its dependents are kept, and others are collected', async () => {
  const { world, setKinds } = await ringWorld({
    kept: { references: [ringOwner('gone')] },
    // One owner is gone for certain, of the other nothing is known.
    both: { references: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'no', uid: 'no' }, ringOwner('gone')] },
  });
  const end = world.api.script(({ verb, plural }) =>
    verb === 'get' && plural === 'rings' ? new ApiStatusError('ServiceUnavailable', 'not now') : undefined,
  );
  await setKinds([{ type: rings, served: rings }]);
  seedObject(world, 'lost', { owners: ['missing'] });
  await world.clock.advance(60_000);
  assert.deepEqual(names(world), ['both', 'kept']);
  end();
  await world.clock.advance(1_000_000);
  assert.deepEqual(names(world), []);
  await world.stop();
});

it('dependents of a custom kind lose their owner by a patch that such a kind takes', async () => {
  const { world, setKinds } = await ringWorld({ top: {}, ring: { type: rings, owners: ['top'] } });
  await setKinds([{ type: rings, served: rings }]);
  await remove(world, 'top', 'Orphan');
  const ring = world.api.peek(rings, { namespace: 'default', name: 'ring' });
  assert.deepEqual(ring?.metadata.ownerReferences ?? [], []);
  await world.stop();
});
