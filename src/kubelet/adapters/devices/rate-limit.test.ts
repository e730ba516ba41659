import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { createRateLimit } from './rate-limit.ts';

test('a burst passes at once, then as many as the rate allows', async () => {
  const clock = new FakeClock();
  const takes = createRateLimit({ perSecond: 100, burst: 10, clock });
  const passed = (tries: number): number => Array.from({ length: tries }, takes).filter(Boolean).length;
  assert.equal(passed(50), 10);
  await clock.advance(50);
  assert.equal(passed(50), 5);
  await clock.advance(60_000);
  assert.equal(passed(50), 10);
});
