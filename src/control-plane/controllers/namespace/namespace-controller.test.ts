import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { ApiObject, ObjectKey, ResourceType } from '../../../api/client/resource-type.ts';
import { configMaps, deployments, namespaces, pods, secrets } from '../../../api/client/resource-types.ts';
import type { Namespace } from '../../../api/core/namespace.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { noOtherApis } from '../../controller-runtime/other-apis.ts';
import type { OtherApis, OtherResource } from '../../controller-runtime/other-apis.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { createNamespaceController } from './namespace-controller.ts';

const key: ObjectKey = { namespace: '', name: 'shop' };
const types: readonly ResourceType[] = [configMaps, secrets, pods, deployments];
const leaving = { deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 0 };

interface Setup {
  readonly deleted?: boolean;
  readonly lagMs?: number;
  readonly seed?: (world: ControllerWorld) => void;
  readonly otherApis?: OtherApis;
}

/**
 * Starts a world. The API server deletes a namespace when its finalizers are removed, which the fake one does not do.
 */
async function setUp({
  deleted = true,
  lagMs = 0,
  seed,
  otherApis = noOtherApis,
}: Setup = {}): Promise<ControllerWorld> {
  const world = new ControllerWorld({
    make: (options) => [createNamespaceController({ ...options, types, otherApis })],
    lagMs,
  });
  world.api.seed(namespaces, {
    metadata: { ...key, uid: 'ns', finalizers: ['test/kept-by-spec'], ...(deleted && leaving) },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: deleted ? 'Terminating' : 'Active' },
  });
  seed?.(world);
  world.start();
  await world.clock.advance(3_000);
  return world;
}

const put = (
  world: ControllerWorld,
  type: ResourceType,
  name: string,
  more: Partial<ApiObject['metadata']> = {},
): unknown => world.api.seed(type, { metadata: { namespace: 'shop', name, uid: name, ...more } });
const namespaceOf = (world: ControllerWorld): Namespace | undefined => world.api.peek(namespaces, key);
const isLetGo = (world: ControllerWorld): boolean => namespaceOf(world)?.spec.finalizers?.length === 0;
const condition = (world: ControllerWorld, type: string): string => {
  const found = namespaceOf(world)?.status?.conditions?.find((each) => each.type === type);
  return `${found?.status} ${found?.reason}: ${found?.message}`;
};
const finalizeWrites = (world: ControllerWorld): number =>
  world.api.writes.filter((each) => each.includes('namespaces/finalize')).length;

it('deletes the objects of a terminating namespace, and no others, and finalizes it', async () => {
  const world = await setUp({
    seed: (each) => {
      put(each, configMaps, 'a');
      put(each, secrets, 'b');
      put(each, deployments, 'c');
      each.api.seed(configMaps, { metadata: { namespace: 'default', name: 'stays', uid: 'stays' } });
    },
  });
  assert.deepEqual(
    types.flatMap((type) => world.api.all(type).map(({ metadata }) => metadata.name)),
    ['stays'],
  );
  assert.deepEqual(
    [finalizeWrites(world), condition(world, 'NamespaceContentRemaining')],
    [1, 'False ContentRemoved: All content successfully removed'],
  );
  await world.stop();
});

it('nothing is deleted in a namespace that is not terminating', async () => {
  const world = await setUp({ deleted: false, seed: (each) => void put(each, configMaps, 'a') });
  assert.deepEqual(world.api.writes, []);
  await world.stop();
});

it('pods are deleted first, with their grace period, and the objects they may need stay until then', async () => {
  const world = await setUp({
    seed: (each) => {
      put(each, secrets, 'needed');
      each.api.seed(
        pods,
        buildPod({
          'metadata.namespace': 'shop',
          'spec.nodeName': 'n',
          'spec.terminationGracePeriodSeconds': 20,
          status: { phase: 'Running' },
        }),
      );
    },
  });
  const pod = world.api.peek(pods, { namespace: 'shop', name: 'web' });
  assert.deepEqual([pod?.metadata.deletionGracePeriodSeconds, world.api.all(secrets).length], [20, 1]);
  assert.equal(
    condition(world, 'NamespaceContentRemaining'),
    'True SomeResourcesRemain: Some resources are remaining: pods. has 1 resource instances',
  );
  world.api.remove(pods, { namespace: 'shop', name: 'web' });
  await world.clock.advance(2_000);
  assert.deepEqual(
    [world.api.all(secrets), finalizeWrites(world), condition(world, 'NamespaceContentRemaining')],
    [[], 1, 'False ContentRemoved: All content successfully removed'],
  );
  await world.stop();
});

