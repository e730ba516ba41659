import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FakeClock } from '../../../../base/testing/fake-clock.ts';
import { containerId } from '../../../model/ids.ts';
import type { ContainerRuntimeStatus } from '../../../model/runtime-status.ts';
import { CrashBackoff, crashBackoffConfig, crashKey, deriveCrashDelayMs } from './crash-backoff.ts';
import { aContainer, aPod, aRun, aStatus } from '../testing/builders.ts';

const pod = aPod();
const app = pod.spec.containers[0] ?? aContainer('app');

function setUp(config = crashBackoffConfig()): {
  clock: FakeClock;
  backoff: CrashBackoff;
  crash: () => ContainerRuntimeStatus;
} {
  const clock = new FakeClock();
  let attempt = 0;
  return {
    clock,
    backoff: new CrashBackoff(clock, config),
    crash: () => aRun('app', 1, { id: containerId(`app-${attempt}`), attempt: attempt++, finishedAtMs: clock.nowMs() }),
  };
}

/** Returns the delays of a container that crashes at once after each start. */
async function delays(config: ReturnType<typeof crashBackoffConfig>, crashes: number): Promise<number[]> {
  const { clock, backoff, crash } = setUp(config);
  const met: number[] = [];
  for (let index = 0; index < crashes; index++) {
    const exited = crash();
    const wait = backoff.wait(pod, app, exited)?.waitMs ?? 0;
    met.push(wait / 1000);
    await clock.advance(wait);
    assert.equal(backoff.wait(pod, app, exited), undefined);
    backoff.noteStart(pod, app, exited);
  }
  return met;
}

describe('the crash back-off', () => {
  test('is none for the first crash, then 10 s doubling to 300 s', async () => {
    assert.deepEqual(await delays(crashBackoffConfig(), 9), [0, 10, 20, 40, 80, 160, 300, 300, 300]);
  });

  test('grows from 1 s, and without a configured cap to 60 s, with ReduceDefaultCrashLoopBackOffDecay', async () => {
    assert.deepEqual(await delays(crashBackoffConfig(undefined, true), 9), [0, 1, 2, 4, 8, 16, 32, 60, 60]);
    assert.equal(crashBackoffConfig(300_000, true).maxMs, 300_000);
  });

  test('follows a lower cap of the node, also below its start', async () => {
    assert.deepEqual(await delays(crashBackoffConfig(60_000), 6), [0, 10, 20, 40, 60, 60]);
    assert.deepEqual(await delays(crashBackoffConfig(2_000), 4), [0, 2, 2, 2]);
  });

  test('starts over after a run of more than 600 s, not after one of exactly 600 s', async () => {
    for (const [ranMs, expected] of [
      [600_000, 20_000],
      [600_001, undefined],
    ] as const) {
      const { clock, backoff, crash } = setUp();
      for (let index = 0; index < 2; index++) backoff.noteStart(pod, app, crash());
      await clock.advance(ranMs);
      assert.equal(backoff.wait(pod, app, crash())?.waitMs, expected);
    }
  });

  test('is counted from the end of the run, not from when it was seen', async () => {
    const { clock, backoff, crash } = setUp();
    backoff.noteStart(pod, app, crash());
    const exited = crash();
    await clock.advance(4000);
    assert.deepEqual(backoff.wait(pod, app, exited), { waitMs: 6000, delayMs: 10_000 });
  });

  test('is neither stretched nor skipped by a stepped wall clock', async () => {
    for (const stepMs of [-3_600_000, 3_600_000]) {
      const { clock, backoff, crash } = setUp();
      backoff.noteStart(pod, app, crash());
      const exited = crash();
      assert.equal(backoff.wait(pod, app, exited)?.waitMs, 10_000);
      clock.stepWall(stepMs);
      await clock.advance(3000);
      assert.equal(backoff.wait(pod, app, exited)?.waitMs, 7000, `after a step of ${stepMs}`);
    }
  });

  test('waits at most its delay when the runtime reports an end in the future', async () => {
    const { clock, backoff, crash } = setUp();
    backoff.noteStart(pod, app, crash());
    const exited = crash();
    clock.stepWall(-3_600_000);
    assert.equal(backoff.wait(pod, app, exited)?.waitMs, 10_000);
    await clock.advance(10_000);
    assert.equal(backoff.wait(pod, app, exited), undefined);
  });

  test('starts over for another image or other resources, not for another order of them', () => {
    const limited = (limits: Record<string, string>): string =>
      crashKey(pod, aContainer('app', { resources: { limits } }));
    assert.notEqual(crashKey(pod, app), crashKey(pod, aContainer('app', { image: 'app:2' })));
    assert.notEqual(limited({ cpu: '1' }), limited({ cpu: '2' }));
    assert.equal(limited({ cpu: '1', memory: '1Gi' }), limited({ memory: '1Gi', cpu: '1' }));
  });

  test('counts a reset of the whole pod once, and does not delay the run that requested it', () => {
    const { backoff, crash } = setUp();
    const first = crash();
    backoff.noteReset(pod, app, first);
    backoff.noteReset(pod, app, first);
    assert.equal(backoff.wait(pod, app, first), undefined);
    assert.equal(backoff.wait(pod, app, crash())?.delayMs, 10_000);
  });

  test('can be reset for an unknown pod', () => {
    const { backoff, crash } = setUp();
    backoff.reset(pod, app);
    assert.equal(backoff.wait(pod, app, crash()), undefined);
  });

  test('keeps the times of only the newest of a thousand runs', () => {
    const { clock, backoff, crash } = setUp();
    backoff.noteStart(pod, app, crash());
    const oldest = crash();
    backoff.wait(pod, app, oldest);
    const newest = Array.from({ length: 32 }, () => crash());
    for (const run of newest.slice(0, 30)) backoff.wait(pod, app, run);
    // A step of the wall clock changes only the times that are not kept.
    clock.stepWall(5000);
    assert.equal(backoff.wait(pod, app, oldest)?.waitMs, 10_000);
    for (const run of newest) backoff.wait(pod, app, run);
    assert.equal(backoff.wait(pod, app, oldest)?.waitMs, 5000);
  });

  test('can be reset for one container, and is forgotten with its pod', () => {
    const { backoff, crash } = setUp();
    backoff.noteStart(pod, app, crash());
    backoff.reset(pod, app);
    assert.equal(backoff.wait(pod, app, crash()), undefined);
    backoff.noteStart(pod, app, crash());
    backoff.forgetPod(pod.metadata.uid);
    assert.equal(backoff.wait(pod, app, crash()), undefined);
  });
});

