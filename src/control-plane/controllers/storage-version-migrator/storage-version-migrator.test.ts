import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import type { CustomResourceDefinition } from '../../../api/apiextensions/custom-resource-definition.ts';
import type { ResourceType } from '../../../api/client/resource-type.ts';
import {
  configMaps,
  customResourceDefinitions,
  storageVersionMigrations,
  tokenReviews,
} from '../../../api/client/resource-types.ts';
import { isConditionTrue } from '../../../api/conditions.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import { formatTime } from '../../../api/time.ts';
import type { CustomKind } from '../../controller-runtime/custom-kinds.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { FakeCustomKinds } from '../../controller-runtime/testing/fake-custom-kinds.ts';
import type { WorldOptions } from '../../controller-runtime/testing/controller-world.ts';
import { createStorageVersionMigrator } from './storage-version-migrator.ts';

const pens: ResourceType = { group: 'desk.io', version: 'v2', kind: 'Pen', plural: 'pens', namespaced: true };
const key = (name: string) => ({ namespace: '', name });

class Fixture {
  readonly world: ControllerWorld;
  readonly #customKinds = new FakeCustomKinds();

  constructor(options: Partial<WorldOptions> = {}) {
    const customKinds = this.#customKinds;
    this.world = new ControllerWorld({
      make: (each) => [
        createStorageVersionMigrator({ ...each, types: [configMaps], unwritable: [tokenReviews], customKinds }),
      ],
      ...options,
    });
  }

  serve(kind: CustomKind): void {
    this.#customKinds.set([kind]);
  }

  migrate(name: string, resource: string, group = ''): void {
    const creationTimestamp = formatTime(this.world.clock.nowMs());
    this.world.api.seed(storageVersionMigrations, {
      metadata: { ...key(name), uid: name, creationTimestamp },
      spec: { resource: { group, resource } },
    });
  }

  /** Returns `Type=Status Reason` of each condition. */
  conditions(name: string): readonly string[] {
    const { status } = this.world.api.peek(storageVersionMigrations, key(name)) ?? {};
    return (status?.conditions ?? []).map(({ type, status: value, reason }) => `${type}=${value} ${reason}`);
  }

  message(name: string): string | undefined {
    const { status } = this.world.api.peek(storageVersionMigrations, key(name)) ?? {};
    return status?.conditions?.find(({ type }) => type === 'Failed')?.message;
  }

  get rewritten(): readonly string[] {
    return this.world.api.writes.filter((write) => /^patch (configmaps|pens) /.test(write));
  }
}

const finished = ['Running=False MigrationCompleted', 'Succeeded=True StorageVersionMigrationSucceeded'];
const failed = ['Running=False MigrationCompleted', 'Failed=True StorageVersionMigrationFailed'];

function addMaps(world: ControllerWorld, count: number): void {
  for (let index = 0; index < count; index++)
    world.api.seed(configMaps, { metadata: { namespace: 'shop', name: `map-${index}`, uid: `u${index}` } });
}

it('writes each object once, and records the version at its start', async () => {
  const fixture = new Fixture();
  addMaps(fixture.world, 3);
  fixture.migrate('all', 'configmaps');
  fixture.world.start();
  await fixture.world.run(2_000);
  assert.deepEqual(fixture.conditions('all'), finished);
  assert.deepEqual(
    fixture.rewritten,
    [0, 1, 2].map((index) => `patch configmaps shop/map-${index}`),
  );
  const { status } = fixture.world.api.peek(storageVersionMigrations, key('all')) ?? {};
  assert.match(status?.resourceVersion ?? '', /^[1-9]\d*$/);
  await fixture.world.stop();
});

