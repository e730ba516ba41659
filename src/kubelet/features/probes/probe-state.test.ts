import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { containerId } from '../../model/ids.ts';
import type { ProbeType } from '../../model/probe-result.ts';
import type { ProbeState } from './probe-state.ts';
import { adoptedState, freshState, hasStarted, nextProbeState, thresholdsOf } from './probe-state.ts';

const id = containerId('c1');

function play(type: ProbeType, thresholds: { success: number; failure: number }, results: string): string[] {
  let state: ProbeState = freshState(type, id);
  return [...results].map((letter) => {
    state = nextProbeState(type, thresholds, state, letter === '+' ? 'success' : 'failure');
    return `${state.verdict}${state.onHold ? ' (hold)' : ''}`;
  });
}

test('a result changes only after as many equal outcomes in a row as its threshold', () => {
  assert.deepEqual(play('readiness', { success: 2, failure: 3 }, '+-++--+---'), [
    'failure',
    'failure',
    'failure',
    'success',
    'success',
    'success',
    'success',
    'success',
    'success',
    'failure',
  ]);
});

test('a failed liveness probe applies until the container is replaced', () => {
  assert.deepEqual(play('liveness', { success: 1, failure: 2 }, '+--'), ['success', 'success', 'failure (hold)']);
});

test('a startup probe is final once it is decided, either way', () => {
  assert.deepEqual(
    [play('startup', { success: 1, failure: 2 }, '-+'), play('startup', { success: 1, failure: 2 }, '--')],
    [
      ['unknown', 'success (hold)'],
      ['unknown', 'failure (hold)'],
    ],
  );
});

test('an adopted container keeps its saved results, except those that would kill it', () => {
  const show = (type: ProbeType, remembered: 'success' | 'failure' | undefined): unknown[] => {
    const { verdict, assumed, onHold } = adoptedState(type, id, remembered);
    return [verdict, assumed, onHold];
  };
  assert.deepEqual(show('readiness', 'success'), ['success', false, false]);
  assert.deepEqual(show('readiness', 'failure'), ['failure', false, false]);
  assert.deepEqual(show('readiness', undefined), ['success', true, false]);
  assert.deepEqual(show('startup', 'success'), ['success', false, true]);
  assert.deepEqual(show('startup', 'failure'), ['unknown', false, false]);
  assert.deepEqual(show('startup', undefined), ['success', true, false]);
  assert.deepEqual(show('liveness', 'failure'), ['success', false, false]);
});

test('liveness probes do not begin on an assumed startup', () => {
  assert.deepEqual(
    [
      hasStarted(undefined),
      hasStarted(adoptedState('startup', id, undefined)),
      hasStarted(adoptedState('startup', id, 'success')),
      hasStarted(freshState('startup', id)),
    ],
    [true, false, true, false],
  );
});

test('absent numbers have the defaults of the API', () => {
  assert.deepEqual(thresholdsOf({}), { periodMs: 10_000, timeoutMs: 1_000, initialDelayMs: 0, success: 1, failure: 3 });
});

test('numbers of the pod are used as they are, in seconds', () => {
  assert.deepEqual(
    thresholdsOf({
      periodSeconds: 2,
      timeoutSeconds: 3,
      initialDelaySeconds: 4,
      successThreshold: 5,
      failureThreshold: 6,
    }),
    { periodMs: 2_000, timeoutMs: 3_000, initialDelayMs: 4_000, success: 5, failure: 6 },
  );
});

test('for any sequence, the result is the last outcome that reached its threshold', () => {
  const thresholds = fc.record({ success: fc.integer({ min: 1, max: 4 }), failure: fc.integer({ min: 1, max: 4 }) });
  fc.assert(
    fc.property(thresholds, fc.array(fc.constantFrom('+', '-'), { maxLength: 30 }), (limits, letters) => {
      const verdicts = play('readiness', limits, letters.join(''));
      let expected = 'failure';
      for (let end = 1; end <= letters.length; end++) {
        for (const [letter, verdict] of [
          ['+', 'success'],
          ['-', 'failure'],
        ] as const) {
          const tail = letters.slice(Math.max(0, end - limits[verdict]), end);
          if (tail.length === limits[verdict] && tail.every((each) => each === letter)) expected = verdict;
        }
        assert.equal(verdicts[end - 1], expected);
      }
    }),
  );
});

test('a remembered liveness result is ignored: the probe starts as success and must fail failureThreshold times', () => {
  for (const remembered of ['success', 'failure', undefined] as const)
    assert.deepEqual(adoptedState('liveness', id, remembered), freshState('liveness', id));
});

test('an assumed verdict is one of its own once a result confirms it', () => {
  const assumed = adoptedState('readiness', id, undefined);
  const confirmed = nextProbeState('readiness', { success: 1, failure: 1 }, assumed, 'success');
  assert.deepEqual([confirmed.verdict, confirmed.assumed], ['success', false]);
  const counting = nextProbeState('readiness', { success: 2, failure: 2 }, assumed, 'success');
  assert.deepEqual([counting.verdict, counting.assumed, counting.run], ['success', true, 1]);
  assert.equal(nextProbeState('readiness', { success: 2, failure: 2 }, counting, 'success').assumed, false);
});

test('the same result again and again is the same state', () => {
  const first = nextProbeState('readiness', { success: 1, failure: 1 }, freshState('readiness', id), 'success');
  assert.equal(nextProbeState('readiness', { success: 1, failure: 1 }, first, 'success'), first);
});
