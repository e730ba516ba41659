import assert from 'node:assert/strict';
import { it } from 'node:test';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { recordingLog } from '../../base/testing/recording-log.ts';
import type { RecordingLog } from '../../base/testing/recording-log.ts';
import { forbidden, staleObject } from '../../api/status/api-status-error.ts';
import { RateLimitingQueue } from './rate-limiting-queue.ts';

function setUp(
  workers: number,
  sync: (key: string, clock: FakeClock) => Promise<number | undefined | void>,
): { clock: FakeClock; queue: RateLimitingQueue; runs: string[]; log: RecordingLog } {
  const clock = new FakeClock();
  const log = recordingLog();
  const runs: string[] = [];
  const queue = new RateLimitingQueue({
    name: 'test',
    clock,
    log,
    workers,
    sync: async (key) => {
      runs.push(`${key}@${clock.monotonicMs()}`);
      return await sync(key, clock);
    },
  });
  return { clock, queue, runs, log };
}

it('works on each key once however often it was added, in order, and again when it was added meanwhile', async () => {
  const open: (() => void)[] = [];
  const { clock, queue, runs } = setUp(1, () => new Promise<void>((resolve) => open.push(resolve)));
  for (const key of ['a', 'b', 'a']) queue.add(key);
  assert.deepEqual(runs, []);
  queue.start();
  await clock.settle();
  queue.add('a');
  queue.add('a');
  for (let index = 0; index < 4; index++) {
    open.shift()?.();
    await clock.settle();
  }
  assert.deepEqual(runs, ['a@0', 'b@0', 'a@0']);
});

it('never works on more keys at a time than it has workers, nor on one key twice', async () => {
  let running = 0;
  let most = 0;
  const { clock, queue, runs } = setUp(3, async () => {
    most = Math.max(most, ++running);
    await new Promise<void>((resolve) => clock.setTimer(10, resolve));
    running--;
  });
  queue.start();
  for (let index = 0; index < 9; index++) queue.add(`k${index}`);
  await clock.advance(100);
  assert.deepEqual([most, runs.length, runs.at(-1)], [3, 9, 'k8@20']);
});

it('retries after 5 ms, doubling to 1000 s, and starts again after a success', async () => {
  let failing = true;
  const { clock, queue, runs, log } = setUp(1, async () => {
    if (failing) throw new Error('broken');
  });
  queue.start();
  queue.add('a');
  await clock.advance(5 * (2 ** 12 - 1));
  assert.deepEqual(runs.slice(0, 5), ['a@0', 'a@5', 'a@15', 'a@35', 'a@75']);
  assert.equal(runs.length, 13);
  await clock.advance(10_000_000);
  const at = runs.map((run) => Number(run.slice(2)));
  assert.equal((at.at(-1) ?? 0) - (at.at(-2) ?? 0), 1_000_000);
  failing = false;
  await clock.advance(1_000_000);
  assert.equal(queue.failures('a'), 0);
  assert.equal(log.lines[0]?.level, 'error');
});

it('being overtaken is no error in the log', async () => {
  let left = 1;
  const { clock, queue, log } = setUp(1, async () => {
    if (left-- > 0) throw staleObject({ group: '', plural: 'pods' }, 'a');
  });
  queue.start();
  queue.add('a');
  await clock.advance(100);
  assert.deepEqual(
    log.lines.map(({ level }) => level),
    ['debug'],
  );
});

it('failures of many keys share ten tries a second after a burst of a hundred', async () => {
  const { clock, queue, runs } = setUp(200, async () => {
    throw new Error('broken');
  });
  queue.start();
  for (let index = 0; index < 150; index++) queue.add(`k${index}`);
  await clock.advance(4);
  assert.equal(runs.length, 150);
  await clock.advance(2);
  assert.equal(runs.length, 250);
  await clock.advance(994);
  assert.ok(runs.length <= 262, `${runs.length} runs`);
});

it('a key waits for the earliest of its times, and one timer serves them all', async () => {
  const { clock, queue, runs } = setUp(1, async (key) => (key === 'again' ? 1_000 : undefined));
  queue.start();
  queue.addAfter('a', 500);
  queue.addAfter('a', 900);
  queue.addAfter('b', 700);
  queue.addAfter('b', 300);
  assert.ok(clock.armedTimers <= 1);
  queue.add('again');
  await clock.advance(2_100);
  assert.deepEqual(runs, ['again@0', 'b@300', 'a@500', 'again@1000', 'again@2000']);
  await queue.stop();
  assert.equal(clock.armedTimers, 0);
});

it('after its stop nothing is begun; what was begun is waited for', async () => {
  let release: (() => void) | undefined;
  const { clock, queue, runs } = setUp(1, () => new Promise<void>((resolve) => (release = resolve)));
  queue.start();
  queue.add('a');
  queue.add('b');
  await clock.settle();
  let stopped = false;
  void queue.stop().then(() => (stopped = true));
  await clock.settle();
  assert.equal(stopped, false);
  release?.();
  await clock.settle();
  queue.add('c');
  await clock.advance(1_000);
  assert.deepEqual([stopped, runs], [true, ['a@0']]);
});

it('a pass that always wants another at once lets everything else run, too', async () => {
  const { clock, queue, runs } = setUp(1, async () => 0);
  queue.start();
  queue.add('a');
  await clock.advance(10);
  assert.equal(runs.length, 11);
  await queue.stop();
});

it('a lasting refusal is logged', async () => {
  const { clock, queue, log } = setUp(1, async () => {
    throw forbidden({ group: '', plural: 'pods' }, 'a', 'no right');
  });
  queue.start();
  queue.add('a');
  await clock.advance(12_000);
  assert.deepEqual(
    [log.lines.length, log.lines.slice(0, 10).map(({ level }) => level), log.lines.at(-1)?.level],
    [12, Array.from({ length: 10 }, () => 'debug'), 'warn'],
  );
});

it('folds what is added while a key rests into one pass at the end of the rest, and lets others go on', async () => {
  const clock = new FakeClock();
  const runs: string[] = [];
  const queue = new RateLimitingQueue({
    name: 'test',
    clock,
    log: recordingLog(),
    workers: 2,
    sync: (key) => Promise.resolve(void runs.push(`${key}@${clock.monotonicMs()}`)),
    restMs: (key) => (key === 'large' ? 500 : 0),
  });
  queue.start();
  for (let ms = 0; ms < 1_200; ms += 10) {
    queue.add('large');
    if (ms % 400 === 0) queue.add('small');
    await clock.advance(10);
  }
  assert.deepEqual(runs, ['large@0', 'small@0', 'small@400', 'large@500', 'small@800', 'large@1000']);
  await clock.advance(10_000);
  assert.deepEqual(runs.slice(6), ['large@1500']);
  await queue.stop();
  assert.equal(clock.armedTimers, 0);
});

it('what is added during a pass waits for the rest after it', async () => {
  const clock = new FakeClock();
  const runs: number[] = [];
  const queue: RateLimitingQueue = new RateLimitingQueue({
    name: 'test',
    clock,
    log: recordingLog(),
    workers: 1,
    sync: (key) => {
      runs.push(clock.monotonicMs());
      if (runs.length === 1) queue.add(key);
      return Promise.resolve();
    },
    restMs: () => 300,
  });
  queue.add('a');
  queue.start();
  await clock.advance(1_000);
  assert.deepEqual(runs, [0, 300]);
  await queue.stop();
});
