import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lookupTable, ownValue } from './lookup.ts';

test('inherited property names are in no table and no record', () => {
  const table = lookupTable({ a: 1 });
  const record: Readonly<Record<string, number>> = { a: 1 };
  for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf'])
    assert.deepEqual([table[name], ownValue(record, name)], [undefined, undefined]);
  assert.deepEqual([table['a'], ownValue(record, 'a'), ownValue(undefined, 'a')], [1, 1, undefined]);
});

test('an own key with an inherited name is found', () => {
  assert.equal(ownValue(JSON.parse('{"__proto__":2}') as Record<string, number>, '__proto__'), 2);
});
