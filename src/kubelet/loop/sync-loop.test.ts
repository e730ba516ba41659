import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { seededRandom } from '../../base/random.ts';
import { buildPod } from '../../api/testing/pod-builder.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { recordingLog } from '../../base/testing/recording-log.ts';
import { podUid } from '../model/ids.ts';
import type { SyncHandlers } from './sync-loop.ts';
import { SyncLoop } from './sync-loop.ts';
import { SyncQueue } from './sync-queue.ts';

function harness(extra: Partial<SyncHandlers> = {}) {
  const clock = new FakeClock();
  const log = recordingLog();
  const calls: string[] = [];
  const errors: string[] = [];
  const write = (name: string) => (): void => void calls.push(name);
  const handlers: SyncHandlers = {
    podAdditions: write('add'),
    podUpdates: write('update'),
    podRemoves: write('remove'),
    podReconcile: write('reconcile'),
    podSyncs: (uids) => calls.push(`sync ${uids.join(',')}`),
    lifecycleEvent: write('pleg'),
    probeUpdate: write('probe'),
    podCleanups: write('cleanup'),
    ...extra,
  };
  const queue = new SyncQueue();
  const loop = new SyncLoop({
    queue,
    handlers,
    clock,
    random: seededRandom(1),
    log,
    runtimeErrors: () => errors,
    housekeepingMs: 30_000,
  });
  return { clock, log, calls, errors, loop, queue };
}
const config = (op: 'ADD' | 'UPDATE' | 'DELETE' | 'REMOVE' | 'RECONCILE') =>
  ({ kind: 'configuration', update: { op, source: 'file', pods: [] } }) as const;

describe('sync loop', () => {
  it('passes each of the five inputs to its handler, in order', () => {
    const { loop, queue, calls } = harness();
    loop.start();
    for (const op of ['ADD', 'UPDATE', 'DELETE', 'RECONCILE', 'REMOVE'] as const) queue.post(config(op));
    queue.post({ kind: 'pleg', event: { kind: 'SandboxChanged', podUid: podUid('a') } });
    queue.post({ kind: 'sync', uids: [podUid('a')] });
    queue.post({ kind: 'probe', podUid: podUid('a'), type: 'liveness', verdict: 'failure' });
    assert.deepEqual(calls, ['cleanup', 'add', 'update', 'update', 'reconcile', 'remove', 'pleg', 'sync a', 'probe']);
  });

  it('keeps inputs while the runtime is down and handles them in order when it is back', () => {
    const { loop, queue, calls, errors, log } = harness();
    errors.push('container runtime is down');
    loop.start();
    queue.post(config('ADD'));
    queue.post(config('REMOVE'));
    assert.deepEqual(calls, []);
    assert.equal(log.lines.filter((line) => line.message === 'skipping pod synchronization').length, 1);
    errors.length = 0;
    loop.wake();
    assert.deepEqual(calls, ['add', 'remove', 'cleanup']);
  });

  it('reports pods of a source as not yet handled while the runtime is down', () => {
    const { loop, queue, errors } = harness();
    errors.push('container runtime is down');
    loop.start();
    queue.post({ kind: 'sync', uids: [] });
    const before = queue.configurationWaits();
    queue.post(config('ADD'));
    const waiting = queue.configurationWaits();
    errors.length = 0;
    loop.wake();
    assert.deepEqual([before, waiting, queue.configurationWaits()], [false, true, false]);
  });

  it('reports which pods wait while the runtime is down, why and since when', async () => {
    const { loop, queue, clock, errors } = harness();
    errors.push('container runtime is down');
    loop.start();
    const sinceMs = clock.nowMs();
    await clock.advance(5000);
    const [first, second, third] = ['a', 'b', 'c'].map((uid) => buildPod({ 'metadata.uid': uid }));
    assert.ok(first !== undefined && second !== undefined && third !== undefined);
    queue.post({ kind: 'configuration', update: { op: 'ADD', source: 'file', pods: [first, second] } });
    queue.post({ kind: 'configuration', update: { op: 'REMOVE', source: 'file', pods: [first] } });
    queue.post({ kind: 'configuration', update: { op: 'ADD', source: 'file', pods: [third] } });
    assert.deepEqual(
      [queue.waitingPods(), loop.heldBack()],
      [[second, third], { sinceMs, errors: ['container runtime is down'] }],
    );
    errors.length = 0;
    loop.wake();
    assert.deepEqual([queue.waitingPods(), loop.heldBack()], [[], undefined]);
  });

  it('cleans up only when nothing else waits, so that no pod is stopped that a source has just added', () => {
    const { loop, queue, calls, errors } = harness();
    errors.push('down');
    loop.start();
    queue.post({ kind: 'housekeeping' });
    queue.post({ kind: 'pleg', event: { kind: 'SandboxChanged', podUid: podUid('a') } });
    queue.post(config('ADD'));
    errors.length = 0;
    loop.wake();
    assert.deepEqual(calls, ['pleg', 'add', 'cleanup']);
  });

  it('continues after a handler throws', () => {
    const { loop, queue, calls, log } = harness({
      podAdditions: () => {
        throw new Error('boom');
      },
    });
    loop.start();
    queue.post(config('ADD'));
    queue.post(config('UPDATE'));
    assert.deepEqual(calls, ['cleanup', 'update']);
    assert.equal(
      log.lines.some((line) => line.fields['error'] === 'boom'),
      true,
    );
  });

  it('does not pile up clean-ups', async () => {
    const { loop, calls, errors, clock } = harness();
    errors.push('down');
    loop.start();
    await clock.advance(300_000);
    errors.length = 0;
    loop.wake();
    assert.deepEqual(calls, ['cleanup']);
  });

  it('is unhealthy after two minutes without an iteration', async () => {
    const { loop, errors, clock } = harness();
    loop.start();
    errors.push('down');
    await clock.advance(119_000);
    assert.equal(loop.problem(), undefined);
    await clock.advance(2000);
    assert.match(loop.problem() ?? '', /^sync loop took longer than expected: last turn 121 s ago, 0 inputs waiting$/);
  });
});
