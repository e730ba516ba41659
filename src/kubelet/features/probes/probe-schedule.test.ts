import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { ProbeSchedule } from './probe-schedule.ts';

test('scheduled calls run in order of their time, and cancelled ones never', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ dueMs: fc.integer({ min: 0, max: 50 }), cancelled: fc.boolean() }), { maxLength: 80 }),
      async (plans) => {
        const clock = new FakeClock();
        const schedule = new ProbeSchedule(clock);
        const fired: { dueMs: number; atMs: number }[] = [];
        for (const { dueMs, cancelled } of plans) {
          const appointment = schedule.at(dueMs, () => fired.push({ dueMs, atMs: clock.monotonicMs() }));
          if (cancelled) appointment.cancel();
        }
        await clock.advance(60);
        const expected = plans
          .filter((plan) => !plan.cancelled)
          .map((plan) => plan.dueMs)
          .sort((left, right) => left - right);
        assert.deepEqual(
          fired.map((each) => each.dueMs),
          expected,
        );
        assert.ok(fired.every((each) => each.atMs === each.dueMs));
      },
    ),
    { numRuns: 30 },
  );
});

test('a thousand scheduled calls need one timer', () => {
  const clock = new FakeClock();
  const schedule = new ProbeSchedule(clock);
  for (let index = 0; index < 1000; index++) schedule.at(1000 - index, () => undefined);
  assert.equal(clock.armedTimers, 1);
  schedule.clear();
  assert.equal(clock.armedTimers, 0);
});
