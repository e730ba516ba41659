import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isApiError } from '../../api/status/api-status-error.ts';
import { applyMergePatch } from './merge-patch.ts';
import { anyObject, freezeDeep } from './testing/arbitrary-json.ts';
import { diffMergePatch } from './testing/diff-merge.ts';

const parse = (text: string): Record<string, unknown> => JSON.parse(text) as Record<string, unknown>;

// The table of RFC 7386, appendix A, as far as documents are objects.
for (const [document, patch, result] of [
  ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
  ['{"a":"b"}', '{"a":null}', '{}'],
  ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
  ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
  ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
  ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
  ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
  ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
] as const) {
  test(`a merge patch ${patch} makes ${result} of ${document}`, () => {
    assert.deepEqual(applyMergePatch(parse(document), parse(patch)), parse(result));
  });
}

test('the patch of a difference leads to the other document, and doing it again changes nothing', () => {
  fc.assert(
    fc.property(anyObject({ nulls: false }), anyObject({ nulls: false }), (before, after) => {
      const patch = diffMergePatch(freezeDeep(before), freezeDeep(after));
      const patched = applyMergePatch(before, freezeDeep(patch));
      assert.deepEqual(patched, after);
      assert.equal(applyMergePatch(patched, patch), patched);
    }),
  );
});

test('any patch may be done again without effect, and changes neither itself nor the document', () => {
  fc.assert(
    fc.property(anyObject({ nulls: true }), anyObject({ nulls: true }), (document, patch) => {
      const once = applyMergePatch(freezeDeep(document), freezeDeep(patch));
      assert.deepEqual(applyMergePatch(once, patch), once);
    }),
  );
});

test('a field named __proto__ is a field', () => {
  const patched = applyMergePatch({}, parse('{"data":{"__proto__":{"polluted":true}}}'));
  assert.equal(JSON.stringify(patched), '{"data":{"__proto__":{"polluted":true}}}');
  assert.equal(({} as { polluted?: boolean }).polluted, undefined);
});

test('what is no object is no patch', () => {
  for (const [patch, message] of [
    [[1], 'error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}'],
    ['x', 'error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}'],
    [null, 'Invalid JSON Patch'],
  ] as const) {
    assert.throws(
      () => applyMergePatch({}, patch),
      (error) => isApiError(error, 'BadRequest') && error.message === message,
    );
  }
});

test('a patch that is nested too deeply is refused before it is walked through', () => {
  let deep: unknown = 1;
  for (let level = 0; level < 100_000; level++) deep = { a: deep };
  assert.throws(
    () => applyMergePatch({}, deep),
    (error) => isApiError(error, 'BadRequest'),
  );
});
