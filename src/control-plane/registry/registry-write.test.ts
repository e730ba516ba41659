import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { isApiError } from '../../api/status/api-status-error.ts';
import type { StatusReason } from '../../api/status/api-status-error.ts';
import { validateMetadata } from './write/object-metadata.ts';
import { KubeletError } from '../../base/errors.ts';
import type { ResourceDefinition } from '../model/resource-definition.ts';
import type { Storage } from '../storage/storage.ts';
import { withLateNews } from './testing/late-news.ts';
import { gadgets, gadgetsSettled, startRegistry, widgets } from './testing/registry-fixture.ts';
import type { Written } from './registry.ts';
import type { RegistryFixture, Widget } from './testing/registry-fixture.ts';

// The tests are in a suite, because all test files share one process and hooks outside suites would apply to all of
// them.
describe('the registry writes', () => {
  let fixture: RegistryFixture;
  beforeEach(async () => {
    fixture = await startRegistry();
  });
  afterEach(() => fixture.stop());

  const refused = (reason: StatusReason, message?: RegExp) => (error: unknown) =>
    isApiError(error, reason) && (message === undefined || message.test(error.message));
  const body = (value: unknown) => ({ value, duplicates: [] });
  const get = async (name: string): Promise<Widget> =>
    (await fixture.registry.get(fixture.request(widgets, name), {})).object as Widget;

  test('a created object has a UID, a version, a time, defaults, generation 1 and an empty status', async () => {
    const widget = await fixture.create({ name: 'a', status: { seen: 5 } });
    assert.ok(
      widget.metadata.uid !== '' &&
        Number(widget.metadata.resourceVersion) > 0 &&
        widget.metadata.creationTimestamp !== undefined,
    );
    assert.deepEqual(
      [widget.spec.size, widget.metadata.generation, widget.status, widget.metadata.namespace],
      [1, 1, {}, 'default'],
    );
  });

  test('the served text equals the served object', async () => {
    await fixture.create({ name: 'a', spec: { notes: { x: 'y' } } });
    const served = await fixture.registry.get(fixture.request(widgets, 'a'), {});
    assert.deepEqual(JSON.parse(served.json), JSON.parse(JSON.stringify(served.object)));
  });

  test('a second object of the same name is rejected with AlreadyExists, in a dry run too', async () => {
    await fixture.create({ name: 'a' });
    await assert.rejects(
      fixture.create({ name: 'a' }),
      refused('AlreadyExists', /^widgets.test.io "a" already exists$/),
    );
    await assert.rejects(
      fixture.registry.create(
        fixture.request(widgets, '', '', { dryRun: true }),
        body({ metadata: { name: 'a' }, spec: {} }),
      ),
      refused('AlreadyExists'),
    );
  });

  test('a dry run returns the same response, and stores nothing', async () => {
    const served = await fixture.registry.create(
      fixture.request(widgets, '', '', { dryRun: true }),
      body({ metadata: { name: 'a' }, spec: {} }),
    );
    assert.equal((served.object as Widget).spec.size, 1);
    await assert.rejects(get('a'), refused('NotFound', /^widgets.test.io "a" not found$/));
  });

  test('generated names have the prefix and differ', async () => {
    const make = (): Promise<unknown> =>
      fixture.registry
        .create(fixture.request(widgets), body({ metadata: { generateName: 'w-' }, spec: {} }))
        .then(({ object }) => object.metadata.name);
    const names = [await make(), await make()];
    assert.ok(names.every((name) => /^w-[a-z0-9]{5}$/.test(String(name))) && names[0] !== names[1], String(names));
  });

  test('a body with another kind, version or namespace, or with a resourceVersion, is a bad request', async () => {
    const create = (value: object): Promise<unknown> => fixture.registry.create(fixture.request(widgets), body(value));
    await assert.rejects(
      create({ kind: 'Gadget', metadata: { name: 'a' } }),
      refused('BadRequest', /does not match the expected kind/),
    );
    await assert.rejects(
      create({ apiVersion: 'v2', metadata: { name: 'a' } }),
      refused('BadRequest', /API version in the data \(v2\) does not match the expected API version \(test.io\/v1\)/),
    );
    await assert.rejects(
      create({ metadata: { name: 'a', namespace: 'other' } }),
      refused('BadRequest', /namespace of the provided object does not match/),
    );
    await assert.rejects(
      create({ metadata: { name: 'a', resourceVersion: '5' } }),
      refused('BadRequest', /resourceVersion should not be set/),
    );
    await assert.rejects(fixture.registry.create(fixture.request(widgets), body('text')), refused('BadRequest'));
  });

  test('unknown and duplicate fields are rejected, cause warnings or are dropped, as requested', async () => {
    const create = (fieldValidation: 'Strict' | 'Warn' | 'Ignore', name: string): Promise<unknown> =>
      fixture.registry.create(fixture.request(widgets, '', '', { fieldValidation }), {
        value: { metadata: { name }, spec: { sizes: 1 } },
        duplicates: ['duplicate field "spec"'],
      });
    await assert.rejects(
      create('Strict', 'a'),
      refused(
        'BadRequest',
        /^Widget in version "v1" cannot be handled as a Widget: strict decoding error: duplicate field "spec", unknown field "spec.sizes"/,
      ),
    );
    await create('Warn', 'b');
    assert.deepEqual(fixture.warnings, ['duplicate field "spec"', 'unknown field "spec.sizes"']);
    await create('Ignore', 'c');
    assert.equal(fixture.warnings.length, 2);
  });

  test('an invalid object is rejected with its causes', async () => {
    await assert.rejects(fixture.create({ name: 'a', spec: { size: -1 } }), (error: unknown) => {
      assert.ok(isApiError(error, 'Invalid'));
      assert.equal(
        error.message,
        'Widget.test.io "a" is invalid: spec.size: Invalid value: -1: must be greater than or equal to 0',
      );
      assert.deepEqual(error.details?.causes, [
        {
          reason: 'FieldValueInvalid',
          message: 'Invalid value: -1: must be greater than or equal to 0',
          field: 'spec.size',
        },
      ]);
      return true;
    });
  });

  test('a custom finalizer needs a domain, unless the object has it already', async () => {
    const nameless = refused(
      'Invalid',
      /metadata\.finalizers\[1\]: Invalid value: "nameless": name is neither a standard finalizer name nor is it fully qualified/,
    );
    await assert.rejects(
      fixture.registry.create(
        fixture.request(widgets),
        body({ metadata: { name: 'a', finalizers: ['x.io/y', 'nameless', 'orphan'] }, spec: {} }),
      ),
      nameless,
    );
    const { metadata, ...rest } = await fixture.create({ name: 'b' });
    await assert.rejects(
      fixture.registry.update(
        fixture.request(widgets, 'b'),
        body({ ...rest, metadata: { ...metadata, finalizers: ['x.io/y', 'nameless'] } }),
      ),
      nameless,
    );
    const { definition } = fixture.request(widgets);
    assert.deepEqual(
      validateMetadata(
        definition,
        { ...metadata, finalizers: ['nameless'] },
        { ...metadata, finalizers: ['nameless'] },
      ),
      [],
    );
    assert.deepEqual(
      validateMetadata(
        { ...definition, rules: { ...definition.rules, anyFinalizer: true } },
        { ...metadata, finalizers: ['nameless'] },
      ),
      [],
    );
  });

  test('an update from an older version is rejected; one without a version is accepted', async () => {
    const first = await fixture.create({ name: 'a' });
    const update = (widget: Widget): Promise<unknown> =>
      fixture.registry.update(fixture.request(widgets, 'a'), body(widget));
    await update({ ...first, spec: { size: 2 } });
    await assert.rejects(
      update({ ...first, spec: { size: 3 } }),
      refused(
        'Conflict',
        /the object has been modified; please apply your changes to the latest version and try again$/,
      ),
    );
    const { resourceVersion: _, ...metadata } = first.metadata;
    await update({ ...first, metadata, spec: { size: 4 } });
    assert.equal((await get('a')).spec.size, 4);
  });

  test('the generation counts changes of the spec, not of labels or status; an update without changes writes nothing', async () => {
    const first = await fixture.create({ name: 'a' });
    const update = async (change: Partial<Widget>, subresource = ''): Promise<Widget> =>
      (
        await fixture.registry.update(
          fixture.request(widgets, 'a', subresource),
          body({ ...(await get('a')), ...change }),
        )
      ).object as Widget;
    assert.equal((await update({})).metadata.resourceVersion, first.metadata.resourceVersion);
    assert.equal((await update({ metadata: { ...first.metadata, labels: { x: 'y' } } })).metadata.generation, 1);
    assert.equal((await update({ status: { seen: 1 } }, 'status')).metadata.generation, 1);
    assert.equal((await update({ spec: { size: 2 } })).metadata.generation, 2);
  });

  test('a kind that starts without a generation has one after the first change', async () => {
    const bare: ResourceDefinition<Widget> = { ...widgets, startsWithoutGeneration: true };
    const kinds = [bare as unknown as ResourceDefinition];
    const { registry, request, create, stop } = await startRegistry([], { kinds });
    const first = await create({ name: 'a' }, bare);
    assert.equal(first.metadata.generation, undefined);
    const changed = await registry.update(request(bare, 'a'), body({ ...first, spec: { size: 2 } }));
    assert.equal(changed.object.metadata.generation, 1);
    await stop();
  });

  test('a change by an action subresource keeps the generation', async () => {
    await fixture.create({ name: 'a' });
    await fixture.registry.create(
      fixture.request(widgets, 'a', 'fit'),
      body({ metadata: { name: 'a' }, spec: { size: 9 } }),
    );
    const { spec, metadata } = await get('a');
    assert.deepEqual([spec.size, metadata.generation], [9, 1]);
  });

  test('a write to the object does not change the status, and a write to the status changes nothing else', async () => {
    await fixture.create({ name: 'a' });
    const update = async (change: Partial<Widget>, subresource: string): Promise<unknown> =>
      fixture.registry.update(fixture.request(widgets, 'a', subresource), body({ ...(await get('a')), ...change }));
    await update({ spec: { size: 9 }, status: { seen: 1 } }, 'status');
    await update({ spec: { size: 5 }, status: { seen: 7 } }, '');
    const { spec, status } = await get('a');
    assert.deepEqual([spec.size, status], [5, { seen: 1 }]);
  });

  test('an update cannot change server-owned metadata, and another UID is a conflict', async () => {
    const first = await fixture.create({ name: 'a' });
    const update = (metadata: object): Promise<unknown> =>
      fixture.registry.update(
        fixture.request(widgets, 'a'),
        body({ ...first, metadata: { ...first.metadata, ...metadata } }),
      );
    await update({
      creationTimestamp: '2001-01-01T00:00:00Z',
      generation: 99,
    });
    await assert.rejects(
      update({ deletionTimestamp: '2001-01-01T00:00:00Z' }),
      refused('Invalid', /metadata\.deletionTimestamp: .*field is immutable/),
    );
    assert.deepEqual((await get('a')).metadata.creationTimestamp, first.metadata.creationTimestamp);
    assert.equal((await get('a')).metadata.generation, 1);
    await assert.rejects(
      update({ uid: 'other' }),
      refused('Conflict', /Precondition failed: UID in precondition: other/),
    );
  });

  test('the namespace in a manifest for a cluster-scoped object is dropped', async () => {
    const metadata = { name: 'g', namespace: 'named-for-nothing' };
    const { registry, request } = fixture;
    const created = await registry.create(request(gadgets), body({ metadata, spec: {} }));
    const updated = await registry.update(request(gadgets, 'g'), body({ metadata, spec: { size: 2 } }));
    const patched = await registry.patch(request(gadgets, 'g', '', { fieldManager: 'tester' }), {
      type: 'apply',
      value: { apiVersion: 'test.io/v1', kind: 'Gadget', metadata, spec: { size: 2 } },
      duplicates: [],
    });
    assert.deepEqual(
      [created, updated, patched].map(({ object }) => (object as Widget).metadata.namespace),
      ['', '', ''],
    );
  });

  test('an update without a name is rejected', async () => {
    await fixture.create({ name: 'a' });
    await assert.rejects(
      fixture.registry.update(fixture.request(widgets, 'a'), body({ spec: {} })),
      refused('BadRequest', /^the name of the object \(a based on URL\) was undeterminable: name must be provided$/),
    );
  });

  test('creating an object whose name is being deleted is rejected with the reason', async () => {
    await fixture.create({ name: 'a', metadata: { name: 'a', finalizers: ['test.io/stay'] } as Widget['metadata'] });
    await fixture.registry.delete(fixture.request(widgets, 'a'), {});
    await assert.rejects(
      fixture.create({ name: 'a' }),
      refused('AlreadyExists', /^object is being deleted: widgets.test.io "a" already exists$/),
    );
  });

  test('only some kinds can be created by a PUT', async () => {
    await assert.rejects(
      fixture.registry.update(fixture.request(widgets, 'a'), body({ metadata: { name: 'a' }, spec: {} })),
      refused('NotFound'),
    );
    assert.equal(
      (await fixture.registry.update(fixture.request(gadgets, 'g'), body({ metadata: { name: 'g' }, spec: {} })))
        .created,
      true,
    );
  });

  test('a PUT with a UID creates no object, and one with a resourceVersion may create a missing object', async () => {
    const put = (metadata: object): Promise<Written> =>
      fixture.registry.update(fixture.request(gadgets, 'g'), body({ metadata: { name: 'g', ...metadata }, spec: {} }));
    await assert.rejects(
      put({ uid: 'gone' }),
      refused('Conflict', /Precondition failed: UID in precondition: gone, UID in object meta: $/),
    );
    assert.equal((await put({ resourceVersion: '7' })).created, true);
  });

  test('concurrent writes without a version are all kept', async () => {
    await fixture.create({ name: 'a' });
    await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        fixture.registry.patch(fixture.request(widgets, 'a'), {
          type: 'merge',
          ...body({ spec: { notes: { [`n${index}`]: 'x' } } }),
        }),
      ),
    );
    assert.equal(Object.keys((await get('a')).spec.notes ?? {}).length, 10);
  });

  test('a mutating plugin changes the stored object, and a validating one sees the result and may reject it', async () => {
    await fixture.stop();
    const seen: unknown[] = [];
    fixture = await startRegistry([
      {
        name: 'Judge',
        handles: () => true,
        validate: ({ object }) => void seen.push((object as Widget | undefined)?.spec.notes),
      },
      {
        name: 'Marker',
        handles: ({ operation }) => operation === 'CREATE',
        mutate: ({ object }) => ({ ...(object as Widget), spec: { notes: { by: 'marker' } } }) as Widget,
      },
    ]);
    const widget = await fixture.create({ name: 'a' });
    assert.deepEqual([widget.spec.notes, widget.spec.size, seen], [{ by: 'marker' }, 1, [{ by: 'marker' }]]);
  });

  test('the allocations of an object are released if it was not stored, and kept while that is unknown', async () => {
    await fixture.stop();
    let lost = false;
    const wrap = (storage: Storage): Storage => {
      const put = storage.put.bind(storage);
      storage.put = async (key, value, options) => {
        const result = await put(key, value, options);
        if (lost) throw new KubeletError('Unavailable', 'the answer was lost');
        return result;
      };
      return storage;
    };
    fixture = await startRegistry([], { wrap });
    gadgetsSettled.length = 0;
    await fixture.create({ name: 'g' }, gadgets);
    await assert.rejects(fixture.create({ name: 'g' }, gadgets), refused('AlreadyExists'));
    lost = true;
    await assert.rejects(fixture.create({ name: 'h' }, gadgets));
    assert.deepEqual(gadgetsSettled, [true, false]);
    // The update reads that its first attempt was stored.
    const value = { metadata: { name: 'g' }, spec: { size: 7 } };
    await fixture.registry.update(fixture.request(gadgets, 'g'), body(value));
    assert.deepEqual(gadgetsSettled.slice(2).includes(false), false, String(gadgetsSettled));
  });
});

