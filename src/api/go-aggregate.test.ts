import assert from 'node:assert/strict';
import { test } from 'node:test';
import { goAggregate } from './go-aggregate.ts';

test('one error is printed alone, several in brackets, equal ones once', () => {
  assert.deepEqual(
    [goAggregate([]), goAggregate(['a']), goAggregate(['a', 'a']), goAggregate(['b', 'a', 'b'])],
    ['', 'a', 'a', '[b, a]'],
  );
});
