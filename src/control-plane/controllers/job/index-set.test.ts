import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { IndexSet } from './index-set.ts';

it('formats two adjacent indexes separately, and more as a range', () => {
  assert.deepEqual(
    [[], [3], [1, 2], [1, 2, 3, 5, 7, 8]].map((indexes) => IndexSet.of(indexes).toString()),
    ['', '3', '1,2', '1-3,5,7,8'],
  );
});

it('parses its own format, and ignores invalid numbers and those not below the completions', () => {
  assert.equal(IndexSet.parse('0-2,x,4,,9-20', 11).toString(), '0-2,4,9,10');
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.nat(40)),
      (indexes) => IndexSet.parse(IndexSet.of(indexes).toString(), 41).toString() === IndexSet.of(indexes).toString(),
    ),
  );
});

it('counts, joins and compares like sets', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(30)), fc.uniqueArray(fc.nat(30)), fc.nat(30), (some, others, count) => {
      const [left, right] = [IndexSet.of(some), IndexSet.of(others)];
      const union = new Set([...some, ...others]);
      assert.deepEqual(
        [left.total, left.union(right).total, left.overlap(right)],
        [some.length, union.size, some.filter((each) => others.includes(each)).length],
      );
      assert.deepEqual(
        left.union(right).firstMissing(count, 25),
        Array.from({ length: 25 }, (_, index) => index)
          .filter((index) => !union.has(index))
          .slice(0, count),
      );
      for (let index = 0; index < 31; index++) assert.equal(left.has(index), some.includes(index));
    }),
  );
});

it('adding one index gives the same set as building it from all', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(12), fc.boolean())), (steps) => {
      const model = new Set<number>();
      let set = IndexSet.empty;
      for (const [index, added] of steps) {
        set = added ? set.with(index) : set.without(index);
        if (added) model.add(index);
        else model.delete(index);
        assert.equal(set.toString(), IndexSet.of(model).toString());
        for (let each = 0; each <= 13; each++) assert.equal(set.has(each), model.has(each));
      }
    }),
  );
});