it('2,000 objects that others write meanwhile keep what was written last, and each is migrated once', async () => {
  const fixture = new Fixture();
  const { world } = fixture;
  const count = 2_000;
  addMaps(world, count);
  const written = new Map<string, string>();
  let serial = 0;
  const write = (index: number): void => {
    const name = `map-${index % count}`;
    written.set(name, String(serial++));
    world.api.change(configMaps, { namespace: 'shop', name }, (object) => ({
      ...object,
      data: { n: written.get(name) ?? '' },
    }));
  };
  world.api.script(({ verb, plural, key: place }) => {
    if (verb !== 'patch' || plural !== 'configmaps') return undefined;
    const index = Number(place.slice('shop/map-'.length));
    // The object that is about to be migrated, one that was, and one that is to come.
    if (index % 3 === 0) for (const each of [index, index + count - 100, index + 700]) write(each);
    return undefined;
  });
  fixture.migrate('all', 'configmaps');
  world.start();
  for (let rounds = 0; rounds < 1_000 && fixture.conditions('all').length < 2; rounds++) await world.run(500);
  await world.run(500);
  assert.deepEqual(fixture.conditions('all'), finished);
  const maps = world.api.all(configMaps);
  assert.deepEqual(
    maps.filter(({ metadata, data }) => data?.['n'] !== written.get(metadata.name)),
    [],
  );
  const tried = new Set(fixture.rewritten);
  assert.equal(tried.size, fixture.rewritten.length);
  assert.ok(maps.every(({ metadata: { name } }) => written.has(name) || tried.has(`patch configmaps shop/${name}`)));
  // The version of the cluster, and pages of 500: the memory that a migration takes does not grow with the objects.
  assert.equal(world.api.calls.filter(({ verb, plural }) => verb === 'list' && plural === 'configmaps').length, 5);
  await world.stop();
});

it('leaves out objects that were written after it began', async () => {
  const fixture = new Fixture();
  addMaps(fixture.world, 2);
  const early = fixture.world.api.peek(configMaps, { namespace: 'shop', name: 'map-0' });
  fixture.world.api.seed(storageVersionMigrations, {
    metadata: { ...key('resumed'), uid: 'resumed' },
    spec: { resource: { group: '', resource: 'configmaps' } },
    status: {
      conditions: [{ type: 'Running', status: 'True', reason: 'Any', message: '', lastTransitionTime: '' }],
      resourceVersion: early?.metadata.resourceVersion ?? '',
    },
  });
  fixture.world.start();
  await fixture.world.run(2_000);
  assert.deepEqual(fixture.conditions('resumed'), finished);
  assert.deepEqual(fixture.rewritten, ['patch configmaps shop/map-0']);
  await fixture.world.stop();
});

it('fails at once for a kind that cannot be written, and after a minute for an unknown kind', async () => {
  const fixture = new Fixture();
  fixture.migrate('reviews', 'tokenreviews', 'authentication.k8s.io');
  fixture.migrate('unknown', 'nopes', 'nope.io');
  fixture.world.start();
  await fixture.world.run(2_000);
  assert.deepEqual(fixture.conditions('reviews'), failed);
  assert.match(fixture.message('reviews') ?? '', /does not support discovery operations/);
  assert.deepEqual(fixture.conditions('unknown'), ['Running=True MigrationRunning']);
  await fixture.world.run(60_000);
  assert.deepEqual(fixture.conditions('unknown'), failed);
  assert.equal(fixture.message('unknown'), 'resource does not exist in discovery');
  await fixture.world.stop();
});

it('a custom kind that appears within a minute is migrated, and its definition drops old stored versions', async () => {
  const fixture = new Fixture();
  const { world } = fixture;
  fixture.migrate('pens', 'pens', 'desk.io');
  world.start();
  await world.run(2_000);
  world.api.seed(customResourceDefinitions, definition(3));
  world.api.seed(pens, { metadata: { namespace: 'shop', name: 'red', uid: 'red' } });
  fixture.serve({ type: pens, served: pens });
  await world.run(2_000);
  assert.deepEqual(fixture.conditions('pens'), finished);
  assert.deepEqual(fixture.rewritten.slice(0, 1), ['patch pens shop/red']);
  // The migration started before the definition existed, so earlier versions are unknown.
  const storedVersions = (): readonly string[] | undefined =>
    world.api.peek(customResourceDefinitions, key('pens.desk.io'))?.status?.storedVersions;
  assert.deepEqual(storedVersions(), ['v1', 'v2']);
  fixture.migrate('again', 'pens', 'desk.io');
  await world.run(2_000);
  assert.deepEqual(fixture.conditions('again'), finished);
  assert.deepEqual(storedVersions(), ['v2']);
  await world.stop();
});

