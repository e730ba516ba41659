import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Seats } from './seats.ts';

test('what a request takes is given back once, when its work is done and its answer is out, in either order', () => {
  for (const order of [
    ['workDone', 'answerOut'],
    ['answerOut', 'workDone'],
  ] as const) {
    const seats = new Seats();
    let released = 0;
    seats.take(() => released++);
    seats[order[0]]();
    assert.equal(released, 0);
    seats[order[1]]();
    seats[order[1]]();
    assert.equal(released, 1);
  }
});
