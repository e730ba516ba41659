import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { configMaps } from '../../../api/client/resource-types.ts';
import type { ObjectReader } from '../../model/object-reader.ts';
import { createCacheReader } from './cache-reader.ts';
import { DefinitionIndex } from '../definition-index.ts';
import { gadgets, startRegistry, widgets } from '../testing/registry-fixture.ts';
import type { RegistryFixture, Widget } from '../testing/registry-fixture.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';

describe('synchronous reads from the cache', () => {
  let fixture: RegistryFixture;
  let reader: ObjectReader;
  const createIn = (namespace: string, name: string): Promise<unknown> =>
    fixture.registry.create(
      { ...fixture.request(widgets), namespace },
      { value: { metadata: { name }, spec: {} }, duplicates: [] },
    );
  const size = (widget: Widget | undefined): number | undefined => widget?.spec.size;

  beforeEach(async () => {
    fixture = await startRegistry();
    // The fixture has these types.
    reader = createCacheReader(
      fixture.cache,
      new DefinitionIndex([widgets, gadgets] as unknown as ResourceDefinition[]),
    );
  });
  afterEach(() => fixture.stop());

  it('objects are found by name, and listed by namespace', async () => {
    for (const namespace of ['b', 'a', 'aa']) await createIn(namespace, 'x');
    await fixture.create({ name: 'g' }, gadgets);
    const places = (namespace: string): string[] =>
      reader.list(widgets.type, namespace).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
    assert.deepEqual([places('a'), places(''), places('c')], [['a/x'], ['a/x', 'aa/x', 'b/x'], []]);
    assert.deepEqual(
      [
        reader.get(widgets.type, { namespace: 'a', name: 'x' })?.metadata.namespace,
        reader.get(widgets.type, { namespace: 'a', name: 'y' }),
      ],
      ['a', undefined],
    );
    assert.equal(reader.get(gadgets.type, { namespace: '', name: 'g' })?.metadata.name, 'g');
  });

  it('listeners receive the old and the new object, until they unsubscribe', async () => {
    const notified: unknown[] = [];
    const leave = reader.onChange(widgets.type, (before, after) => notified.push([size(before), size(after)]));
    const made = await fixture.create({ name: 'x', spec: { size: 1 } });
    await fixture.create({ name: 'g' }, gadgets);
    await fixture.registry.update(fixture.request(widgets, 'x'), {
      value: { ...made, spec: { size: 2 } },
      duplicates: [],
    });
    await fixture.registry.delete(fixture.request(widgets, 'x'), {});
    leave();
    await fixture.create({ name: 'y' });
    assert.deepEqual(notified, [
      [undefined, 1],
      [1, 2],
      [2, undefined],
    ]);
  });

  it('a kind that is not served has no objects', () => {
    assert.deepEqual(
      [reader.get(configMaps, { namespace: 'a', name: 'x' }), reader.list(configMaps, '')],
      [undefined, []],
    );
    reader.onChange(configMaps, () => assert.fail('notified'))();
  });
});
