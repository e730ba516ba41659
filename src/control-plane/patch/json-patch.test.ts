import { isRecord } from '../../base/json-record.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ApiStatusError, isApiError } from '../../api/status/api-status-error.ts';
import { applyJsonPatch, isFailedTest, unknownOperationFields } from './json-patch.ts';
import { equalJson, isJsonArray } from './json-value.ts';
import { anyObject, freezeDeep } from './testing/arbitrary-json.ts';

const document = freezeDeep({ foo: 'bar', list: ['a', 'b', 'c'], deep: { 'a/b': 1, 'm~n': 2, x: { y: [{ z: 1 }] } } });

for (const [what, patch, result] of [
  ['adds a field', [{ op: 'add', path: '/new', value: null }], { ...document, new: null }],
  ['adds an element', [{ op: 'add', path: '/list/1', value: 'x' }], { ...document, list: ['a', 'x', 'b', 'c'] }],
  ['adds at the end', [{ op: 'add', path: '/list/-', value: 'x' }], { ...document, list: ['a', 'b', 'c', 'x'] }],
  [
    'adds at an index from the end',
    [{ op: 'add', path: '/list/-1', value: 'x' }],
    { ...document, list: ['a', 'b', 'c', 'x'] },
  ],
  ['removes a field', [{ op: 'remove', path: '/foo' }], { list: document.list, deep: document.deep }],
  ['removes an element', [{ op: 'remove', path: '/list/0' }], { ...document, list: ['b', 'c'] }],
  ['removes the last element', [{ op: 'remove', path: '/list/-1' }], { ...document, list: ['a', 'b'] }],
  ['replaces a field', [{ op: 'replace', path: '/foo', value: { a: 1 } }], { ...document, foo: { a: 1 } }],
  [
    'sets what it should replace, as the API server does',
    [{ op: 'replace', path: '/new', value: 1 }],
    { ...document, new: 1 },
  ],
  [
    'moves',
    [{ op: 'move', from: '/foo', path: '/deep/foo' }],
    { list: document.list, deep: { ...document.deep, foo: 'bar' } },
  ],
  ['copies', [{ op: 'copy', from: '/list', path: '/other' }], { ...document, other: document.list }],
  ['tests', [{ op: 'test', path: '/deep/x', value: { y: [{ z: 1 }] } }], document],
  ['tests for absence', [{ op: 'test', path: '/none', value: null }], document],
  [
    'reads escapes',
    [
      { op: 'test', path: '/deep/a~1b', value: 1 },
      { op: 'test', path: '/deep/m~0n', value: 2 },
    ],
    document,
  ],
  ['replaces an element', [{ op: 'replace', path: '/list/+1', value: 'x' }], { ...document, list: ['a', 'x', 'c'] }],
  [
    'replaces the first element from the end',
    [{ op: 'replace', path: '/list/-3', value: 'x' }],
    { ...document, list: ['x', 'b', 'c'] },
  ],
  ['copies what is missing as null', [{ op: 'copy', from: '/none', path: '/new' }], { ...document, new: null }],
  ['tests the whole document', [{ op: 'test', path: '', value: document }], document],
  ['is null', null, document],
  ['replaces all', [{ op: 'replace', path: '', value: { a: 1 } }], { a: 1 }],
] as const) {
  test(`a JSON patch ${what}`, () => {
    assert.deepEqual(applyJsonPatch(document, patch), result);
  });
}

