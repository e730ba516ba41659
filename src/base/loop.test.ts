import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sleep } from './clock.ts';
import type { LoopOptions } from './loop.ts';
import { createLoop } from './loop.ts';
import { seededRandom } from './random.ts';
import { FakeClock } from './testing/fake-clock.ts';
import { recordingLog } from './testing/recording-log.ts';

function harness(options: Partial<LoopOptions> & { passMs?: number } = {}) {
  const clock = new FakeClock();
  const log = recordingLog();
  const startedAtMs: number[] = [];
  const pass = async (): Promise<void> => {
    startedAtMs.push(clock.monotonicMs());
    if (options.passMs !== undefined) await sleep(clock, options.passMs);
  };
  const loop = createLoop({ name: 'test', clock, random: seededRandom(1), log, periodMs: 1000, pass, ...options });
  return { clock, log, loop, startedAtMs };
}

describe('loop', () => {
  it('starts nothing until it is started, and pauses between the end of a pass and the next', async () => {
    const { clock, loop, startedAtMs } = harness({ passMs: 200 });
    loop.wake();
    await clock.advance(5000);
    assert.deepEqual(startedAtMs, []);
    loop.start();
    loop.start();
    await clock.advance(2500);
    assert.deepEqual(startedAtMs, [5000, 6200, 7400]);
  });

  it('runs at once when woken, and counts the pause from there', async () => {
    const { clock, loop, startedAtMs } = harness();
    loop.start();
    await clock.advance(300);
    loop.wake();
    await clock.advance(1000);
    assert.deepEqual(startedAtMs, [0, 300, 1300]);
  });

  it('runs exactly once more for any number of wakes during a pass', async () => {
    const { clock, loop, startedAtMs } = harness({ passMs: 100 });
    loop.start();
    for (let i = 0; i < 5; i++) loop.wake();
    await clock.advance(900);
    assert.deepEqual(startedAtMs, [0, 100]);
  });

  it('stretches the pause by chance within its bounds', async () => {
    const { clock, loop, startedAtMs } = harness({ jitterFactor: 0.5 });
    loop.start();
    await clock.advance(200_000);
    const pauses = startedAtMs.slice(1).map((atMs, index) => atMs - (startedAtMs[index] ?? 0));
    assert.ok(pauses.every((pause) => pause >= 1000 && pause < 1500));
    assert.ok(Math.max(...pauses) - Math.min(...pauses) > 300, 'the pauses differ');
  });

  it('continues after a pass that throws, and does not count it as a success', async () => {
    let passes = 0;
    const { clock, loop, log } = harness({
      pass: () => {
        passes++;
        if (passes !== 2) throw new Error('boom');
      },
    });
    loop.start();
    await clock.advance(2000);
    assert.deepEqual(
      [passes, loop.lastSuccessMs(), log.lines.map((line) => line.fields['error'])],
      [3, 1000, ['boom', 'boom']],
    );
  });

  it('continues when computing the period fails', async () => {
    let asked = 0;
    const { clock, loop, log, startedAtMs } = harness({
      periodMs: () => {
        asked++;
        if (asked === 1) throw new Error('no period');
        return 1000;
      },
    });
    loop.start();
    await clock.advance(100_000);
    assert.ok(startedAtMs.length > 5);
    assert.deepEqual(
      log.lines.map((line) => line.fields['error']),
      ['no period'],
    );
  });

  it('stops permanently when the running pass has ended, whatever wakes it', async () => {
    const { clock, loop, startedAtMs } = harness({ passMs: 100 });
    loop.start();
    let stopped = false;
    const stopping = loop.stop().then(() => (stopped = true));
    loop.wake();
    await clock.advance(99);
    assert.equal(stopped, false);
    await clock.advance(10_000);
    await stopping;
    loop.start();
    loop.wake();
    await clock.advance(10_000);
    assert.deepEqual([startedAtMs, clock.armedTimers], [[0], 0]);
  });
});
