import assert from 'node:assert/strict';
import test from 'node:test';
import { apiVersionOf } from '../../api/client/resource-type.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';
import { decodeAny } from '../../api/schema/decode.ts';
import { allResources } from './all.ts';

const nowMs = 0;

test('no two kinds share a path, a kind or a place in the store, but for both groups of events', () => {
  const twice = (names: readonly string[]): string[] => names.filter((name, index) => names.indexOf(name) < index);
  assert.deepEqual(twice(allResources.map(({ type }) => `${type.plural}.${type.group}`)), []);
  assert.deepEqual(twice(allResources.map(({ type }) => `${apiVersionOf(type)}/${type.kind}`)), []);
  assert.deepEqual(twice(allResources.filter(({ review }) => review === undefined).map(({ storagePath }) => storagePath)), ['events']);
});

for (const { type, schema, selectableFields, columns, rules, review } of allResources) {
  test(`an empty ${type.kind} of ${apiVersionOf(type)} can be defaulted, checked, selected and shown`, () => {
    // Decoded by its own schema.
    const empty = decodeAny(schema, {}).value as ApiObject;
    const defaulted = rules.applyDefaults(empty);
    assert.ok(Array.isArray(rules.validate(defaulted)));
    for (const value of Object.values(selectableFields?.(empty) ?? {})) assert.equal(typeof value, 'string');
    for (const { name, cell } of columns ?? []) assert.ok(['string', 'number', 'boolean'].includes(typeof cell(empty, nowMs)), `${name} shows ${typeof cell(empty, nowMs)}`);
    assert.equal(review === undefined || columns === undefined, true);
  });
}
