import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { sameContent } from './same-content.ts';

test('a value has the content of its copy, whatever the order of its fields', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      assert.ok(sameContent(value, structuredClone(value)));
      if (typeof value === 'object' && value !== null && !Array.isArray(value))
        assert.ok(sameContent(value, Object.fromEntries(Object.entries(value).reverse())));
    }),
  );
});

test('values with different JSON differ, and so do a list and an object', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (left, right) => {
      if (sameContent(left, right)) assert.deepEqual(left, right);
    }),
  );
  for (const [left, right] of [
    [{ a: 1 }, { a: 2 }],
    [{ a: 1 }, {}],
    [{}, { a: 1 }],
    [{ a: null }, {}],
    [[], {}],
    [[1], { 0: 1 }],
    [[1], [1, 2]],
    [{ a: [{ b: 1 }] }, { a: [{ b: 2 }] }],
    ['1', 1],
    [null, {}],
  ])
    assert.ok(!sameContent(left, right), JSON.stringify([left, right]));
});

test('a field that is undefined is missing, on either side and in depth', () => {
  assert.ok(sameContent({ a: 1, b: undefined }, { a: 1 }));
  assert.ok(sameContent({ a: { c: 1 } }, { a: { b: undefined, c: 1 }, d: undefined }));
});

test('inherited properties do not count as fields', () => {
  assert.ok(!sameContent({ toString: Object.prototype.toString }, {}));
  assert.ok(!sameContent(JSON.parse('{"__proto__":{}}'), {}));
});
