import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { ApiStatusError, isApiError } from '../../api/status/api-status-error.ts';
import { gadgets, startRegistry, widgets } from './testing/registry-fixture.ts';
import type { RegistryFixture, Widget } from './testing/registry-fixture.ts';
import type { ResourceDefinition } from '../model/resource-definition.ts';
import { planDeletion } from './write/plan-deletion.ts';

// The tests are in a suite, because all test files share one process and hooks outside suites would apply to all of
// them.
describe('the registry deletes', () => {
  let fixture: RegistryFixture;
  beforeEach(async () => {
    fixture = await startRegistry();
  });
  afterEach(() => fixture.stop());

  const remove = (
    definition: typeof widgets,
    name: string,
    options: object = {},
  ): Promise<{ gone: boolean; object: object }> => fixture.registry.delete(fixture.request(definition, name), options);
  const exists = (definition: typeof widgets, name: string): Promise<boolean> =>
    fixture.registry.get(fixture.request(definition, name), {}).then(
      () => true,
      () => false,
    );

  test('an object without finalizers is deleted at once, and the response is a Status that names it', async () => {
    const { metadata } = await fixture.create({ name: 'a' });
    const { gone, object } = await remove(widgets, 'a');
    assert.equal(gone, true);
    assert.deepEqual((object as { details?: unknown }).details, {
      name: 'a',
      group: 'test.io',
      kind: 'widgets',
      uid: metadata.uid,
    });
    assert.equal(await exists(widgets, 'a'), false);
  });

  test('a kind may warn about a deletion without a propagation policy', async () => {
    await fixture.create({ name: 'g' }, gadgets);
    await remove(gadgets, 'g', { propagationPolicy: 'Orphan' });
    await remove(gadgets, 'g', { orphanDependents: false });
    assert.deepEqual(fixture.warnings, []);
    await remove(gadgets, 'g');
    assert.deepEqual(fixture.warnings, ['say what becomes of its parts']);
  });

  test('finalizers keep an object until the last one is removed, and none can be added', async () => {
    await fixture.create({
      name: 'a',
      metadata: { name: 'a', namespace: '', uid: '', finalizers: ['x.io/y'] },
    } as never);
    assert.equal((await remove(widgets, 'a')).gone, false);
    const { object } = await fixture.registry.get(fixture.request(widgets, 'a'), {});
    assert.ok(object.metadata.deletionTimestamp !== undefined && object.metadata.deletionGracePeriodSeconds === 0);
    const write = (finalizers: string[]): ReturnType<typeof fixture.registry.update> =>
      fixture.registry.update(fixture.request(widgets, 'a'), {
        value: { ...object, metadata: { ...object.metadata, finalizers } },
        duplicates: [],
      });
    await assert.rejects(write(['x.io/y', 'x.io/z']), (error) => isApiError(error, 'Invalid'));
    assert.deepEqual((await write([])).object.metadata.finalizers, []);
    assert.equal(await exists(widgets, 'a'), false);
  });

  test('a dry run that removes the last finalizer deletes nothing', async () => {
    const finalizers = ['x.io/y'];
    await fixture.create({ name: 'a', metadata: { name: 'a', namespace: '', uid: '', finalizers } } as never);
    await remove(widgets, 'a');
    const { object } = await fixture.registry.get(fixture.request(widgets, 'a'), {});
    const value = { ...object, metadata: { ...object.metadata, finalizers: [] } };
    const request = (dryRun: boolean) => fixture.request(widgets, 'a', '', { dryRun });
    const dry = await fixture.registry.update(request(true), { value, duplicates: [] });
    assert.deepEqual([dry.object.metadata.finalizers, await exists(widgets, 'a')], [[], true]);
    await fixture.registry.update(request(false), { value, duplicates: [] });
    assert.equal(await exists(widgets, 'a'), false);
  });

  test('the propagation policy is stored as a finalizer, and orphan and foreground replace each other', async () => {
    await fixture.create({ name: 'a' });
    await remove(widgets, 'a', { propagationPolicy: 'Foreground' });
    const finalizers = async (): Promise<unknown> =>
      (await fixture.registry.get(fixture.request(widgets, 'a'), {})).object.metadata.finalizers;
    assert.deepEqual(await finalizers(), ['foregroundDeletion']);
    await remove(widgets, 'a', { propagationPolicy: 'Orphan' });
    assert.deepEqual(await finalizers(), ['orphan']);
    assert.equal((await remove(widgets, 'a', { propagationPolicy: 'Background' })).gone, true);
  });

  test('a kind that the garbage collector does not watch is deleted at once with any propagation policy', async () => {
    await fixture.create({ name: 'a' });
    await remove(widgets, 'a', { propagationPolicy: 'Foreground' });
    const { object } = await fixture.registry.get(fixture.request(widgets, 'a'), {});
    const rules = { ...widgets.rules, defaultPropagation: 'Unsupported' };
    const ignored = { ...widgets, rules } as unknown as ResourceDefinition;
    for (const propagationPolicy of ['Foreground', 'Orphan', 'Background', undefined] as const)
      for (const each of [object, { ...object, metadata: { ...object.metadata, finalizers: [] } }])
        assert.deepEqual(planDeletion(ignored, each, { ...(propagationPolicy && { propagationPolicy }) }, 0), {
          kind: 'remove',
        });
  });

  test('a graceful deletion sets the end time, can only be shortened, and ends at grace period 0', async () => {
    await fixture.create({ name: 'g' }, gadgets);
    const nowMs = fixture.clock.nowMs();
    const graceOf = async (): Promise<number | undefined> =>
      (await fixture.registry.get(fixture.request(gadgets, 'g'), {})).object.metadata.deletionGracePeriodSeconds;
    assert.equal((await remove(gadgets, 'g')).gone, false);
    assert.equal(await graceOf(), 30);
    await remove(gadgets, 'g', { gracePeriodSeconds: 60 });
    assert.equal(await graceOf(), 30);
    const { object } = await remove(gadgets, 'g', { gracePeriodSeconds: 10 });
    assert.equal(await graceOf(), 10);
    assert.equal(
      Math.abs(Date.parse((object as Widget).metadata.deletionTimestamp ?? '') - nowMs - 10_000) < 1000,
      true,
    );
    assert.equal((await remove(gadgets, 'g', { gracePeriodSeconds: 0 })).gone, true);
  });

  test('failed preconditions are conflicts, and contradictory options are invalid', async () => {
    await fixture.create({ name: 'a' });
    await assert.rejects(
      remove(widgets, 'a', { preconditions: { uid: 'other' } }),
      (error) =>
        isApiError(error, 'Conflict') &&
        /on \w+\.test\.io "a": the UID in the precondition \(other\) does not match the UID in record \(.+\)\. The object might have been deleted and then recreated$/.test(
          error.message,
        ),
    );
    await assert.rejects(
      remove(widgets, 'a', { preconditions: { resourceVersion: '1' } }),
      (error) =>
        isApiError(error, 'Conflict') &&
        /the ResourceVersion in the precondition \(1\) does not match the ResourceVersion in record \(\d+\)/.test(
          error.message,
        ),
    );
    await assert.rejects(remove(widgets, 'a', { propagationPolicy: 'Sideways' }), (error) =>
      isApiError(error, 'Invalid'),
    );
    await assert.rejects(remove(widgets, 'a', { propagationPolicy: 'Orphan', orphanDependents: true }), (error) =>
      isApiError(error, 'Invalid'),
    );
    await assert.rejects(remove(widgets, 'b'), (error) => isApiError(error, 'NotFound'));
    assert.equal(await exists(widgets, 'a'), true);
  });

  test('a kind may refuse to delete objects of certain names', async () => {
    const kept: ResourceDefinition<Widget> = {
      ...widgets,
      rules: { ...widgets.rules, refuseDeletion: (name) => (name === 'a' ? 'it is needed' : undefined) },
    };
    const { registry, request, create, stop } = await startRegistry([], {
      kinds: [kept as unknown as ResourceDefinition],
    });
    for (const name of ['a', 'b', 'c']) await create({ name }, kept);
    await assert.rejects(registry.delete(request(kept, 'a'), {}), (error) =>
      /^widgets\.test\.io "a" is forbidden: it is needed$/.test(isApiError(error, 'Forbidden') ? error.message : ''),
    );
    await registry.delete(request(kept, 'b'), {});
    const deleted = await registry.deleteCollection(request(kept), {}, {});
    const left = await registry.list(request(kept), {});
    assert.deepEqual(
      [deleted, left].map(({ items }) => items.map(({ object }) => object.metadata.name)),
      [['c'], ['a']],
    );
    await stop();
  });

  test('a dry run of a deletion deletes nothing', async () => {
    await fixture.create({ name: 'a' });
    assert.equal((await fixture.registry.delete(fixture.request(widgets, 'a', '', { dryRun: true }), {})).gone, true);
    assert.equal(await exists(widgets, 'a'), true);
  });

  test('a collection is deleted by selector, and other objects stay', async () => {
    for (const [name, size] of [
      ['a', 1],
      ['b', 2],
      ['c', 2],
    ] as const)
      await fixture.create({ name, spec: { size } });
    const deleted = await fixture.registry.deleteCollection(
      fixture.request(widgets),
      { fieldSelector: 'spec.size=2' },
      {},
    );
    assert.deepEqual(
      deleted.items.map(({ object }) => object.metadata.name),
      ['b', 'c'],
    );
    assert.deepEqual([await exists(widgets, 'a'), await exists(widgets, 'b')], [true, false]);
  });

  test('the deletion of a collection ignores objects that another client has deleted, and stops at the first rejection', async () => {
    const other = await startRegistry([
      {
        name: 'guard',
        handles: ({ operation }) => operation === 'DELETE',
        validate: async ({ name }) => {
          if (name === 'a') await other.registry.delete(other.request(widgets, 'b'), {});
          if (name === 'd') throw new ApiStatusError('Forbidden', 'd stays');
        },
      },
    ]);
    try {
      for (const name of ['a', 'b', 'c', 'd', 'e']) await other.create({ name });
      const deletion = other.registry.deleteCollection(other.request(widgets), {}, {});
      await assert.rejects(deletion, (error) => isApiError(error, 'Forbidden'));
      const { items } = await other.registry.list(other.request(widgets), {});
      assert.deepEqual(
        items.map(({ object }) => object.metadata.name),
        ['d', 'e'],
      );
    } finally {
      await other.stop();
    }
  });

  test('a slow mutating plugin may reject a deletion too', async () => {
    const other = await startRegistry([
      {
        name: 'guard',
        handles: ({ operation }) => operation === 'DELETE',
        mutate: () =>
          new Promise((_, reject) => {
            setImmediate(() => reject(new ApiStatusError('Forbidden', 'it stays')));
          }),
      },
    ]);
    try {
      await other.create({ name: 'a' });
      const deletion = other.registry.delete(other.request(widgets, 'a'), {});
      await assert.rejects(deletion, (error) => isApiError(error, 'Forbidden'));
      assert.equal((await other.registry.list(other.request(widgets), {})).items.length, 1);
    } finally {
      await other.stop();
    }
  });

  test('a dry run of the deletion of a collection lets other work run', async () => {
    for (let index = 0; index < 100; index++) await fixture.create({ name: `w${index}` });
    let turns = 0;
    let isOver = false;
    const count = (): void => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    await fixture.registry.deleteCollection(fixture.request(widgets, '', '', { dryRun: true }), {}, {});
    isOver = true;
    assert.ok(turns >= 5, `${turns} turns`);
  });
});