it('reports the finalizers it waits for, and continues when they are removed', async () => {
  const world = await setUp({
    seed: (each) => void put(each, configMaps, 'held', { finalizers: ['example.com/hold'] }),
  });
  assert.equal(
    condition(world, 'NamespaceFinalizersRemaining'),
    'True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances',
  );
  assert.equal(
    condition(world, 'NamespaceDeletionContentFailure'),
    'False ContentDeleted: All content successfully deleted, may be waiting on finalization',
  );
  assert.equal(finalizeWrites(world), 0);
  world.api.change(configMaps, { namespace: 'shop', name: 'held' }, (object) => ({
    ...object,
    metadata: { ...object.metadata, finalizers: [] },
  }));
  await world.clock.advance(2_000);
  assert.deepEqual(
    [finalizeWrites(world), condition(world, 'NamespaceFinalizersRemaining')],
    [1, 'False ContentHasNoFinalizers: All content-preserving finalizers finished'],
  );
  await world.stop();
});

it('a failed deletion is reported and retried, even without further events', async () => {
  const world = await setUp({ deleted: false, seed: (each) => void put(each, secrets, 'b') });
  world.api.fail('delete', 'secrets', new ApiStatusError('InternalError', 'etcd is tired'), 3);
  world.api.change(namespaces, key, (space) => ({ ...space, metadata: { ...space.metadata, ...leaving } }));
  await world.clock.advance(1);
  assert.equal(
    condition(world, 'NamespaceDeletionContentFailure'),
    'True ContentDeletionFailed: Failed to delete all resource types, 1 remaining: secrets: etcd is tired',
  );
  await world.clock.advance(5_000);
  assert.deepEqual(
    [finalizeWrites(world), condition(world, 'NamespaceDeletionContentFailure').slice(0, 5)],
    [1, 'False'],
  );
  await world.stop();
});

it('reads from the server and not from an outdated cache', async () => {
  const world = await setUp({ deleted: false });
  world.api.endWatches(undefined, 'configmaps');
  put(world, configMaps, 'unseen');
  world.api.change(namespaces, key, (space) => ({ ...space, metadata: { ...space.metadata, ...leaving } }));
  await world.clock.advance(3_000);
  assert.deepEqual([world.api.all(configMaps), finalizeWrites(world)], [[], 1]);
  await world.stop();
});

it('an object whose deletion no informer saw does not delay the namespace for long', async () => {
  const world = await setUp({ seed: (each) => void put(each, configMaps, 'held', { finalizers: ['x/y'] }) });
  world.api.muteWatches();
  world.api.remove(configMaps, { namespace: 'shop', name: 'held' });
  await world.clock.advance(20_000);
  assert.equal(isLetGo(world) || finalizeWrites(world) > 0, true);
  await world.stop();
});

it('a recreated namespace is another one, and nothing in it is deleted', async () => {
  const world = await setUp();
  assert.equal(finalizeWrites(world), 1);
  world.api.remove(namespaces, key);
  world.api.seed(namespaces, {
    metadata: { ...key, uid: 'ns-2' },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  });
  put(world, configMaps, 'new');
  await world.clock.advance(60_000);
  assert.equal(world.api.all(configMaps).length, 1);
  await world.stop();
});

it('reaches the same final state despite crashes', async () => {
  for (let writes = 1; writes <= 8; writes++) {
    const world = new ControllerWorld({
      make: (options) => [createNamespaceController({ ...options, types })],
      seed: writes,
      lagMs: 300,
    });
    world.api.seed(namespaces, {
      metadata: { ...key, uid: 'ns', finalizers: ['test/kept-by-spec'], ...leaving },
      spec: { finalizers: ['kubernetes'] },
    });
    for (const name of ['a', 'b', 'c']) put(world, configMaps, name);
    world.start();
    world.restartAtWrite(writes);
    await world.clock.advance(30_000);
    assert.deepEqual([world.api.all(configMaps), finalizeWrites(world) > 0], [[], true]);
    await world.stop();
  }
});