for (const [what, patch] of [
  ['a path that is not there', [{ op: 'add', path: '/a/b', value: 1 }]],
  ['a path that does not begin with a slash', [{ op: 'add', path: 'a', value: 1 }]],
  ['an empty path to add to', [{ op: 'add', path: '', value: {} }]],
  ['an index past the end', [{ op: 'add', path: '/list/4', value: 1 }]],
  ['an index past the end to replace', [{ op: 'replace', path: '/list/3', value: 1 }]],
  ['an index before the first', [{ op: 'remove', path: '/list/-4' }]],
  ['an index of ten digits', [{ op: 'remove', path: '/list/0000000001' }]],
  ['removing at the end', [{ op: 'remove', path: '/list/3' }]],
  ['a scalar as a container', [{ op: 'add', path: '/foo/x', value: 1 }]],
  ['an element of a scalar', [{ op: 'test', path: '/foo/x/y', value: null }]],
  ['replacing all by null', [{ op: 'replace', path: '', value: null }]],
  ['an operation without a name', [{ path: '/foo' }]],
  ['a copy without from', [{ op: 'copy', path: '/x' }]],
  ['an index that is none', [{ op: 'remove', path: '/list/x' }]],
  ["an index that is the list's length", [{ op: 'test', path: '/list/length', value: 3 }]],
  ['removing what is not there', [{ op: 'remove', path: '/none' }]],
  ['a test that fails', [{ op: 'test', path: '/foo', value: 'x' }]],
  ['moving into itself', [{ op: 'move', from: '/deep', path: '/deep/x/d' }]],
  ['an operation there is not', [{ op: 'merge', path: '/foo' }]],
  ['an operation without path', [{ op: 'add', value: 1 }]],
  ['a move without from', [{ op: 'move', path: '/x' }]],
  ['the prototype as a container', [{ op: 'add', path: '/__proto__/polluted', value: true }]],
  ['a method as a container', [{ op: 'add', path: '/constructor/polluted', value: true }]],
  ['replacing all by a scalar', [{ op: 'replace', path: '', value: 1 }]],
] as const) {
  test(`a JSON patch is refused for ${what}`, () => {
    assert.throws(
      () => applyJsonPatch(document, patch),
      (error) =>
        error instanceof ApiStatusError &&
        error.code === 422 &&
        error.message === 'the server rejected our request due to an error in our request',
    );
  });
}

test('what is no JSON patch is a bad request', () => {
  for (const [patch, message] of [
    [{}, 'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp'],
    [[1], 'error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp'],
    [
      [{ op: 'add', path: 1 }],
      'error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.path of type string',
    ],
  ] as const) {
    assert.throws(
      () => applyJsonPatch(document, patch),
      (error) => isApiError(error, 'BadRequest') && error.message === message,
    );
  }
});

test('fields that operations do not have are named', () => {
  assert.deepEqual(
    unknownOperationFields([
      { op: 'remove', path: '/a' },
      { op: 'add', path: '/a', vaule: 1 },
    ]),
    ['json patch unknown field "[1].vaule"'],
  );
});

test('at most ten thousand operations are done', () => {
  const operations = Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/foo', value: 'bar' }));
  assert.equal(applyJsonPatch(document, operations.slice(1)), document);
  assert.throws(
    () => applyJsonPatch(document, operations),
    (error) =>
      isApiError(error, 'RequestEntityTooLarge') &&
      error.message === 'The allowed maximum operations in a JSON patch is 10000, got 10001',
  );
});

test('copies that double a document again and again end before memory does', () => {
  const doubling = Array.from({ length: 60 }, (_, round) => ({ op: 'copy', from: '/list', path: `/list/${round}` }));
  assert.throws(
    () => applyJsonPatch(document, doubling),
    (error) => isApiError(error, 'Invalid'),
  );
});

test('operations cannot nest a document without end', () => {
  const nest = Array.from({ length: 300 }, (_, level) => ({
    op: 'add',
    path: `/deep${'/a'.repeat(level + 1)}`,
    value: {},
  }));
  assert.throws(
    () => applyJsonPatch(document, nest),
    (error) => isApiError(error, 'Invalid'),
  );
});

test('a copy and what it was copied from are changed one by one', () => {
  const patched = applyJsonPatch(document, [
    { op: 'add', path: '/deep/x/y/0/z', value: 2 },
    { op: 'copy', from: '/deep/x', path: '/copy' },
    { op: 'add', path: '/copy/y/0/z', value: 3 },
  ]);
  assert.deepEqual(patched, { ...document, deep: { ...document.deep, x: { y: [{ z: 2 }] } }, copy: { y: [{ z: 3 }] } });
});

