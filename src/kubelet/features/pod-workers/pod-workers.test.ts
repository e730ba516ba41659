import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeletError } from '../../../base/errors.ts';
import { seededRandom } from '../../../base/random.ts';
import { sleep } from '../../../base/clock.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { annotations } from '../../../api/annotations.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodUid } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import type { PodRuntimeStatus } from '../../model/runtime-status.ts';
import type { PodSyncer, SyncResult } from './pod-workers.ts';
import { PodWorkers } from './pod-workers.ts';
import { WorkerStates } from './worker-states.ts';

const pod = (uid: string, name = uid, extra: Partial<Pod['metadata']> = {}): Pod => ({
  metadata: { name, namespace: 'default', uid, ...extra },
  spec: { containers: [], terminationGracePeriodSeconds: 30 },
});

const staticPod = (uid: string, name: string): Pod =>
  pod(uid, name, { annotations: { [annotations.configSource]: 'file' } });

const orphan = (uid: string, name: string): PodRuntimeStatus => ({
  ...{ uid: podUid(uid), name, namespace: 'default', sandboxes: [], containers: [], observedAtMs: 0 },
});

/** A syncer whose calls take scripted time, and which records its calls. */
function harness(
  script: {
    syncMs?: number;
    killMs?: number;
    cleanMs?: number;
    sync?: (uid: string, pass: number) => SyncResult;
    kill?: () => void;
    finish?: () => void;
  } = {},
) {
  const log = recordingLog();
  const clock = new FakeClock();
  const calls: string[] = [];
  const passes = new Map<string, number>();
  const syncer: PodSyncer = {
    async syncPod({ pod: subject, signal }) {
      const uid = subject.metadata.uid ?? '';
      const pass = (passes.get(uid) ?? 0) + 1;
      passes.set(uid, pass);
      calls.push(`sync ${uid}`);
      await sleep(clock, script.syncMs ?? 0, signal);
      return script.sync?.(uid, pass) ?? { terminal: false };
    },
    async syncTerminatingPod({ subject, termination, signal }) {
      const uid = subject.kind === 'pod' ? subject.pod.metadata.uid : subject.runtime.uid;
      calls.push(`kill ${uid} ${termination.graceMs}`);
      await sleep(clock, Math.min(termination.graceMs, script.killMs ?? 0), signal);
      script.kill?.();
    },
    async syncTerminatedPod({ pod: subject, all }) {
      calls.push(`clean ${subject.metadata.uid}${all ? '' : ', keep'}`);
      await sleep(clock, script.cleanMs ?? 0);
    },
    finished({ uid, gone, revived }) {
      calls.push(`finished ${uid} ${gone ? 'gone' : 'kept'}${revived ? ', comes again' : ''}`);
      script.finish?.();
    },
  };
  const workers: PodWorkers = new PodWorkers({
    states: new WorkerStates(),
    syncer,
    clock,
    random: seededRandom(1),
    log,
    resyncMs: 60_000,
    onDue: (uids: readonly PodUid[]) => uids.forEach((uid) => workers.sync(uid)),
  });
  return { clock, calls, workers, log };
}

