import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { copyJson } from './copy-json.ts';

test('a copy equals the original', () => {
  fc.assert(fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => assert.deepEqual(copyJson(value), value)));
});

test('a change of the copy does not change the original', () => {
  const original = { spec: { containers: [{ name: 'a', args: ['x'] }] } };
  const copied = copyJson(original);
  copied.spec.containers[0]?.args.push('y');
  copied.spec.containers.push({ name: 'b', args: [] });
  assert.deepEqual(original, { spec: { containers: [{ name: 'a', args: ['x'] }] } });
});

test('a key named __proto__ is a key like any other', () => {
  const original = JSON.parse('{"data":{"__proto__":{"admin":true}}}') as { data: Record<string, unknown> };
  const { data } = copyJson(original);
  assert.deepEqual(Object.keys(data), ['__proto__']);
  assert.equal(Object.getPrototypeOf(data), Object.prototype);
  assert.equal('admin' in data, false);
});

test('an undefined field stays undefined', () => {
  assert.deepEqual(Object.keys(copyJson({ a: undefined, b: 1 })), ['a', 'b']);
});