const escape = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');

/** Returns simple operations that convert one value to the other. */
function operationsBetween(before: unknown, after: unknown, path = ''): object[] {
  if (equalJson(before, after)) return [];
  if (isRecord(before) && isRecord(after)) {
    return [
      ...Object.keys(before)
        .filter((key) => !Object.hasOwn(after, key))
        .map((key) => ({ op: 'remove', path: `${path}/${escape(key)}` })),
      ...Object.keys(after).flatMap((key) =>
        Object.hasOwn(before, key)
          ? operationsBetween(before[key], after[key], `${path}/${escape(key)}`)
          : [{ op: 'add', path: `${path}/${escape(key)}`, value: after[key] }],
      ),
    ];
  }
  if (isJsonArray(before) && isJsonArray(after) && after.length >= before.length) {
    return [
      ...before.flatMap((item, index) => operationsBetween(item, after[index], `${path}/${index}`)),
      ...after.slice(before.length).map((value) => ({ op: 'add', path: `${path}/-`, value })),
    ];
  }
  return [{ op: 'replace', path, value: after }];
}

test('the operations between two documents lead from one to the other, leaving the first as it was', () => {
  fc.assert(
    fc.property(anyObject({ nulls: true }), anyObject({ nulls: true }), (before, after) => {
      const operations = operationsBetween(freezeDeep(before), freezeDeep(after));
      assert.deepEqual(
        applyJsonPatch(before, freezeDeep([...operations, { op: 'test', path: '', value: after }])),
        after,
      );
    }),
  );
});

test('a JSON patch that does not apply says why, in upstream words, and a failed test is known as such', () => {
  const refusal = (operation: object): unknown => {
    try {
      return applyJsonPatch({ data: { a: '1' }, list: ['x'] }, [operation]);
    } catch (error) {
      return error;
    }
  };
  const whyOf = (operation: object): string => {
    const error = refusal(operation);
    return error instanceof ApiStatusError && error.cause instanceof Error ? error.cause.message : 'applied';
  };
  const path = '/spec/x';
  for (const [operation, why] of [
    [{ op: 'add', path, value: 1 }, 'add operation does not apply: doc is missing path: "/spec/x": missing value'],
    [{ op: 'remove', path }, 'remove operation does not apply: doc is missing path: "/spec/x": missing value'],
    [
      { op: 'replace', path, value: 1 },
      'replace operation does not apply: doc is missing path: /spec/x: missing value',
    ],
    [{ op: 'test', path, value: 1 }, 'test operation does not apply: is missing path: /spec/x: missing value'],
    [
      { op: 'move', from: path, path: '/b' },
      'move operation does not apply: doc is missing from path: /spec/x: missing value',
    ],
    [
      { op: 'copy', from: '/data/a', path },
      'copy operation does not apply: doc is missing destination path: /spec/x: missing value',
    ],
    [
      { op: 'remove', path: '/data/b' },
      "error in remove for path: '/data/b': Unable to remove nonexistent key: b: missing value",
    ],
    [
      { op: 'move', from: '/data/b', path: '/c' },
      "error in move for path: 'b': Unable to remove nonexistent key: b: missing value",
    ],
    [
      { op: 'add', path: '/list/5', value: 1 },
      "error in add for path: '/list/5': Unable to access invalid index: 5: invalid index referenced",
    ],
  ] as const) {
    assert.equal(whyOf(operation), why);
    assert.equal(isFailedTest(refusal(operation)), false);
  }
  assert.equal(isFailedTest(refusal({ op: 'test', path: '/data/a', value: '2' })), true);
  assert.equal(isFailedTest(refusal({ op: 'test', path: '/data/none', value: '2' })), true);
});
