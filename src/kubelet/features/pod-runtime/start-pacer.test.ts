import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { computeSlotLimit } from './compute-slot-limit.ts';
import type { PaceClaim, PaceSlot } from './start-pacer.ts';
import { StartPacer, track } from './start-pacer.ts';

const bounds = { min: 2, max: 16 };
const quiet = new AbortController().signal;
const claim = (more: Partial<PaceClaim> = {}): PaceClaim => ({
  critical: false,
  priority: 0,
  leaseMs: 60_000,
  ...more,
});

describe('the number of slots', () => {
  const rows: [
    string,
    number,
    [concurrency: number, medianMs: number],
    [concurrency: number, medianMs: number] | undefined,
  ][] = [
    ['is tried one wider first', 5, [4, 100], undefined],
    ['goes on when latency grew less than concurrency', 10, [8, 110], [4, 100]],
    ['stays narrow when latency grew just as much, as the queue is the better place to wait', 4, [8, 200], [4, 100]],
    ['goes back when latency grew more', 4, [8, 300], [4, 100]],
    ['narrows further while that helps more than it costs', 3, [4, 100], [8, 300]],
    ['widens again when narrowing gained too little', 5, [4, 190], [8, 200]],
    ['narrows under sudden load', 4, [6, 200], [6, 100]],
    ['holds when nothing changed', 6, [6, 105], [6, 100]],
    ['keeps to its lower bound', 2, [2, 900], [2, 100]],
    ['keeps to its upper bound', 16, [16, 100], [12, 100]],
  ];
  for (const [name, expected, current, previous] of rows) {
    const window = ([concurrency, medianMs]: [number, number]): { concurrency: number; medianMs: number } => ({
      concurrency,
      medianMs,
    });
    test(name, () =>
      assert.equal(
        computeSlotLimit(window(current), previous === undefined ? undefined : window(previous), bounds),
        expected,
      ),
    );
  }
});

describe('the start pacer', () => {
  const setUp = (): { clock: FakeClock; pacer: StartPacer } => {
    const clock = new FakeClock();
    return { clock, pacer: new StartPacer({ clock, cores: 2 }) };
  };
  const fill = (pacer: StartPacer): Promise<PaceSlot[]> =>
    Promise.all(Array.from({ length: pacer.limit }, () => pacer.acquire(claim(), quiet)));

  test('lets twice the cores start side by side, at least four', async () => {
    const { clock, pacer } = setUp();
    await fill(pacer);
    void pacer.acquire(claim(), quiet);
    await clock.settle();
    assert.deepEqual([pacer.limit, pacer.held, pacer.waiting], [4, 4, 1]);
    assert.equal(new StartPacer({ clock, cores: 8 }).limit, 16);
  });

  test('serves critical pods first, then by priority, then in order of arrival', async () => {
    const { clock, pacer } = setUp();
    const slots = await fill(pacer);
    const served: string[] = [];
    const ask = (name: string, more: Partial<PaceClaim>): void =>
      void pacer.acquire(claim(more), quiet).then(() => served.push(name));
    ask('first', {});
    ask('second', {});
    ask('high', { priority: 10 });
    ask('critical', { critical: true });
    for (const slot of slots) slot.release();
    await clock.settle();
    assert.deepEqual(served, ['critical', 'high', 'first', 'second']);
  });

  test('a release counts once', async () => {
    const { pacer } = setUp();
    const [slot] = await fill(pacer);
    slot?.release();
    slot?.release();
    assert.equal(pacer.held, 3);
  });

  test('holds no slot while its holder waits, and queues for one afterwards', async () => {
    const { clock, pacer } = setUp();
    const [slot] = await fill(pacer);
    const pull = Promise.withResolvers<string>();
    const pulled = slot?.yieldWhile(track(pull.promise));
    assert.equal(pacer.held, 3);
    const other = await pacer.acquire(claim(), quiet);
    pull.resolve('image');
    await clock.settle();
    assert.equal(pacer.waiting, 1);
    other.release();
    assert.deepEqual([await pulled, pacer.held], ['image', 4]);
  });

  test('keeps the slot if the work is already done', async () => {
    const { clock, pacer } = setUp();
    const [slot] = await fill(pacer);
    const done = track(Promise.resolve(1));
    await clock.settle();
    void pacer.acquire(claim(), quiet);
    assert.deepEqual([await slot?.yieldWhile(done), pacer.held, pacer.waiting], [1, 4, 1]);
  });

  test('takes a slot back from work that hangs', async () => {
    const { clock, pacer } = setUp();
    for (let index = 0; index < 4; index++) await pacer.acquire(claim({ leaseMs: 5000 }), quiet);
    const next = pacer.acquire(claim(), quiet);
    await clock.advance(5000);
    (await next).release();
    assert.equal(pacer.held, 0);
  });

  test('an abort leaves the queue and holds nothing', async () => {
    const { pacer } = setUp();
    const slots = await fill(pacer);
    const controller = new AbortController();
    const waiting = pacer.acquire(claim(), controller.signal);
    controller.abort();
    await assert.rejects(waiting, { kind: 'Aborted' });
    for (const slot of slots) slot.release();
    assert.deepEqual([pacer.held, pacer.waiting], [0, 0]);
  });

  test('when released while yielding, it keeps no slot', async () => {
    const { clock, pacer } = setUp();
    const slot = await pacer.acquire(claim(), quiet);
    const pull = Promise.withResolvers<void>();
    const pulled = slot.yieldWhile(track(pull.promise));
    slot.release();
    pull.resolve();
    await pulled;
    await clock.settle();
    assert.equal(pacer.held, 0);
  });
});
