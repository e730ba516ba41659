import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { podUid } from '../../model/ids.ts';
import type { ExplainWorkers } from './create-explain.ts';
import { workerFacts } from './create-explain.ts';

const uid = podUid('a');
const idle: ExplainWorkers = {
  stateOf: () => undefined,
  sinceMs: () => undefined,
  retryOf: () => ({ lastError: undefined, inMs: undefined }),
  busyForMs: () => undefined,
};
const facts = (worker: Partial<ExplainWorkers>) => workerFacts({ ...idle, ...worker }, uid, 50_000);

describe('the explanation of a pod worker', () => {
  it('the explanation is nothing for a pod that has none', () => {
    assert.deepEqual(facts({}), {
      worker: 'none',
      workerSinceMs: 50_000,
      retry: { lastError: undefined, nextTryAtMs: undefined },
      busySinceMs: undefined,
    });
  });

  it('shows the phase, and the next try on the wall clock', () => {
    const { worker, workerSinceMs, retry } = facts({
      stateOf: () => ({ phase: 'syncing' }),
      sinceMs: () => 40_000,
      retryOf: () => ({ lastError: 'no image', inMs: 700 }),
    });
    assert.deepEqual(
      [worker, workerSinceMs, retry],
      ['syncing', 40_000, { lastError: 'no image', nextTryAtMs: 50_700 }],
    );
  });

  it('shows when the grace period ends, and that it is over once the runtime had time to kill', () => {
    const stopping = (sinceMs: number): unknown[] => {
      const { graceEndsMs, isGraceOver } = facts({
        stateOf: () => ({ phase: 'terminating', termination: { graceMs: 5000 } }),
        sinceMs: () => sinceMs,
      });
      return [graceEndsMs, isGraceOver];
    };
    assert.deepEqual(stopping(46_000), [51_000, false]);
    assert.deepEqual(stopping(41_000), [46_000, true]);
  });

  it('names a pass that takes a second or longer, and no shorter one', () => {
    assert.equal(facts({ busyForMs: () => 999 }).busySinceMs, undefined);
    assert.equal(facts({ busyForMs: () => 1000 }).busySinceMs, 49_000);
  });
});