test("no write is rejected because of another server's recent change", async () => {
  const late = await startRegistry([], { wrap: withLateNews });
  const other = await late.second();
  try {
    const write = async (action: (name: string) => Promise<unknown>): Promise<string> => {
      const { metadata } = await other.create({ name: 'a' });
      const before = metadata.resourceVersion;
      await action('a');
      const { object } = await late.registry.get(late.request(widgets, 'a'), {}).catch(() => ({ object: undefined }));
      await other.registry.delete(other.request(widgets, 'a'), {}).catch(() => undefined);
      return object === undefined ? 'gone' : object.metadata.resourceVersion === before ? 'same' : 'changed';
    };
    const value = { metadata: { name: 'a' }, spec: { size: 7 } };
    assert.equal(await write((name) => late.registry.delete(late.request(widgets, name), {})), 'gone');
    assert.equal(
      await write((name) => late.registry.update(late.request(widgets, name), { value, duplicates: [] })),
      'changed',
    );
    assert.equal(
      await write((name) =>
        late.registry.patch(late.request(widgets, name), {
          type: 'merge',
          value: { spec: { size: 7 } },
          duplicates: [],
        }),
      ),
      'changed',
    );
    await assert.rejects(late.registry.delete(late.request(widgets, 'none'), {}), (error) =>
      isApiError(error, 'NotFound'),
    );
  } finally {
    await other.stop();
    await late.stop();
  }
});

test("a write to the status gets the kind's defaults, and keeps the stored spec", async () => {
  const applyDefaults = (widget: Widget): Widget => ({ ...widget, status: { seen: 3, ...widget.status } });
  const kind: typeof widgets = { ...widgets, rules: { ...widgets.rules, applyDefaults } };
  const fixture = await startRegistry([], { kinds: [kind as unknown as ResourceDefinition] });
  try {
    const { metadata } = await fixture.create({ name: 'a', spec: { size: 5 } }, kind);
    const value = { metadata, spec: { size: 9 }, status: {} };
    const { object } = await fixture.registry.update(fixture.request(kind, 'a', 'status'), { value, duplicates: [] });
    const { spec, status } = object as Widget;
    assert.deepEqual([spec, status], [{ size: 5 }, { seen: 3 }]);
  } finally {
    await fixture.stop();
  }
});
