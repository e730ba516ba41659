import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isApiError } from '../api/status/api-status-error.ts';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { RequestBudget } from './request-budget.ts';

const budgetOf = (
  clock: FakeClock,
  given: Partial<{ qps: number; burst: number; waitingLimit: number }> = {},
): RequestBudget => new RequestBudget({ clock, qps: 10, burst: 2, waitingLimit: 100, ...given });

test('a burst goes at once, the rest at the rate, and a pause saves up no more than a burst', async () => {
  const clock = new FakeClock();
  const gate = budgetOf(clock).gate(0);
  const wentMs: number[] = [];
  const ask = (): void => void gate.admit().then(() => wentMs.push(clock.monotonicMs()));
  for (let each = 0; each < 5; each += 1) ask();
  await clock.advance(10_000);
  assert.deepEqual(wentMs.splice(0), [0, 0, 100, 200, 300]);
  for (let each = 0; each < 4; each += 1) ask();
  await clock.advance(1_000);
  assert.deepEqual([wentMs, clock.armedTimers], [[10_000, 10_000, 10_100, 10_200], 0]);
});

test('the wait is reported; a lower rank overtakes higher ones, and no request overtakes its own rank', async () => {
  const clock = new FakeClock();
  const budget = budgetOf(clock, { burst: 1 });
  const [status, objects] = [budget.gate(0), budget.gate(1)];
  const went: string[] = [];
  const ask = (name: string, gate: typeof status): void =>
    void gate.admit().then((waitedMs) => went.push(`${name} ${waitedMs}`));
  for (const name of ['a', 'b', 'c']) ask(name, objects);
  await clock.advance(50);
  ask('s', status);
  await clock.advance(1_000);
  assert.deepEqual(went, ['a 0', 's 50', 'b 200', 'c 300']);
});

test('an aborted caller leaves the queue; a caller is refused if too many wait', async () => {
  const clock = new FakeClock();
  const gate = budgetOf(clock, { burst: 1, waitingLimit: 1 }).gate(3);
  await gate.admit();
  const controller = new AbortController();
  const waiting = assert.rejects(gate.admit(controller.signal), (error) => error === controller.signal.reason);
  await assert.rejects(gate.admit(), (error) => isApiError(error, 'TooManyRequests'));
  controller.abort();
  await waiting;
  await assert.rejects(gate.admit(controller.signal), (error) => error === controller.signal.reason);
  const next = gate.admit();
  await clock.advance(100);
  assert.equal(await next, 100);
});

test('no period admits more requests than burst and rate allow, and every request is admitted in the end', () =>
  fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 50 }),
      fc.integer({ min: 1, max: 20 }),
      fc.array(fc.record({ pauseMs: fc.integer({ min: 0, max: 300 }), rank: fc.integer({ min: 0, max: 2 }) }), {
        maxLength: 40,
      }),
      async (qps, burst, asked) => {
        const clock = new FakeClock();
        const budget = budgetOf(clock, { qps, burst });
        const wentMs: number[] = [];
        for (const { pauseMs, rank } of asked) {
          await clock.advance(pauseMs);
          void budget
            .gate(rank)
            .admit()
            .then(() => wentMs.push(clock.monotonicMs()));
        }
        await clock.advance(100_000);
        assert.equal(wentMs.length, asked.length);
        for (const [first, fromMs] of wentMs.entries()) {
          for (const [offset, toMs] of wentMs.slice(first).entries())
            assert.ok(
              offset + 1 <= burst + ((toMs - fromMs) * qps) / 1000 + 1e-6,
              `${offset + 1} in ${toMs - fromMs} ms`,
            );
        }
      },
    ),
    { numRuns: 100 },
  ));
