import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { seededRandom } from '../../base/random.ts';
import { buildPod } from '../../api/testing/pod-builder.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { recordingLog } from '../../base/testing/recording-log.ts';
import { podUid } from '../model/ids.ts';
import { SyncLoop, type SyncHandlers } from './sync-loop.ts';

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
  const loop = new SyncLoop({
    handlers,
    clock,
    random: seededRandom(1),
    log,
    runtimeErrors: () => errors,
    housekeepingMs: 30_000,
  });
  return { clock, log, calls, errors, loop };
}
const config = (op: 'ADD' | 'UPDATE' | 'DELETE' | 'REMOVE' | 'RECONCILE') =>
  ({ kind: 'configuration', update: { op, source: 'file', pods: [] } }) as const;

describe('sync loop', () => {
  it('hands each of the five inputs to its handler, in order', () => {
    const { loop, calls } = harness();
    loop.start();
    for (const op of ['ADD', 'UPDATE', 'DELETE', 'RECONCILE', 'REMOVE'] as const) loop.post(config(op));
    loop.post({ kind: 'pleg', event: { kind: 'SandboxChanged', podUid: podUid('a') } });
    loop.post({ kind: 'sync', uids: [podUid('a')] });
    loop.post({ kind: 'probe', podUid: podUid('a'), type: 'liveness', verdict: 'failure' });
    assert.deepEqual(calls, ['cleanup', 'add', 'update', 'update', 'reconcile', 'remove', 'pleg', 'sync a', 'probe']);
  });

  it('keeps inputs while the runtime is down and takes them up in order when it is back', () => {
    const { loop, calls, errors, log } = harness();
    errors.push('container runtime is down');
    loop.start();
    loop.post(config('ADD'));
    loop.post(config('REMOVE'));
    assert.deepEqual(calls, []);
    assert.equal(log.lines.filter((line) => line.message === 'skipping pod synchronization').length, 1);
    errors.length = 0;
    loop.wake();
    assert.deepEqual(calls, ['add', 'remove', 'cleanup']);
  });

  it('says that what a source wants has not been taken up while the runtime is down', () => {
    const { loop, errors } = harness();
    errors.push('container runtime is down');
    loop.start();
    loop.post({ kind: 'sync', uids: [] });
    const before = loop.configurationWaits();
    loop.post(config('ADD'));
    const waiting = loop.configurationWaits();
    errors.length = 0;
    loop.wake();
    assert.deepEqual([before, waiting, loop.configurationWaits()], [false, true, false]);
  });

  it('tells which pods wait while the runtime is down, why and since when', async () => {
    const { loop, clock, errors } = harness();
    errors.push('container runtime is down');
    loop.start();
    const sinceMs = clock.nowMs();
    await clock.advance(5000);
    const [first, second, third] = ['a', 'b', 'c'].map((uid) => buildPod({ 'metadata.uid': uid }));
    assert.ok(first !== undefined && second !== undefined && third !== undefined);
    loop.post({ kind: 'configuration', update: { op: 'ADD', source: 'file', pods: [first, second] } });
    loop.post({ kind: 'configuration', update: { op: 'REMOVE', source: 'file', pods: [first] } });
    loop.post({ kind: 'configuration', update: { op: 'ADD', source: 'file', pods: [third] } });
    assert.deepEqual(
      [loop.waitingPods(), loop.heldBack()],
      [[second, third], { sinceMs, errors: ['container runtime is down'] }],
    );
    errors.length = 0;
    loop.wake();
    assert.deepEqual([loop.waitingPods(), loop.heldBack()], [[], undefined]);
  });

  it('cleans up only when nothing else waits, so that no pod is ended whose source has just named it', () => {
    const { loop, calls, errors } = harness();
    errors.push('down');
    loop.start();
    loop.post({ kind: 'housekeeping' });
    loop.post({ kind: 'pleg', event: { kind: 'SandboxChanged', podUid: podUid('a') } });
    loop.post(config('ADD'));
    errors.length = 0;
    loop.wake();
    assert.deepEqual(calls, ['pleg', 'add', 'cleanup']);
  });

  it('goes on after a handler that throws', () => {
    const { loop, calls, log } = harness({
      podAdditions: () => {
        throw new Error('boom');
      },
    });
    loop.start();
    loop.post(config('ADD'));
    loop.post(config('UPDATE'));
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

  it('is unhealthy when it has not turned for two minutes', async () => {
    const { loop, errors, clock } = harness();
    loop.start();
    errors.push('down');
    await clock.advance(119_000);
    assert.equal(loop.health().ok, true);
    await clock.advance(2000);
    assert.equal(loop.health().ok, false);
  });
});
