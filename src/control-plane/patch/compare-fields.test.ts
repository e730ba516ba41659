import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PodSchema } from '../../api/core/pod.ts';
import { compareFields } from './compare-fields.ts';
import { pathsOf } from './field-set.ts';

const names = (set: Parameters<typeof pathsOf>[0]): readonly string[] => pathsOf(set).map((path) => path.join(' '));
function compared(before: object, after: object, emptied?: 'gone' | 'changed'): unknown {
  const { changed, removed } = compareFields(PodSchema, before, after, emptied);
  return { changed: names(changed), removed: names(removed) };
}
const spec = (content: object): object => ({ spec: content });
const metadata = (content: object): object => ({ metadata: content });
const env = (...values: readonly string[]): object =>
  spec({ containers: [{ name: 'c', env: values.map((value) => ({ name: 'A', value })) }] });
const inContainer = 'f:spec f:containers k:{"name":"c"}';
const variable = `${inContainer} f:env k:{"name":"A"}`;

test('fields of structs are new, changed or removed', () => {
  assert.deepEqual(
    compared(
      spec({ nodeName: 'a', hostname: 'h', subdomain: 's', schedulerName: 'x', unknown: 1 }),
      spec({ nodeName: 'b', hostname: 'h', subdomain: undefined, priority: 1, unknown: 2 }),
    ),
    { changed: ['f:spec f:nodeName', 'f:spec f:priority'], removed: ['f:spec f:schedulerName', 'f:spec f:subdomain'] },
  );
  assert.deepEqual(compared(spec({ subdomain: undefined }), spec({})), { changed: [], removed: [] });
  const object = spec({ nodeName: 'a' });
  assert.deepEqual(compareFields(PodSchema, object, object), { changed: undefined, removed: undefined });
});

test('entries of maps are new, changed or removed', () => {
  assert.deepEqual(
    compared(
      metadata({ labels: { a: '1', b: '1', c: '1', d: '1', e: undefined } }),
      metadata({ labels: { a: '1', b: '2', d: undefined, x: '1' } }),
    ),
    {
      changed: ['f:metadata f:labels f:b', 'f:metadata f:labels f:x'],
      removed: ['f:metadata f:labels f:c', 'f:metadata f:labels f:d'],
    },
  );
});

test('elements of lists are new, changed or removed by their key or value', () => {
  assert.deepEqual(compared(metadata({ finalizers: ['a', 'b'] }), metadata({ finalizers: ['b', 'c'] })), {
    changed: ['f:metadata f:finalizers v:"c"'],
    removed: ['f:metadata f:finalizers v:"a"'],
  });
  assert.deepEqual(
    compared(
      spec({ containers: [{ name: 'c', image: 'i', args: ['a'] }] }),
      spec({ containers: [{ name: 'c', args: ['b'] }] }),
    ),
    { changed: [`${inContainer} f:args`], removed: [`${inContainer} f:image`] },
  );
});

test('elements with the same key are compared as one value', () => {
  const one = [variable, `${variable} f:name`, `${variable} f:value`];
  assert.deepEqual(compared(env('1', '2'), env('1', '2')), { changed: [], removed: [] });
  assert.deepEqual(compared(env('1', '2'), env('1', '3')), { changed: [variable], removed: [] });
  assert.deepEqual(compared(env('1', '2'), env('1')), { changed: one, removed: [variable] });
  assert.deepEqual(compared(env('1'), env('1', '2')), { changed: [variable], removed: one });
  const other = { containers: [{ name: 'c', env: [{ name: 'B' }] }] };
  assert.deepEqual(compared(env('1', '2'), spec(other)), {
    changed: [`${inContainer} f:env k:{"name":"B"}`, `${inContainer} f:env k:{"name":"B"} f:name`],
    removed: [variable],
  });
  assert.deepEqual(compared(spec(other), env('1', '2')), {
    changed: [variable],
    removed: [`${inContainer} f:env k:{"name":"B"}`, `${inContainer} f:env k:{"name":"B"} f:name`],
  });
});

test('an atomic list that became empty is removed when it is stored, and changed when it was applied', () => {
  const before = spec({ tolerations: [{ key: 'a' }], containers: [{ name: 'c' }] });
  const after = spec({ tolerations: [], containers: [{ name: 'c' }] });
  assert.deepEqual(compared(before, after), { changed: [], removed: ['f:spec f:tolerations'] });
  assert.deepEqual(compared(before, after, 'changed'), { changed: ['f:spec f:tolerations'], removed: [] });
  assert.deepEqual(compared(after, before, 'changed'), { changed: ['f:spec f:tolerations'], removed: [] });
  assert.deepEqual(compared(spec({}), spec({ containers: [] }), 'changed'), { changed: [], removed: [] });
  assert.deepEqual(compared(spec({}), spec({ tolerations: [] })), { changed: [], removed: [] });
  assert.deepEqual(compared(spec({ tolerations: undefined }), spec({ tolerations: [] }), 'changed'), {
    changed: ['f:spec f:tolerations'],
    removed: [],
  });
});