/** A server with two resources, one of which does not support deletecollection. */
class FakeOtherServer implements OtherApis {
  readonly versionOf = noOtherApis.versionOf;
  readonly find = noOtherApis.find;
  readonly collectable = noOtherApis.collectable;
  readonly undiscovered = noOtherApis.undiscovered;
  readonly onChange = noOtherApis.onChange;
  readonly clientFor = noOtherApis.clientFor;
  unavailable: readonly string[] = [];
  readonly asked: string[] = [];
  readonly objects = new Map<string, object[]>([
    ['rings', [{ metadata: { name: 'r' } }]],
    ['pens', [{ metadata: { name: 'p' } }, { metadata: { name: 'q', finalizers: ['shop.io/held'] } }]],
  ]);

  resources(): ReturnType<OtherApis['resources']> {
    const resource = (plural: string, ...verbs: readonly string[]): OtherResource => ({
      ...{ group: 'shop.io', version: 'v1', plural, verbs },
    });
    const namespaced = [
      resource('rings', 'delete', 'deletecollection', 'list'),
      resource('pens', 'delete', 'list'),
      resource('figures', 'get', 'list'),
    ];
    return { namespaced, unavailable: this.unavailable };
  }

  get(_: unknown, path: string): Promise<unknown> {
    const [, plural = ''] = /\/shop\/([a-z]+)/.exec(path) ?? [];
    return Promise.resolve({ items: this.objects.get(plural) });
  }

  delete(_: unknown, path: string): Promise<void> {
    this.asked.push(path.replace('/apis/shop.io/v1/namespaces/shop/', ''));
    if (path.includes('/rings')) this.objects.set('rings', []);
    if (path.includes('/pens/p')) this.objects.set('pens', this.objects.get('pens')?.slice(1) ?? []);
    return Promise.resolve();
  }
}

it('deletes objects of aggregated API servers in the namespace, and waits for them', async () => {
  const otherApis = new FakeOtherServer();
  const world = await setUp({ otherApis });
  assert.deepEqual(otherApis.asked.slice(0, 3), [
    'rings?propagationPolicy=Background',
    'pens/p?propagationPolicy=Background',
    'pens/q?propagationPolicy=Background',
  ]);
  assert.equal(isLetGo(world), false);
  assert.match(condition(world, 'NamespaceContentRemaining'), /^True .*: pens\.shop\.io has 1 resource instances$/);
  assert.match(condition(world, 'NamespaceFinalizersRemaining'), /shop\.io\/held in 1 resource instances$/);
  otherApis.objects.clear();
  otherApis.objects.set('rings', []).set('pens', []);
  await world.clock.advance(16_000);
  assert.equal(isLetGo(world), true);
});

it('waits for a server that does not respond, and reports it', async () => {
  const otherApis = new FakeOtherServer();
  otherApis.objects.set('pens', []);
  otherApis.unavailable = ['shop.io/v2'];
  const world = await setUp({ otherApis });
  assert.equal(isLetGo(world), false);
  assert.equal(
    condition(world, 'NamespaceDeletionDiscoveryFailure'),
    'True DiscoveryFailed: Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: shop.io/v2: stale GroupVersion discovery: shop.io/v2',
  );
  otherApis.unavailable = [];
  await world.clock.advance(60_000);
  assert.equal(isLetGo(world), true);
  assert.match(condition(world, 'NamespaceDeletionDiscoveryFailure'), /^False ResourcesDiscovered/);
});

it('reports rejections and invalid responses of another server', async () => {
  const otherApis = new FakeOtherServer();
  otherApis.objects.delete('pens');
  const world = await setUp({ otherApis });
  assert.equal(isLetGo(world), false);
  assert.match(condition(world, 'NamespaceDeletionContentFailure'), /pens\.shop\.io: the answer is not a list$/);
});
