import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createInformers } from '../../api/client/informer.ts';
import type { ApiClient } from '../../api/client/api-client.ts';
import type { ResourceType } from '../../api/client/resource-type.ts';
import type { Lease } from '../../api/coordination/lease.ts';
import { isApiError } from '../../api/status/api-status-error.ts';
import { isKind } from '../../base/errors.ts';
import { seededRandom } from '../../base/random.ts';
import { recordingLog } from '../../base/testing/recording-log.ts';
import type { ResourceDefinition } from '../model/resource-definition.ts';
import type { Storage } from '../storage/storage.ts';
import { beginTerm } from './leader-term.ts';
import type { LeaderTerm } from './leader-term.ts';
import { createLocalClient } from './local-client.ts';
import { startRegistry, widgets } from './testing/registry-fixture.ts';
import type { RegistryFixture, Widget } from './testing/registry-fixture.ts';

const type = widgets.type as ResourceType<Widget>;
const LEASE_KEY = '/registry/leases/kube-system/test';
const leaseOf = (holderIdentity: string, resourceVersion: number): Lease => ({
  metadata: { namespace: 'kube-system', name: 'test', uid: '1', resourceVersion: `${resourceVersion}` },
  spec: { holderIdentity },
});

/** Returns the holder of a lease that was just written. */
async function lead(storage: Storage, holder: string): Promise<LeaderTerm & { readonly ends: number[] }> {
  const expected = (await storage.get(LEASE_KEY))?.revision ?? 0;
  const result = await storage.put(LEASE_KEY, holder, { expected });
  assert.ok(result.outcome === 'done');
  const ends: number[] = [];
  const lease = leaseOf(holder, result.revision);
  const term = await beginTerm({ storage, lease, leaseKey: LEASE_KEY, onOver: () => void ends.push(ends.length) });
  return { ...term, ends };
}

const clientOf = ({ registry, definitions }: RegistryFixture, term?: LeaderTerm): ApiClient =>
  createLocalClient({
    ...{ registry, definitions, term },
    user: { name: 'controller', groups: [] },
    authorize: () => ({ decision: 'allow', reason: '' }),
    fieldManager: 'controller',
  });

const widget = (name: string): Widget => ({ metadata: { namespace: 'default', name, uid: '' }, spec: { size: 1 } });
const namesOf = async (client: ApiClient): Promise<string[]> =>
  (await client.list(type, 'default')).items.map(({ metadata }) => metadata.name);
const isFenced = (error: unknown): boolean => isApiError(error, 'ServiceUnavailable');

test('a former leader can no longer write anything', async (t) => {
  const fixture = await startRegistry();
  t.after(() => fixture.stop());
  const term = await lead(fixture.storage, 'one');
  const old = clientOf(fixture, term);
  const kept = await old.create(type, widget('kept'));
  const updated = await old.update(type, { ...kept, spec: { size: 2 } });
  await lead(fixture.storage, 'two');
  assert.deepEqual(term.ends, []);
  for (const write of [
    () => old.create(type, widget('late')),
    () => old.create(type, { ...widget(''), metadata: { ...widget('').metadata, generateName: 'late-' } }),
    () => old.update(type, { ...updated, spec: { size: 3 } }),
    () => old.patch(type, { namespace: 'default', name: 'kept' }, { type: 'merge', body: { spec: { size: 3 } } }),
    () => old.delete(type, { namespace: 'default', name: 'kept' }),
  ])
    await assert.rejects(write, isFenced);
  assert.ok(term.ends.length >= 5, 'the election is notified at once');
  assert.deepEqual(await namesOf(clientOf(fixture)), ['kept']);
  assert.equal((await clientOf(fixture).get(type, { namespace: 'default', name: 'kept' })).spec.size, 2);
});

test('a write that was in flight when its leader lost the lease is rejected when it arrives', async (t) => {
  const held = Promise.withResolvers<void>();
  let isHeld = false;
  const fixture = await startRegistry([], {
    wrap: (storage) =>
      overriding(storage, {
        put: async (...args) => {
          if (isHeld) await held.promise;
          return storage.put(...args);
        },
      }),
  });
  t.after(() => fixture.stop());
  const other = await fixture.second();
  t.after(() => other.stop());
  const old = clientOf(fixture, await lead(fixture.storage, 'one'));
  isHeld = true;
  const late = old.create(type, widget('late'));
  const next = clientOf(other, await lead(other.storage, 'two'));
  await next.create(type, widget('next'));
  held.resolve();
  await assert.rejects(late, isFenced);
  assert.deepEqual(await namesOf(next), ['next']);
});

test('a new leader makes no decision until its cache contains all writes before its term', async (t) => {
  const fixture = await startRegistry();
  t.after(() => fixture.stop());
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const slow = await fixture.second((storage) => withLateWatch(storage, released));
  t.after(() => slow.stop());
  const old = clientOf(fixture, await lead(fixture.storage, 'one'));
  for (const name of ['a', 'b', 'c']) await old.create(type, widget(name));
  const term = await lead(fixture.storage, 'two');
  const deps = { clock: fixture.clock, random: seededRandom(1), log: recordingLog() };
  const informers = createInformers({ ...deps, client: clientOf(slow, term), startsAt: 'newest' });
  t.after(() => informers.stop());
  const known = informers.for(type);
  const first = informers.whenSynced().then(() => known.list().map(({ metadata }) => metadata.name));
  informers.start();
  assert.deepEqual(slow.cache.counts().get(widgets as unknown as ResourceDefinition), 0);
  release();
  assert.deepEqual(await first, ['a', 'b', 'c']);
});

test('a holder of an outdated lease cannot begin a term', async (t) => {
  const fixture = await startRegistry();
  t.after(() => fixture.stop());
  const { storage } = fixture;
  const term = await lead(storage, 'one');
  const options = { storage, leaseKey: LEASE_KEY, onOver: () => undefined };
  const stale = (await storage.get(LEASE_KEY))?.revision ?? 0;
  await storage.put(LEASE_KEY, 'two', { expected: stale });
  await assert.rejects(beginTerm({ ...options, lease: leaseOf('one', stale) }), (error) => isKind(error, 'Conflict'));
  assert.equal((await storage.get(term.key))?.revision, term.revision);
});

/** Returns a store whose watch reports nothing before `released`. */
function withLateWatch(storage: Storage, released: Promise<void>): Storage {
  return overriding(storage, {
    watch: (prefix, after, listener, onEnd) =>
      storage.watch(prefix, after, (...told) => void released.then(() => listener(...told)), onEnd),
  });
}

/** Returns the same store with some methods replaced. */
function overriding(storage: Storage, methods: Partial<Storage>): Storage {
  const bound = (name: keyof Storage): unknown => methods[name] ?? (storage[name] as () => unknown).bind(storage);
  return new Proxy(storage, { get: (_, name) => bound(name as keyof Storage) });
}
