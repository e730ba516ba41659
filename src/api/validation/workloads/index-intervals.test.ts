import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { countIndexes, firstCommonIndex } from './index-intervals.ts';

test('indexes are counted, or an error says what is invalid', () => {
  const cases: readonly [string, number | string][] = [
    ['', 0],
    ['0', 1],
    ['0,2-4,9', 5],
    [
      '1-2-3',
      'the fragment "1-2-3" violates the requirement that an index interval can have at most two parts separated by \'-\'',
    ],
    ['a', 'cannot convert string to integer for index: "a"'],
    ['1-', 'cannot convert string to integer for index: ""'],
    ['10', 'too large index: "10"'],
    ['3-3', 'non-increasing order, previous: 3, current: 3'],
    ['1,1', 'non-increasing order, previous: 1, current: 1'],
  ];
  assert.deepEqual(
    cases.map(([text]) => countIndexes(text, 10)),
    cases.map(([, expected]) => expected),
  );
});

test('the first common index is that of the sets', () => {
  const indexes = fc.uniqueArray(fc.nat({ max: 30 }));
  const text = (list: readonly number[]): string =>
    [...list]
      .sort((one, other) => one - other)
      .reduce<[number, number][]>((intervals, index) => {
        const last = intervals.at(-1);
        if (last !== undefined && last[1] === index - 1) last[1] = index;
        else intervals.push([index, index]);
        return intervals;
      }, [])
      .map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`))
      .join(',');
  fc.assert(
    fc.property(indexes, indexes, (one, other) => {
      const common = one.filter((index) => other.includes(index));
      assert.equal(firstCommonIndex(text(one), text(other), 31), common.length === 0 ? undefined : Math.min(...common));
      assert.equal(countIndexes(text(one), 31), one.length);
    }),
  );
});
