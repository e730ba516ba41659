import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { SortedList } from './sorted-list.ts';

it('holds what a sorted set holds, after any additions and deletions', () =>
  fc.assert(
    fc.property(fc.array(fc.record({ adds: fc.boolean(), value: fc.nat(20) })), (steps) => {
      const list = new SortedList<number>((left, right) => left - right);
      const expected = new Set<number>();
      for (const { adds, value } of steps) {
        if (adds) list.add(value);
        else list.delete(value);
        if (adds) expected.add(value);
        else expected.delete(value);
        const sorted = [...expected].sort((left, right) => left - right);
        assert.deepEqual(list.take(100), sorted);
        assert.deepEqual(
          [list.size, list.first, list.last, list.at(1), list.take(2)],
          [sorted.length, sorted[0], sorted.at(-1), sorted[1], sorted.slice(0, 2)],
        );
      }
    }),
  ));

it('an equal value replaces the earlier one', () => {
  const list = new SortedList<{ key: number; text: string }>((left, right) => left.key - right.key);
  for (const text of ['a', 'b']) list.add({ key: 1, text });
  assert.deepEqual(list.take(2), [{ key: 1, text: 'b' }]);
});