describe('a restarted agent', () => {
  const config = crashBackoffConfig();
  test('derives the delay from the pause before the newest run', () => {
    const runs = (pauseMs: number): ContainerRuntimeStatus[] => [
      aRun('app', 1, { attempt: 20, createdAtMs: 100_000 + pauseMs }),
      aRun('app', 1, { attempt: 19, finishedAtMs: 100_000 }),
    ];
    assert.deepEqual(
      [500, 10_100, 20_100, 40_100, 299_000].map((pauseMs) => deriveCrashDelayMs(runs(pauseMs), config)),
      [10_000, 20_000, 40_000, 80_000, 300_000],
    );
  });

  test('derives it from the number of attempts when the run before is gone or the pause is invalid', () => {
    assert.deepEqual(
      [0, 1, 2, 5, 50].map((attempt) => deriveCrashDelayMs([aRun('app', 1, { attempt })], config)),
      [undefined, 10_000, 20_000, 160_000, 300_000],
    );
    assert.equal(
      deriveCrashDelayMs(
        [aRun('app', 1, { attempt: 2, createdAtMs: 9_000_000 }), aRun('app', 1, { attempt: 1, finishedAtMs: 1000 })],
        config,
      ),
      20_000,
    );
  });

  test('has no delay for a container that never ran or ran once', () => {
    assert.equal(deriveCrashDelayMs([], config), undefined);
    assert.equal(deriveCrashDelayMs([aRun('app', 1)], config), undefined);
  });

  test('derives it from the attempts when the run before did not end, or ended after the newest was created', () => {
    const newest = aRun('app', 1, { attempt: 3, createdAtMs: 100_000 });
    const before = (finishedAtMs: number): ContainerRuntimeStatus => aRun('app', 1, { attempt: 2, finishedAtMs });
    assert.equal(deriveCrashDelayMs([{ ...newest, createdAtMs: 500 }, before(0)], config), 40_000);
    assert.equal(deriveCrashDelayMs([newest, before(100_001)], config), 40_000);
    assert.equal(deriveCrashDelayMs([newest, before(100_000)], config), 10_000);
  });

  test('doubles the exact pause, up to the cap', () => {
    const runs = (pauseMs: number): ContainerRuntimeStatus[] => [
      aRun('app', 1, { attempt: 20, createdAtMs: 1_000_000 }),
      aRun('app', 1, { attempt: 19, finishedAtMs: 1_000_000 - pauseMs }),
    ];
    assert.deepEqual(
      [10_000, 300_000, 300_001].map((pauseMs) => deriveCrashDelayMs(runs(pauseMs), config)),
      [20_000, 300_000, 300_000],
    );
    const short = aRun('app', 1, { attempt: 1, createdAtMs: 1_000_000 });
    assert.equal(
      deriveCrashDelayMs([short, aRun('app', 1, { finishedAtMs: 1_000_000 - 300_001 })], config),
      10_000,
      'a pause beyond the cap says nothing',
    );
  });

  test('treats each container on its own, and uses the creation time when it never started', () => {
    const { clock, backoff } = setUp();
    const now = clock.nowMs();
    const both = aPod({ containers: [aContainer('app'), aContainer('log')] });
    const [other] = [both.spec.containers[1] ?? app];
    const exited = aRun('app', 1, { attempt: 2, createdAtMs: now - 700_000, startedAtMs: 0, finishedAtMs: now });
    const log = aRun('log', 1, { attempt: 1, startedAtMs: now - 5000, finishedAtMs: now });
    backoff.adopt(both, aStatus([exited, log]));
    assert.equal(backoff.wait(both, app, exited), undefined, 'made long ago');
    assert.deepEqual(backoff.wait(both, other, log), { waitMs: 10_000, delayMs: 10_000 });
  });

  test('ignores a container without runs', () => {
    const { clock, backoff } = setUp();
    backoff.adopt(aPod({ containers: [aContainer('app'), aContainer('new')] }), aStatus([]));
    const first = aRun('app', 1, { finishedAtMs: clock.nowMs() });
    assert.equal(backoff.wait(pod, app, first), undefined);
  });

  test('continues the wait of the previous agent', () => {
    const { clock, backoff } = setUp();
    const now = clock.nowMs();
    const crashed = aRun('app', 1, {
      attempt: 3,
      createdAtMs: now - 9000,
      startedAtMs: now - 9000,
      finishedAtMs: now - 8000,
    });
    backoff.adopt(pod, aStatus([crashed]));
    assert.deepEqual(backoff.wait(pod, app, crashed), { waitMs: 32_000, delayMs: 40_000 });
  });

  test('does not delay a container that ran well for a long time, one with another image, or a known pod', () => {
    const { clock, backoff, crash } = setUp();
    const now = clock.nowMs();
    const long = aRun('app', 1, {
      attempt: 9,
      createdAtMs: now - 700_000,
      startedAtMs: now - 700_000,
      finishedAtMs: now,
    });
    backoff.adopt(pod, aStatus([long]));
    assert.equal(backoff.wait(pod, app, long), undefined);
    const other = { ...aPod(), metadata: { ...pod.metadata, uid: 'uid-2' } };
    const changed = aRun('app', 1, { attempt: 9, annotations: {}, finishedAtMs: now });
    backoff.adopt(other, aStatus([changed]));
    assert.equal(backoff.wait(other, app, changed), undefined);
    const known = { ...aPod(), metadata: { ...pod.metadata, uid: 'uid-3' } };
    backoff.noteStart(known, app, crash());
    const later = aRun('app', 1, { attempt: 9, finishedAtMs: now });
    backoff.adopt(known, aStatus([later]));
    assert.equal(backoff.wait(known, app, later)?.delayMs, 10_000);
  });
});