it('a definition that is changed during the migration keeps its stored versions', async () => {
  const fixture = new Fixture();
  const { world } = fixture;
  world.api.seed(customResourceDefinitions, definition(3));
  world.api.seed(pens, { metadata: { namespace: 'shop', name: 'red', uid: 'red' } });
  fixture.serve({ type: pens, served: pens });
  world.api.fail('patch', 'pens', new ApiStatusError('ServiceUnavailable', 'busy'), 3);
  fixture.migrate('pens', 'pens', 'desk.io');
  world.start();
  await world.clock.advance(1);
  const before = world.api.peek(customResourceDefinitions, key('pens.desk.io'));
  assert.equal(before?.status?.conditions.find(({ type }) => type === 'StorageMigrating')?.status, 'True');
  world.api.seed(customResourceDefinitions, { ...before, metadata: { ...before.metadata, generation: 4 } });
  await world.run(2_000);
  assert.deepEqual(fixture.conditions('pens'), finished);
  const { status } = world.api.peek(customResourceDefinitions, key('pens.desk.io')) ?? {};
  assert.deepEqual(status?.storedVersions, ['v1', 'v2']);
  assert.match(
    status?.conditions.find(({ type }) => type === 'StorageMigrating')?.message ?? '',
    /generation mismatch/,
  );
  await world.stop();
});

it('an object that can no longer be written fails the migration', async () => {
  const fixture = new Fixture();
  addMaps(fixture.world, 1);
  fixture.world.api.fail('patch', 'configmaps', new ApiStatusError('Invalid', 'too old'), 1);
  fixture.migrate('all', 'configmaps');
  fixture.world.start();
  await fixture.world.run(2_000);
  assert.deepEqual(fixture.conditions('all'), failed);
  assert.equal(fixture.message('all'), 'migration encountered unhandled error: too old');
  await fixture.world.stop();
});

it('despite crashes, every object is written, and one migration of a resource runs at a time', () =>
  fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 12 }),
      fc.integer({ min: 1, max: 3 }),
      fc.nat(1_000),
      async (writes, count, seed) => {
        const fixture = new Fixture({ seed, lagMs: 300 });
        const { world } = fixture;
        addMaps(world, 3);
        for (let index = 0; index < count; index++) fixture.migrate(`m${index}`, 'configmaps');
        world.check = () => {
          const running = world.api
            .all(storageVersionMigrations)
            .filter(({ status }) => isConditionTrue(status?.conditions, 'Running'));
          assert.ok(running.length <= 1, `${running.length} run`);
        };
        world.start();
        world.restartAtWrite(writes);
        await world.run(30_000);
        for (let index = 0; index < count; index++) assert.deepEqual(fixture.conditions(`m${index}`), finished);
        assert.deepEqual(
          [...new Set(fixture.rewritten)].sort(),
          [0, 1, 2].map((each) => `patch configmaps shop/map-${each}`),
        );
        await world.stop();
      },
    ),
    { numRuns: 30 },
  ));

function definition(generation: number): CustomResourceDefinition {
  return {
    metadata: { ...key('pens.desk.io'), uid: 'pens', generation },
    spec: {
      group: 'desk.io',
      scope: 'Namespaced',
      names: { plural: 'pens', kind: 'Pen' },
      versions: [
        { name: 'v1', served: true, storage: false },
        { name: 'v2', served: true, storage: true },
      ],
    },
    status: { conditions: [], acceptedNames: { plural: 'pens', kind: 'Pen' }, storedVersions: ['v1', 'v2'] },
  };
}
