import assert from 'node:assert/strict';
import { it } from 'node:test';
import { findCondition, isConditionTrue, withCondition } from './conditions.ts';

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly lastTransitionTime?: string;
}

const nowMs = Date.parse('2026-01-01T12:00:00Z');
const [then, now] = ['2026-01-01T11:00:00Z', '2026-01-01T12:00:00Z'];
const ready: Condition = { type: 'Ready', status: 'True', reason: 'A', lastTransitionTime: then };
const other: Condition = { type: 'Other', status: 'Unknown', reason: '' };

it('a condition is found by its type, and holds only when it says True', () => {
  assert.deepEqual([findCondition([other, ready], 'Ready'), findCondition(undefined, 'Ready')], [ready, undefined]);
  assert.deepEqual(
    [isConditionTrue([ready], 'Ready'), isConditionTrue([other], 'Other'), isConditionTrue([], 'Ready')],
    [true, false, false],
  );
});

it('a condition takes the place of the one of its type, or comes last', () => {
  assert.deepEqual(withCondition([ready, other], { type: 'Ready', status: 'False', reason: 'B' }, nowMs), [
    { type: 'Ready', status: 'False', reason: 'B', lastTransitionTime: now },
    other,
  ]);
  assert.deepEqual(withCondition(undefined, { ...other }, nowMs), [{ ...other, lastTransitionTime: now }]);
});

it('its time changes with its status only, and is filled in where it is missing', () => {
  assert.deepEqual(withCondition([ready], { type: 'Ready', status: 'True', reason: 'B' }, nowMs), [
    { ...ready, reason: 'B' },
  ]);
  assert.deepEqual(withCondition([other], { ...other }, nowMs), [{ ...other, lastTransitionTime: now }]);
});
