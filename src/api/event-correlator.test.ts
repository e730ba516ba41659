import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventCorrelator } from './event-correlator.ts';
import { makeEvent } from './make-event.ts';

const MINUTE = 60_000;

/** Returns a function that records an event with a message and returns the result: `text xCOUNT`, or `-`. */
function createRecorder(): (
  message: string,
  atMs?: number,
  more?: { reason?: string; container?: string; type?: 'Normal' | 'Warning' },
) => string {
  const correlator = new EventCorrelator();
  let serial = 0;
  return (message, atMs = 0, { reason = 'Unhealthy', container, type = 'Warning' } = {}) => {
    const event = makeEvent(
      {
        kind: 'Pod',
        namespace: 'default',
        name: 'web',
        uid: 'u',
        ...(container !== undefined && { fieldPath: `spec.containers{${container}}` }),
      },
      { type, reason, message },
      { nowMs: atMs, serial: serial++, component: 'kubelet', host: 'n' },
    );
    const result = correlator.correlate(event, atMs);
    return result.kind === 'skip' ? '-' : `${result.event.message} x${result.event.count}`;
  };
}

test('equal events are counted, each container for itself, and keep their first time', () => {
  const record = createRecorder();
  assert.deepEqual(
    [
      record('m'),
      record('m', 1_000),
      record('m', 2_000, { container: 'a' }),
      record('m', 3_000, { container: 'b' }),
      record('m', 4_000),
    ],
    ['m x1', 'm x2', 'm x1', 'm x1', 'm x3'],
  );
});

test('the tenth different message of one reason, and what follows within ten minutes, is combined and counted', () => {
  const record = createRecorder();
  const first = Array.from({ length: 9 }, (_, index) => record(`m${index}`, index));
  assert.deepEqual(
    first,
    Array.from({ length: 9 }, (_, index) => `m${index} x1`),
  );
  assert.deepEqual(
    [record('m9', 9 * MINUTE), record('m10', 18 * MINUTE), record('other', 18 * MINUTE, { reason: 'BackOff' })],
    ['(combined from similar events): m9 x1', '(combined from similar events): m10 x2', 'other x1'],
  );
  assert.equal(record('m11', 29 * MINUTE), 'm11 x1');
});

test('of one object 25 events are heard at once, then one each five minutes; warnings and the rest have their own budgets', () => {
  const record = createRecorder();
  for (let index = 0; index < 25; index++) assert.equal(record('m'), `m x${index + 1}`);
  assert.deepEqual(
    [record('m'), record('m', 4 * MINUTE), record('m', 5 * MINUTE), record('m', 6 * MINUTE)],
    ['-', '-', 'm x28', '-'],
  );
  assert.equal(record('n', 6 * MINUTE, { type: 'Normal' }), 'n x1');
});

test('a clock that was set back takes nothing away', () => {
  const record = createRecorder();
  assert.deepEqual([record('m', 10 * MINUTE), record('m', 0), record('k', 0)], ['m x1', 'm x2', 'k x1']);
});
