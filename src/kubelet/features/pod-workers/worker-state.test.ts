import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../api/core/pod.ts';
import type { WorkerEvent, WorkerState } from './worker-state.ts';
import { graceOf, isForgotten, leavesNothing, mustInterrupt, nextWorkerState } from './worker-state.ts';

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

  it('goes through terminating, terminated and finished, and never back', () => {
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

  it('moves a pod that is already being deleted straight to terminating with its deletion grace period', () => {
    const state = after(seen(pod({ deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 7 })));
    assert.deepEqual(state?.phase === 'terminating' && state.termination, {
      cause: 'deleted',
      graceMs: 7000,
      gone: false,
    });
  });

  it('lets the grace period shrink but never grow', () => {
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

  it('records that a terminating pod is wanted again, until the pod is removed', () => {
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

  it('stops a finished pod again after a late start, and returns to the same state', () => {
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

  it('cleans again if a pod was removed during a partial clean-up', () => {
    const walk: WorkerEvent[] = [
      seen(),
      { kind: 'phaseTerminal' },
      { kind: 'stopped' },
      { kind: 'kill', cause: 'removed' },
    ];
    assert.equal(after(...walk, { kind: 'cleaned', all: false })?.phase, 'terminated');
    assert.equal(after(...walk, { kind: 'cleaned', all: true })?.phase, 'finished');
  });

  it('ends an orphan without a terminated phase, because a clean-up needs a spec', () => {
    const runtime = { uid: 'u9', name: 'o', namespace: 'default', sandboxes: [], containers: [], observedAtMs: 0 };
    const orphan: WorkerEvent = { kind: 'orphan', runtime: runtime as never, graceMs: 1000 };
    assert.equal(after(orphan)?.phase, 'terminating');
    assert.equal(after(orphan, { kind: 'stopped' })?.phase, 'finished');
  });

  it('interrupts work only when the pod starts to terminate or must terminate sooner', () => {
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

describe('the end of a pod and its remains', () => {
  const completed: WorkerEvent[] = [
    seen(),
    { kind: 'phaseTerminal' },
    { kind: 'stopped' },
    { kind: 'cleaned', all: false },
  ];
  const runtime = { uid: 'u9', name: 'o', namespace: 'default', sandboxes: [], containers: [], observedAtMs: 0 };
  const orphan: WorkerEvent = { kind: 'orphan', runtime: runtime as never, graceMs: 1000 };
  const deletion = (graceSeconds: number): WorkerEvent =>
    seen(pod({ deletionTimestamp: 'now', deletionGracePeriodSeconds: graceSeconds }), false);

  it('begins only with an update or an orphan', () => {
    for (const kind of ['nameFree', 'phaseTerminal', 'stopped', 'cameLate'] as const)
      assert.equal(after({ kind }), undefined);
    assert.equal(after({ kind: 'kill', cause: 'removed' }), undefined);
    const state = after(orphan);
    assert.deepEqual(state?.phase === 'terminating' && state.termination, {
      cause: 'orphaned',
      graceMs: 1000,
      gone: true,
    });
  });

  it('takes the newest spec while the pod runs, and its deletion as its end', () => {
    const updated = after(seen(), seen(pod({ generation: 2 }), false));
    assert.deepEqual(updated, { phase: 'syncing', pod: pod({ generation: 2 }) });
    assert.equal(after(seen(), deletion(5))?.phase, 'terminating');
  });

  it('reports whether a source still wants the pod', () => {
    const gone = (...events: WorkerEvent[]): boolean | undefined => {
      const state = after(seen(), ...events);
      return state !== undefined && 'termination' in state ? state.termination.gone : undefined;
    };
    assert.equal(gone({ kind: 'kill', cause: 'removed' }), true);
    assert.equal(gone({ kind: 'kill', cause: 'evicted' }), false);
    assert.equal(gone({ kind: 'kill', cause: 'evicted' }, { kind: 'kill', cause: 'evicted' }), false);
    assert.equal(gone({ kind: 'kill', cause: 'evicted' }, { kind: 'kill', cause: 'removed' }), true);
  });

  it('keeps the grace when a kill does not name one', () => {
    const state = after(seen(), { kind: 'kill', cause: 'evicted', graceMs: 9000 }, { kind: 'kill', cause: 'removed' });
    assert.equal(state?.phase === 'terminating' && state.termination.graceMs, 9000);
  });

  it('restarts a pod that is wanted again, unless its source removes it, also after a kill', () => {
    const reviveOf = (...events: WorkerEvent[]): number | undefined => {
      const state = after(seen(), { kind: 'kill', cause: 'removed' }, ...events);
      return state !== undefined && 'revive' in state ? state.revive?.metadata.generation : undefined;
    };
    const again = (generation: number, isNew: boolean): WorkerEvent => seen(pod({ generation }), isNew);
    assert.equal(reviveOf(again(2, true)), 2);
    assert.equal(reviveOf(again(2, false)), undefined, 'an update is no new pod');
    assert.equal(reviveOf(again(2, true), again(3, false)), 3);
    assert.equal(reviveOf(again(2, true), { kind: 'kill', cause: 'evicted' }), 2);
    assert.equal(reviveOf(again(2, true), { kind: 'stopped' }, { kind: 'kill', cause: 'evicted' }), 2);
    assert.equal(reviveOf(again(2, true), { kind: 'stopped' }, { kind: 'kill', cause: 'removed' }), undefined);
    assert.equal(reviveOf(again(2, true), deletion(5)), undefined);
    assert.equal(reviveOf(seen(pod({ deletionTimestamp: 'now' }), true)), undefined);
  });

  it('is dropped once no source wants the pod, or when the pod starts again', () => {
    const finished = (...events: WorkerEvent[]) => {
      const state = after(...completed, ...events);
      assert.equal(state?.phase, 'finished');
      return state as Extract<WorkerState, { phase: 'finished' }>;
    };
    assert.deepEqual([isForgotten(finished()), leavesNothing(finished())], [false, false]);
    const removed = finished({ kind: 'kill', cause: 'removed' }, { kind: 'cleaned', all: true });
    assert.deepEqual([isForgotten(removed), leavesNothing(removed)], [true, true]);
    const revived = finished(seen(), { kind: 'cleaned', all: true });
    assert.deepEqual([isForgotten(revived), leavesNothing(revived)], [true, true]);
    const deleted = finished(deletion(5), { kind: 'cleaned', all: true });
    assert.deepEqual([isForgotten(deleted), leavesNothing(deleted)], [false, true]);
  });

  it('is cleaned once more when a finished pod is wanted again, even if it was deleted', () => {
    assert.equal(after(...completed, seen())?.phase, 'terminated');
    assert.equal(after(...completed, seen(pod(), false))?.phase, 'finished');
    const deleted = [...completed, deletion(5), { kind: 'cleaned', all: true } as const];
    assert.equal(after(...deleted)?.phase, 'finished');
    assert.equal(after(...deleted, deletion(1))?.phase, 'finished');
    assert.equal(after(...deleted, seen())?.phase, 'terminated');
  });

  it('ignores requests for an orphan that has ended', () => {
    const over = [orphan, { kind: 'stopped' } as const];
    for (const event of [seen(), { kind: 'cameLate' } as const, { kind: 'kill', cause: 'removed' } as const])
      assert.deepEqual(after(...over, event), after(...over));
  });

  it('interrupts nothing for a pod that has ended or is unknown', () => {
    const ending = after(seen(), { kind: 'kill', cause: 'removed' });
    const terminated = after(seen(), { kind: 'kill', cause: 'removed' }, { kind: 'stopped' });
    assert.deepEqual(
      [mustInterrupt(undefined, ending), mustInterrupt(terminated, ending), mustInterrupt(ending, undefined)],
      [false, false, false],
    );
    const queued = after({ kind: 'update', pod: pod(), isNew: true, mustQueue: true });
    assert.deepEqual([mustInterrupt(queued, ending), mustInterrupt(ending, terminated)], [true, false]);
  });
});
