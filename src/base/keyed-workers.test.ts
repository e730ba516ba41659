import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { sleep } from './clock.ts';
import { KeyedWorkers } from './keyed-workers.ts';
import { FakeClock } from './testing/fake-clock.ts';

function harness(run: (key: string, items: readonly number[]) => Promise<void>) {
  const errors: string[] = [];
  const workers = new KeyedWorkers<string, readonly number[]>({
    run,
    fold: (pending, next) => [...pending, ...next],
    onError: (key, error) => errors.push(`${key}: ${String(error)}`),
  });
  return { workers, errors };
}

describe('keyed workers', () => {
  it('run the first item at once, and merge the items that arrive during the run', async () => {
    const clock = new FakeClock();
    const runs: (readonly number[])[] = [];
    const { workers } = harness(async (_key, items) => {
      runs.push(items);
      await sleep(clock, 10);
    });
    for (let i = 1; i <= 4; i++) workers.submit('a', [i]);
    assert.deepEqual(runs, [[1]]);
    await clock.advance(100);
    assert.deepEqual(runs, [[1], [2, 3, 4]]);
    assert.deepEqual([workers.isBusy('a'), workers.busyCount], [false, 0]);
  });

  it('take an item that the run itself submits', async () => {
    const seen: number[] = [];
    const { workers } = harness(async (key, [item = 0]) => {
      seen.push(item);
      if (item < 3) workers.submit(key, [item + 1]);
    });
    workers.submit('a', [1]);
    await workers.whenIdle();
    assert.deepEqual(seen, [1, 2, 3]);
  });

  it('continue after a run that throws, and after an error handler that throws', async () => {
    const seen: number[] = [];
    const workers = new KeyedWorkers<string, number>({
      run: async (_key, item) => {
        seen.push(item);
        throw new Error('boom');
      },
      fold: (_pending, next) => next,
      onError: () => {
        throw new Error('worse');
      },
    });
    workers.submit('a', 1);
    workers.submit('a', 2);
    await workers.whenIdle();
    assert.deepEqual([seen, workers.busyCount], [[1, 2], 0]);
  });

  it('never run a key twice at once, lose no item, keep their order, and hold nothing when idle', async () => {
    const step = fc.record({
      key: fc.constantFrom('a', 'b', 'c'),
      waitMs: fc.integer({ min: 0, max: 5 }),
      runMs: fc.integer({ min: 0, max: 7 }),
      fails: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const clock = new FakeClock();
        const seen: Record<string, number[]> = {};
        const active = new Set<string>();
        const { workers } = harness(async (key, items) => {
          assert.equal(active.has(key), false);
          active.add(key);
          (seen[key] ??= []).push(...items);
          const { runMs = 0, fails = false } = steps[items[0] ?? 0] ?? {};
          await sleep(clock, runMs);
          active.delete(key);
          if (fails) throw new Error('scripted');
        });
        for (const [index, { key, waitMs }] of steps.entries()) {
          workers.submit(key, [index]);
          await clock.advance(waitMs);
        }
        await clock.advance(1000);
        const expected: Record<string, number[]> = {};
        for (const [index, { key }] of steps.entries()) (expected[key] ??= []).push(index);
        assert.deepEqual([seen, workers.busyCount], [expected, 0]);
        await workers.whenIdle();
      }),
      { numRuns: 50 },
    );
  });
});
