import assert from 'node:assert/strict';
import { it } from 'node:test';
import { FakeClock } from './testing/fake-clock.ts';
import { sleep } from './clock.ts';
import { createLimiter } from './limiter.ts';

it('the limiter runs a limited number at a time, in order, whatever fails', async () => {
  const clock = new FakeClock();
  const limit = createLimiter(2);
  const log: string[] = [];
  let running = 0;
  let most = 0;
  const work = (name: string) => async (): Promise<void> => {
    most = Math.max(most, ++running);
    await sleep(clock, 10);
    running--;
    log.push(name);
    if (name === 'b') throw new Error('b failed');
  };
  const results = Promise.allSettled(['a', 'b', 'c', 'd', 'e'].map((name) => limit(work(name))));
  await clock.advance(100);
  assert.deepEqual(
    (await results).map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled'],
  );
  assert.deepEqual([log, most], [['a', 'b', 'c', 'd', 'e'], 2]);
});
