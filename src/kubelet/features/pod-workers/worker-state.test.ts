import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../api/core/pod.ts';
import { graceOf, mustInterrupt, nextWorkerState, type WorkerEvent, type WorkerState } from './worker-state.ts';

const pod = (metadata: Partial<Pod['metadata']> = {}, graceSeconds = 30): Pod => ({
  metadata: { name: 'a', namespace: 'default', uid: 'u1', ...metadata },
  spec: { containers: [], terminationGracePeriodSeconds: graceSeconds },
});

function after(...events: WorkerEvent[]): WorkerState | undefined {
  return events.reduce<WorkerState | undefined>((state, event) => nextWorkerState(state, event), undefined);
}
const seen = (subject = pod(), isNew = true): WorkerEvent => ({
  kind: 'update',
  pod: subject,
  isNew,
  mustQueue: false,
});

describe('worker state', () => {
  it('starts syncing, or queues behind a pod of the same name', () => {
    assert.equal(after(seen())?.phase, 'syncing');
    assert.equal(after({ kind: 'update', pod: pod(), isNew: true, mustQueue: true })?.phase, 'queued');
    assert.equal(
      after({ kind: 'update', pod: pod(), isNew: true, mustQueue: true }, { kind: 'nameFree' })?.phase,
      'syncing',
    );
  });

  it('walks terminating, terminated, finished and never back', () => {
    const walk: WorkerEvent[] = [
      seen(),
      { kind: 'kill', cause: 'removed' },
      { kind: 'stopped' },
      { kind: 'cleaned', all: true },
    ];
    const phases = walk.map((_, index) => after(...walk.slice(0, index + 1))?.phase);
    assert.deepEqual(phases, ['syncing', 'terminating', 'terminated', 'finished']);
    assert.equal(after(...walk, { kind: 'stopped' })?.phase, 'finished');
  });

  it('takes a pod that arrives already being deleted straight to terminating with its deletion grace', () => {
    const state = after(seen(pod({ deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 7 })));
    assert.deepEqual(state?.phase === 'terminating' && state.termination, {
      cause: 'deleted',
      graceMs: 7000,
      gone: false,
    });
  });

  it('lets the grace shrink but never grow', () => {
    const start: WorkerEvent[] = [seen(), { kind: 'kill', cause: 'evicted', graceMs: 10_000 }];
    const grace = (event: WorkerEvent): number | undefined => {
      const state = after(...start, event);
      return state?.phase === 'terminating' ? state.termination.graceMs : undefined;
    };
    assert.equal(grace({ kind: 'kill', cause: 'evicted', graceMs: 3000 }), 3000);
    assert.equal(grace({ kind: 'kill', cause: 'evicted', graceMs: 60_000 }), 10_000);
    assert.equal(grace(seen(pod({ deletionTimestamp: 'now', deletionGracePeriodSeconds: 2 }), false)), 2000);
    assert.equal(grace(seen(pod({ deletionTimestamp: 'now', deletionGracePeriodSeconds: 45 }), false)), 10_000);
  });

  it('gives every pod at least one second', () => {
    assert.equal(graceOf(pod({}, 0)), 1000);
    const state = after(seen(), { kind: 'kill', cause: 'evicted', graceMs: 0 });
    assert.equal(state?.phase === 'terminating' && state.termination.graceMs, 1000);
  });

  it('remembers that a pod ending is wanted again, and forgets it when it is removed after all', () => {
    const ending: WorkerEvent[] = [seen(), { kind: 'kill', cause: 'removed' }];
    const revived = after(...ending, seen());
    assert.equal(revived?.phase === 'terminating' && revived.revive?.metadata.uid, 'u1');
    const removed = after(...ending, seen(), { kind: 'kill', cause: 'removed' });
    assert.equal(removed?.phase === 'terminating' && removed.revive, undefined);
  });

  it('keeps a completed pod finished until its source removes it', () => {
    const walk: WorkerEvent[] = [
      seen(),
      { kind: 'phaseTerminal' },
      { kind: 'stopped' },
      { kind: 'cleaned', all: false },
    ];
    const done = after(...walk);
    assert.deepEqual(done?.phase === 'finished' && done.termination, {
      cause: 'completed',
      graceMs: 30_000,
      gone: false,
    });
    const removed = after(...walk, { kind: 'kill', cause: 'removed' });
    assert.equal(removed?.phase === 'terminated' && removed.termination.gone, true);
  });

  it('ends once more when something of it came late, and is as it was after that', () => {
    const walk: WorkerEvent[] = [
      seen(),
      { kind: 'phaseTerminal' },
      { kind: 'stopped' },
      { kind: 'cleaned', all: false },
    ];
    assert.equal(after(...walk, { kind: 'cameLate' })?.phase, 'terminating');
    assert.deepEqual(
      after(...walk, { kind: 'cameLate' }, { kind: 'stopped' }, { kind: 'cleaned', all: false }),
      after(...walk),
    );
    for (const at of [1, 2, 3])
      assert.deepEqual(after(...walk.slice(0, at), { kind: 'cameLate' }), after(...walk.slice(0, at)));
  });

  it('is cleaned once more when it was removed while it was cleaned for keeping', () => {
    const walk: WorkerEvent[] = [
      seen(),
      { kind: 'phaseTerminal' },
      { kind: 'stopped' },
      { kind: 'kill', cause: 'removed' },
    ];
    assert.equal(after(...walk, { kind: 'cleaned', all: false })?.phase, 'terminated');
    assert.equal(after(...walk, { kind: 'cleaned', all: true })?.phase, 'finished');
  });

  it('ends an orphan without a terminated phase, as it has no spec to clean up by', () => {
    const runtime = { uid: 'u9', name: 'o', namespace: 'default', sandboxes: [], containers: [], observedAtMs: 0 };
    const orphan: WorkerEvent = { kind: 'orphan', runtime: runtime as never, graceMs: 1000 };
    assert.equal(after(orphan)?.phase, 'terminating');
    assert.equal(after(orphan, { kind: 'stopped' })?.phase, 'finished');
  });

  it('interrupts work when the pod begins to end or must end sooner, and only then', () => {
    const syncing = after(seen());
    const ending = after(seen(), { kind: 'kill', cause: 'evicted', graceMs: 10_000 });
    const sooner = after(seen(), { kind: 'kill', cause: 'evicted', graceMs: 1000 });
    assert.deepEqual(
      [
        mustInterrupt(syncing, ending),
        mustInterrupt(ending, sooner),
        mustInterrupt(sooner, ending),
        mustInterrupt(syncing, syncing),
      ],
      [true, true, false, false],
    );
  });
});
