import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ResizeState } from './resize-conditions.ts';
import {
  resizeConditions,
  stateOfConditions,
  withoutPending,
  withoutProgress,
  withPending,
  withProgress,
} from './resize-conditions.ts';

const deferred = { reason: 'Deferred', message: 'no room', generation: 2 } as const;
const going = { reason: '', message: '', generation: 2 };
const failed = { reason: 'Error', message: 'busy', generation: 3 };

describe('a pending resize', () => {
  it('is news for another reason or another spec, and keeps its time while the reason stays', () => {
    const first = withPending({}, deferred, 10);
    assert.deepEqual(first, { state: { pending: { ...deferred, sinceMs: 10 } }, news: true });
    const again = withPending(first.state, { ...deferred, message: 'still no room' }, 20);
    assert.deepEqual(again, {
      state: { pending: { ...deferred, message: 'still no room', sinceMs: 10 } },
      news: false,
    });
    assert.equal(withPending(first.state, { ...deferred, generation: 3 }, 20).news, true);
    const never = withPending(first.state, { ...deferred, reason: 'Infeasible' }, 20);
    assert.deepEqual([never.news, never.state.pending?.sinceMs], [true, 20]);
  });
});

describe('a resize in progress', () => {
  it('keeps the generation of its start, and a known error', () => {
    const begun = withProgress({}, going, 10);
    assert.deepEqual(begun, { state: { inProgress: { ...going, sinceMs: 10 } }, news: true });
    const error = withProgress(begun.state, failed, 20);
    assert.deepEqual(error, { state: { inProgress: { ...failed, generation: 2, sinceMs: 20 } }, news: true });
    const on = withProgress(error.state, going, 30);
    assert.deepEqual(on, { state: error.state, news: false });
  });

  it('is news with another reason or another message', () => {
    const { state } = withProgress({}, failed, 10);
    assert.equal(withProgress(state, failed, 20).news, false);
    assert.equal(withProgress(state, { ...failed, message: 'other' }, 20).news, true);
    assert.equal(withProgress(state, { ...failed, reason: 'Other' }, 20).news, true);
    const silent = withProgress(state, { ...failed, message: '' }, 20);
    assert.equal(silent.state.inProgress?.message, '', 'an error without words is an error');
  });
});

describe('the state of a resize', () => {
  const both: ResizeState = {
    pending: { ...deferred, sinceMs: 1000 },
    inProgress: { ...failed, sinceMs: 2000 },
  };

  it('loses one half at a time', () => {
    assert.deepEqual(withoutPending(both), { inProgress: both.inProgress });
    assert.deepEqual(withoutProgress(both), { pending: both.pending });
    assert.deepEqual([withoutPending({}), withoutProgress({})].map(Object.keys), [[], []]);
  });

  it('is reported as conditions, and read back from them by the next agent', () => {
    const conditions = resizeConditions(both);
    assert.deepEqual(conditions, [
      {
        type: 'PodResizePending',
        status: 'True',
        lastTransitionTime: '1970-01-01T00:00:01Z',
        reason: 'Deferred',
        message: 'no room',
        observedGeneration: 2,
      },
      {
        type: 'PodResizeInProgress',
        status: 'True',
        lastTransitionTime: '1970-01-01T00:00:02Z',
        reason: 'Error',
        message: 'busy',
        observedGeneration: 3,
      },
    ]);
    assert.deepEqual(stateOfConditions(conditions), both);
  });

  it('leaves out empty parts', () => {
    const bare = resizeConditions({ inProgress: { reason: '', message: '', generation: 0, sinceMs: 0 } });
    assert.deepEqual(Object.keys(bare[0] ?? {}), ['type', 'status', 'lastTransitionTime']);
    assert.deepEqual(stateOfConditions(bare), {
      inProgress: { reason: '', message: '', generation: 0, sinceMs: 0 },
    });
  });

  it('is not read from conditions that are not true, of other types, or without a time', () => {
    assert.deepEqual(stateOfConditions([{ type: 'PodResizePending', status: 'False' }]), {});
    assert.deepEqual(stateOfConditions([{ type: 'Ready', status: 'True' }]), {});
    assert.equal(stateOfConditions([{ type: 'PodResizeInProgress', status: 'True' }]).inProgress?.sinceMs, 0);
    const never = stateOfConditions([{ type: 'PodResizePending', status: 'True', reason: 'Infeasible' }]);
    assert.equal(never.pending?.reason, 'Infeasible');
    const other = stateOfConditions([{ type: 'PodResizePending', status: 'True', reason: 'Unknown' }]);
    assert.equal(other.pending?.reason, 'Deferred');
  });
});
