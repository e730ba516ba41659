import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pace } from './turn.ts';

test('work rests when it has gone on for long, and not before', async () => {
  let nowMs = 0;
  const pace = new Pace({ monotonicMs: () => nowMs });
  nowMs = 9;
  assert.equal(pace.rest(), undefined);
  nowMs = 10;
  await pace.rest();
  nowMs = 19;
  assert.equal(pace.rest(), undefined);
  nowMs = 20;
  assert.ok(pace.rest() instanceof Promise);
});
