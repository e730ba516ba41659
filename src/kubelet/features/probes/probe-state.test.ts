import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { containerId } from '../../model/ids.ts';
import type { ProbeType } from '../../model/probe-result.ts';
import { adoptedState, freshState, hasStarted, nextProbeState, thresholdsOf, type ProbeState } from './probe-state.ts';

const id = containerId('c1');

function play(type: ProbeType, thresholds: { success: number; failure: number }, results: string): string[] {
  let state: ProbeState = freshState(type, id);
  return [...results].map((letter) => {
    state = nextProbeState(type, thresholds, state, letter === '+' ? 'success' : 'failure');
    return `${state.verdict}${state.onHold ? ' (hold)' : ''}`;
  });
}

test('a verdict changes only after as many results in a row as its threshold says', () => {
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

test('a failed liveness probe holds until there is another container', () => {
  assert.deepEqual(play('liveness', { success: 1, failure: 2 }, '+--'), ['success', 'success', 'failure (hold)']);
});

test('a startup probe holds once it is decided, either way', () => {
  assert.deepEqual(
    [play('startup', { success: 1, failure: 2 }, '-+'), play('startup', { success: 1, failure: 2 }, '--')],
    [
      ['unknown', 'success (hold)'],
      ['unknown', 'failure (hold)'],
    ],
  );
});

test('an adopted container keeps what is remembered, but nothing that would kill it', () => {
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

test('liveness does not begin on an assumption', () => {
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

test('numbers that were left out are those of the API', () => {
  assert.deepEqual(thresholdsOf({}), { periodMs: 10_000, timeoutMs: 1_000, initialDelayMs: 0, success: 1, failure: 3 });
});

test('numbers of the pod are taken as they are, in seconds', () => {
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

test('a verdict is the last result that came as often in a row as its threshold, whatever the results', () => {
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
