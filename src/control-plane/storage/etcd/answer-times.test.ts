import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AnswerTimes } from './answer-times.ts';

test('a call is lost when its member answers nothing for a while', () => {
  const times = new AnswerTimes();
  assert.deepEqual([times.isLost(1000, 1399), times.isLost(1000, 1400)], [false, true]);
});

test('a call to a member that answers others in their order is only slow', () => {
  const times = new AnswerTimes();
  for (let sentMs = 0; sentMs < 1000; sentMs += 10) times.answered(sentMs, sentMs + 3000);
  assert.equal(times.isLost(1000, 4300), false);
  assert.ok(times.silenceMs > 1000, 'what is silence depends on how long calls usually take');
});

test('a call that later ones have overtaken by far is lost, although its member answers', () => {
  const times = new AnswerTimes();
  times.answered(1300, 1310);
  assert.equal(times.isLost(1000, 1320), false);
  times.answered(1400, 1410);
  assert.equal(times.isLost(1000, 1420), true);
});
