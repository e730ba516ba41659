import assert from 'node:assert/strict';
import test from 'node:test';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import { widgets } from '../testing/registry-fixture.ts';
import { NewestTexts } from './newest-texts.ts';
import { CachedObject, storedJson, wireJson, withVersion } from './stored-form.ts';

test('the data of a revision is stored and returned with the same bytes as Go’s encoder writes', () => {
  const data = { spec: { template: { $patch: 'replace', spec: { containers: [{ command: ['a && b > c'] }] } } } };
  const revision = { metadata: { name: 'a', namespace: 'b', uid: 'c' }, data, revision: 1 };
  const bytes =
    '"data":{"spec":{"template":{"$patch":"replace","spec":{"containers":[{"command":["a \\u0026\\u0026 b \\u003e c"]}]}}}}';
  // This test uses only the names of its type.
  const definition = widgets as unknown as ResourceDefinition;
  for (const write of [storedJson, wireJson]) assert.ok(write(definition, revision).includes(bytes));
});

test('the JSON of an object is the same whether its text is kept, compressed or dropped', () => {
  const plain = widgets as unknown as ResourceDefinition;
  const object = { metadata: { name: 'a', namespace: 'b', uid: 'c' }, spec: { text: 'long <ü> '.repeat(5000) } };
  const stored = storedJson(plain, object);
  const wire = wireJson(plain, { ...object, metadata: { ...object.metadata, resourceVersion: '7' } });
  for (const definition of [plain, { ...plain, packed: (given: ApiObject) => given }]) {
    const cached = new CachedObject(definition, withVersion(object, 7), 7, stored);
    assert.deepEqual(JSON.parse(cached.json), JSON.parse(wire));
    cached.dropLongText();
    assert.deepEqual(JSON.parse(cached.json), JSON.parse(wire));
  }
});

test('the text of a packed kind is compressed after sixteen newer objects, unless it was replaced before', () => {
  const plain = widgets as unknown as ResourceDefinition;
  const definition = { ...plain, packed: (given: ApiObject) => given };
  const texts = new NewestTexts();
  const add = (name: string): CachedObject => {
    const object = { metadata: { name, namespace: 'b', uid: 'c' }, spec: { text: 'long '.repeat(5000) } };
    const cached = new CachedObject(definition, withVersion(object, 7), 7, storedJson(definition, object));
    texts.add(cached);
    return cached;
  };
  const first = add('first');
  const replaced = add('replaced');
  replaced.dropLongText();
  const json = first.json;
  for (let more = 0; more < 14; more++) add(`more-${more}`);
  assert.equal(first.isCompressed, false);
  for (let more = 0; more < 2; more++) add(`last-${more}`);
  assert.deepEqual([first.isCompressed, replaced.isCompressed], [true, false]);
  assert.equal(first.json, json);
});