describe('pod workers', () => {
  it('merges what arrives during a sync into exactly one more sync', async () => {
    const { clock, calls, workers } = harness({ syncMs: 100 });
    workers.update(pod('a'), true);
    for (let i = 0; i < 5; i++) workers.update(pod('a'), false);
    await clock.advance(1000);
    assert.deepEqual(calls, ['sync a', 'sync a']);
  });

  it('reports how long a sync has been running', async () => {
    const { clock, workers } = harness({ syncMs: 100 });
    workers.update(pod('a'), true);
    await clock.advance(60);
    assert.equal(workers.busyForMs(podUid('a')), 60);
    await clock.advance(60);
    assert.equal(workers.busyForMs(podUid('a')), undefined);
  });

  it('syncs a healthy pod again after the resync interval, stretched by at most half', async () => {
    const { clock, calls, workers } = harness();
    workers.update(pod('a'), true);
    await clock.advance(59_999);
    assert.equal(calls.length, 1);
    await clock.advance(30_002);
    assert.equal(calls.length, 2);
  });

  it('runs kill, clean and finished for a removed pod without waiting for any timer', async () => {
    const { clock, calls, workers } = harness();
    workers.update(pod('a'), true);
    await clock.advance(0);
    workers.kill(podUid('a'), { cause: 'removed' });
    await clock.advance(0);
    assert.deepEqual(calls, ['sync a', 'kill a 30000', 'clean a', 'finished a gone']);
    assert.equal(workers.stateOf(podUid('a')), undefined);
  });

  it('logs an error when a conflict with the node lasts for more than one pass, or the pass failed otherwise', async () => {
    const levelsOf = async (errors: Error[]): Promise<string[]> => {
      const kill = (): void => {
        const error = errors.shift();
        if (error !== undefined) throw error;
      };
      const { clock, workers, log } = harness({ kill });
      workers.update(pod('a'), true);
      workers.kill(podUid('a'), { cause: 'removed' });
      await clock.advance(5_000);
      assert.equal(workers.stateOf(podUid('a')), undefined);
      return log.lines.map(({ level, fields }) => `${level}: ${String(fields.error)}`);
    };
    const conflict = new KubeletError('Conflict', 'still running');
    const other = new KubeletError('Unavailable', 'no answer');
    assert.deepEqual(await levelsOf([conflict]), ['info: still running']);
    assert.deepEqual(await levelsOf([conflict, conflict]), ['info: still running', 'error: still running']);
    assert.deepEqual(await levelsOf([other, conflict]), ['error: no answer', 'error: still running']);
  });

  it('aborts a start in progress when the pod is removed', async () => {
    const { clock, calls, workers } = harness({ syncMs: 60_000 });
    workers.update(pod('a'), true);
    await clock.advance(10);
    workers.kill(podUid('a'), { cause: 'removed' });
    await clock.advance(1);
    assert.deepEqual(calls, ['sync a', 'kill a 30000', 'clean a', 'finished a gone']);
  });

  it('aborts a kill in progress when its grace period shrinks, and kills again with the shorter one', async () => {
    const { clock, calls, workers } = harness({ killMs: 60_000 });
    workers.update(pod('a'), true);
    await clock.advance(1);
    workers.kill(podUid('a'), { cause: 'removed' });
    await clock.advance(5000);
    workers.kill(podUid('a'), { cause: 'removed', graceMs: 2000 });
    await clock.advance(2000);
    assert.deepEqual(calls, ['sync a', 'kill a 30000', 'kill a 2000', 'clean a', 'finished a gone']);
  });

  it('retries a failed sync with growing back-off and keeps the error', async () => {
    const { clock, calls, workers } = harness({
      sync: () => {
        throw new KubeletError('Unavailable', 'runtime is down');
      },
    });
    workers.update(pod('a'), true);
    await clock.advance(1);
    assert.equal(workers.retryOf(podUid('a')).lastError, 'runtime is down');
    assert.deepEqual(workers.failing(), ['a']);
    await clock.advance(60_000);
    assert.ok(calls.length >= 7 && calls.length <= 14, `${calls.length} passes in a minute`);
  });

  it('runs the later of two static pods with one full name only when the earlier is finished', async () => {
    const { clock, calls, workers } = harness({ killMs: 500 });
    workers.update(staticPod('old', 'web'), true);
    workers.update(staticPod('new', 'web'), true);
    await clock.advance(1);
    assert.equal(workers.stateOf(podUid('new'))?.phase, 'queued');
    workers.kill(podUid('old'), { cause: 'removed' });
    await clock.advance(1000);
    assert.deepEqual(calls, ['sync old', 'kill old 30000', 'clean old', 'finished old gone', 'sync new']);
  });

  it('starts an API pod at once although an earlier one of its name was force deleted', async () => {
    const { clock, calls, workers } = harness({ killMs: 5000 });
    workers.update(pod('old', 'web'), true);
    await clock.advance(1);
    workers.kill(podUid('old'), { cause: 'removed' });
    workers.update(pod('new', 'web'), true);
    await clock.advance(1);
    assert.deepEqual(calls, ['sync old', 'kill old 30000', 'sync new']);
  });

  it('cleans up a deleted pod once, and keeps it as long as its source lists it', async () => {
    const { clock, calls, workers } = harness();
    const deleted = pod('a', 'a', { deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 5 });
    workers.update(deleted, true);
    await clock.advance(1);
    workers.update({ ...deleted, metadata: { ...deleted.metadata, labels: { a: 'b' } } }, false);
    await clock.advance(1);
    assert.equal(workers.stateOf(podUid('a'))?.phase, 'finished');
    workers.kill(podUid('a'), { cause: 'removed' });
    await clock.advance(1);
    assert.deepEqual(calls, ['kill a 5000', 'clean a', 'finished a kept', 'finished a gone']);
    assert.equal(workers.known().size, 0);
  });

  it('drops a queued pod that is removed before it starts', async () => {
    const { clock, calls, workers } = harness();
    workers.update(staticPod('old', 'web'), true);
    workers.update(staticPod('new', 'web'), true);
    workers.kill(podUid('new'), { cause: 'removed' });
    await clock.advance(1);
    workers.kill(podUid('old'), { cause: 'removed' });
    await clock.advance(1);
    assert.equal(calls.includes('sync new'), false);
    assert.equal(workers.known().size, 0);
  });

  it('starts a pod again when it is wanted again while it is being torn down', async () => {
    const { clock, calls, workers } = harness({ killMs: 500 });
    workers.update(pod('a'), true);
    await clock.advance(1);
    workers.kill(podUid('a'), { cause: 'removed' });
    workers.update(pod('a'), true);
    await clock.advance(1000);
    assert.deepEqual(calls, ['sync a', 'kill a 30000', 'clean a', 'finished a gone, comes again', 'sync a']);
  });

  it('keeps a completed pod finished, and drops it when its source removes it', async () => {
    const { clock, calls, workers } = harness({ sync: () => ({ terminal: true }) });
    workers.update(pod('a'), true);
    await clock.advance(1);
    assert.equal(workers.stateOf(podUid('a'))?.phase, 'finished');
    workers.sync(podUid('a'));
    workers.kill(podUid('a'), { cause: 'removed' });
    await clock.advance(1);
    assert.deepEqual(calls, [
      'sync a',
      'kill a 30000',
      'clean a, keep',
      'finished a kept',
      'clean a',
      'finished a gone',
    ]);
    assert.equal(workers.known().size, 0);
  });

  it('restarts a completed pod only when it is cleaned up', async () => {
    const { clock, calls, workers } = harness({ cleanMs: 500, sync: (_uid, pass) => ({ terminal: pass === 1 }) });
    workers.update(pod('a'), true);
    await clock.advance(1000);
    workers.kill(podUid('a'), { cause: 'removed' });
    workers.update(pod('a'), true);
    await clock.advance(100);
    assert.deepEqual(calls.slice(3), ['finished a kept', 'clean a']);
    await clock.advance(1000);
    assert.deepEqual(calls.slice(5), ['finished a gone, comes again', 'sync a']);
  });

  it('repeats a full clean-up for a pod that is removed during a partial one', async () => {
    const { clock, calls, workers } = harness({ cleanMs: 500, sync: () => ({ terminal: true }) });
    workers.update(pod('a'), true);
    await clock.advance(100);
    workers.kill(podUid('a'), { cause: 'removed' });
    await clock.advance(2000);
    assert.deepEqual(calls, ['sync a', 'kill a 30000', 'clean a, keep', 'clean a', 'finished a gone']);
    assert.equal(workers.known().size, 0);
  });

  it('continues with other pods while one hangs', async () => {
    const { clock, calls, workers } = harness({ sync: () => ({ terminal: false }), syncMs: 0 });
    const hung = harness({ syncMs: 1e9 });
    hung.workers.update(pod('slow'), true);
    hung.workers.update(pod('other'), true);
    await hung.clock.settle();
    assert.deepEqual(hung.calls, ['sync slow', 'sync other']);
    workers.update(pod('a'), true);
    await clock.settle();
    assert.deepEqual(calls, ['sync a']);
  });

  it('stops without touching pods and starts nothing afterwards', async () => {
    const { clock, calls, workers } = harness({ syncMs: 1000 });
    workers.update(pod('a'), true);
    await clock.settle();
    await workers.stop();
    workers.update(pod('b'), true);
    await clock.advance(200_000);
    assert.deepEqual(calls, ['sync a']);
    assert.equal(clock.armedTimers, 0);
  });

  it('stops a running pod without a spec, and leaves one with a worker alone', async () => {
    const { clock, calls, workers } = harness();
    workers.killOrphan(orphan('a', 'web'), 7);
    await clock.advance(1);
    assert.deepEqual(calls, ['kill a 7', 'finished a gone']);
    workers.update(pod('b'), true);
    workers.killOrphan(orphan('b', 'b'), 7);
    await clock.advance(1);
    assert.deepEqual(calls.slice(2), ['sync b']);
  });

  it('runs a static pod only after an orphan with the same full name has stopped', async () => {
    const { clock, calls, workers } = harness({ killMs: 500 });
    workers.killOrphan(orphan('old', 'web'), 500);
    workers.killOrphan(orphan('elsewhere', 'db'), 500);
    workers.update(staticPod('new', 'web'), true);
    workers.update(staticPod('other', 'cache'), true);
    await clock.advance(1);
    assert.deepEqual(calls, ['kill old 500', 'kill elsewhere 500', 'sync other']);
    await clock.advance(1000);
    assert.deepEqual(calls.slice(3), ['finished old gone', 'sync new', 'finished elsewhere gone']);
  });

  it('distinguishes static pods with the same name in two namespaces', async () => {
    const { clock, calls, workers } = harness();
    const inNamespace = (uid: string, namespace: string): Pod => ({
      ...staticPod(uid, 'web'),
      metadata: { ...staticPod(uid, 'web').metadata, namespace },
    });
    workers.update(inNamespace('a', 'one'), true);
    workers.update(inNamespace('b', 'two'), true);
    await clock.advance(1);
    assert.deepEqual(calls, ['sync a', 'sync b']);
  });

  it('starts the third of three static pods of one name when the first and the second are gone', async () => {
    const { clock, calls, workers } = harness();
    for (const uid of ['one', 'two', 'three']) workers.update(staticPod(uid, 'web'), true);
    await clock.advance(1);
    workers.kill(podUid('two'), { cause: 'removed' });
    await clock.advance(1);
    assert.equal(workers.stateOf(podUid('three'))?.phase, 'queued');
    workers.kill(podUid('one'), { cause: 'removed' });
    await clock.advance(1);
    assert.equal(calls.at(-1), 'sync three');
    workers.kill(podUid('three'), { cause: 'removed' });
    await clock.advance(1);
    workers.update(staticPod('four', 'web'), true);
    await clock.advance(1);
    assert.equal(calls.at(-1), 'sync four');
  });

  it('stops a finished pod again when it runs after all, and no other pod', async () => {
    const { clock, calls, workers } = harness({ sync: (uid) => ({ terminal: uid === 'done' }) });
    workers.update(pod('done'), true);
    workers.update(pod('live'), true);
    await clock.advance(1);
    const { length } = calls;
    for (const uid of ['done', 'live', 'unknown']) workers.endAgain(podUid(uid));
    await clock.advance(1);
    assert.deepEqual(calls.slice(length), ['kill done 30000', 'clean done, keep', 'finished done kept']);
  });

  it('syncs a running pod on demand, and no pod that is queued, finished or unknown', async () => {
    const { clock, calls, workers } = harness({ sync: (uid) => ({ terminal: uid === 'done' }) });
    workers.update(pod('done'), true);
    workers.update(staticPod('first', 'web'), true);
    workers.update(staticPod('queued', 'web'), true);
    await clock.advance(1);
    const { length } = calls;
    for (const uid of ['done', 'queued', 'first', 'unknown']) workers.sync(podUid(uid));
    await clock.advance(1);
    assert.deepEqual(calls.slice(length), ['sync first']);
  });

  it('syncs again when a sync asks for it, but not later than a healthy pod', async () => {
    const asked = harness({ sync: () => ({ terminal: false, retryInMs: 3000 }) });
    asked.workers.update(pod('a'), true);
    await asked.clock.advance(2999);
    assert.equal(asked.calls.length, 1);
    await asked.clock.advance(1);
    assert.equal(asked.calls.length, 2);
    const late = harness({ sync: () => ({ terminal: false, retryInMs: 1e9 }) });
    late.workers.update(pod('a'), true);
    await late.clock.advance(90_001);
    assert.equal(late.calls.length, 2);
  });

  it('retries a failing step after a growing pause, and resets the pause once it succeeds', async () => {
    const { clock, calls, workers } = harness({ sync: (_uid, pass) => ({ terminal: false, failed: pass !== 6 }) });
    workers.update(pod('a'), true);
    await clock.advance(750);
    assert.equal(calls.length, 2);
    await clock.advance(1499);
    assert.equal(calls.length, 3);
    await clock.advance(10_000);
    assert.ok(calls.length <= 6, `${calls.length} passes: the pause grows`);
    await clock.advance(100_000);
    assert.ok(calls.length >= 7, `${calls.length} passes`);
    assert.deepEqual(workers.failing(), []);
  });

  it('reports the state of a worker, and undefined for a missing one', async () => {
    const failure = new KubeletError('Unavailable', 'no answer');
    const { clock, workers } = harness({
      sync: (uid) => {
        if (uid === 'bad') throw failure;
        return { terminal: false };
      },
      syncMs: 100,
    });
    const [bad, good, unknown] = [podUid('bad'), podUid('good'), podUid('unknown')];
    await clock.advance(5000);
    const beganMs = clock.nowMs();
    workers.update(pod('bad'), true);
    workers.update(pod('good'), true);
    await clock.advance(60);
    assert.deepEqual([workers.isBusy(bad), workers.busyForMs(bad), workers.sinceMs(bad)], [true, 60, beganMs]);
    await clock.advance(60);
    assert.deepEqual(
      [workers.isBusy(bad), workers.failing(), workers.retryOf(good).lastError],
      [false, [bad], undefined],
    );
    workers.kill(bad, { cause: 'removed' });
    assert.deepEqual([workers.retryOf(bad).lastError, workers.sinceMs(bad)], [undefined, beganMs + 120]);
    assert.deepEqual(
      [
        workers.isBusy(unknown),
        workers.busyForMs(unknown),
        workers.sinceMs(unknown),
        workers.retryOf(unknown).lastError,
      ],
      [false, undefined, undefined, undefined],
    );
    await workers.stop();
  });

  it('a phase starts with a change of the phase, and not with an update of the pod', async () => {
    const { clock, workers } = harness();
    workers.update(pod('a'), true);
    const beganMs = workers.sinceMs(podUid('a'));
    await clock.advance(500);
    workers.update(pod('a'), false);
    await clock.advance(1);
    assert.equal(workers.sinceMs(podUid('a')), beganMs);
  });

  it('logs a bug in a callback at the end of a pod, and continues with other pods', async () => {
    const { clock, calls, workers, log } = harness({
      finish: () => {
        throw new Error('a bug');
      },
    });
    workers.update(pod('a'), true);
    workers.kill(podUid('a'), { cause: 'removed' });
    await clock.advance(1);
    assert.ok(log.lines.some(({ fields }) => fields['error'] === 'a bug'));
    workers.update(pod('b'), true);
    await clock.advance(1);
    assert.equal(calls.at(-1), 'sync b');
  });

  it('logs no errors of calls that its own stop aborts', async () => {
    const { clock, workers, log } = harness({ syncMs: 1000 });
    workers.update(pod('a'), true);
    await clock.advance(1);
    await workers.stop();
    await clock.advance(200_000);
    assert.deepEqual(log.lines, []);
    workers.sync(podUid('a'));
    await clock.advance(1);
    assert.equal(workers.isBusy(podUid('a')), false);
  });
});
