import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../../base/random.ts';
import { ObjectList } from './object-list.ts';
import type { CachedObject } from './stored-form.ts';

// The list reads only keys.
const object = {} as CachedObject;

function listOf(keys: readonly string[]): ObjectList {
  const list = new ObjectList();
  for (const key of keys) list.set(key, object);
  return list;
}

const keysIn = (list: ObjectList, prefix: string, afterKey: string): readonly string[] =>
  [...list.range(prefix, afterKey)].map(([key]) => key);

test('counts the objects of a range from any start', () => {
  const random = seededRandom(7);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random.next() * items.length)] as T;
  const prefixes = ['', 'a/', 'ab/', 'b/', 'missing/'];
  const names = ['', 'x', 'y', 'z', 'zz'];
  for (let round = 0; round < 300; round++) {
    const keys = Array.from({ length: 12 }, () => `${pick(['a/', 'ab/', 'b/', 'c/'])}${pick(names)}`);
    const list = listOf(keys);
    const prefix = pick(prefixes);
    const afterKey = random.next() < 0.3 ? '' : `${prefix}${pick(names)}`;
    assert.equal(
      list.countAfter(prefix, afterKey),
      keysIn(list, prefix, afterKey).length,
      `${keys.join()} ${prefix} ${afterKey}`,
    );
  }
});

test('a snapshot keeps its objects in order, and later changes do not affect it', () => {
  const list = listOf(['b/2', 'a/1', 'b/1', 'c/1']);
  const snapshot = list.snapshot('b/');
  list.set('b/3', object);
  list.delete('b/1');
  assert.deepEqual([keysIn(snapshot, '', ''), snapshot.size], [['b/1', 'b/2'], 2]);
  snapshot.delete('b/2');
  snapshot.set('b/0', object);
  assert.deepEqual(snapshot.keys(), ['b/0', 'b/1']);
});
