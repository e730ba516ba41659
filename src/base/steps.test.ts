import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runAtPace, runThrough } from './steps.ts';
import type { Steps } from './steps.ts';

function* sum(numbers: readonly number[], taken: number[] = []): Steps<number> {
  let total = 0;
  for (const number of numbers) {
    taken.push(number);
    total += number;
    yield;
  }
  return total;
}

describe('steps', () => {
  it('a computation in steps has one result, at once or with rests', async () => {
    assert.equal(runThrough(sum([1, 2, 3])), 6);
    assert.equal(await runAtPace(sum([1, 2, 3]), () => undefined), 6);
  });

  it('the next step is not taken before the rest is over', async () => {
    const taken: number[] = [];
    const rests: (() => void)[] = [];
    const result = runAtPace(sum([1, 2], taken), () => new Promise((resolve) => rests.push(resolve)));
    assert.deepEqual(taken, [1]);
    rests[0]?.();
    await new Promise(setImmediate);
    assert.deepEqual(taken, [1, 2]);
    rests[1]?.();
    assert.equal(await result, 3);
  });

  it('an error in a step ends the computation', async () => {
    function* broken(): Steps<number> {
      yield;
      throw new Error('no');
    }
    assert.throws(() => runThrough(broken()), /no/);
    await assert.rejects(
      runAtPace(broken(), () => undefined),
      /no/,
    );
  });
});
