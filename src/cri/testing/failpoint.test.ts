import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isKind } from '../../base/errors.ts';
import { Failpoint } from './failpoint.ts';

function kinds(script: string, calls: number): string[] {
  const failpoint = new Failpoint(script);
  return Array.from({ length: calls }, () => failpoint.next().kind);
}

test('terms serve their counts one after the other and then nothing happens', () => {
  assert.deepEqual(kinds('1*off->2*error(oops)->1*hang', 5), ['off', 'error', 'error', 'hang', 'off']);
});

test('a term without a count serves all calls that follow', () => {
  assert.deepEqual(kinds('1*delay(5) -> hang', 4), ['delay', 'hang', 'hang', 'hang']);
});

test('a count of zero is skipped', () => {
  assert.deepEqual(kinds('0*hang->1*late', 2), ['late', 'off']);
});

test('arguments are milliseconds for waits, and a code with a message for errors', () => {
  const faults = [
    'delay(20)',
    'late(30)',
    'late',
    'error',
    'error(oops)',
    'error(NotFound)',
    'error(Unavailable: down: now)',
    'lost',
    'lost(Internal: a (b))',
  ].map((script) => new Failpoint(script).next());
  assert.deepEqual(faults, [
    { kind: 'delay', delayMs: 20 },
    { kind: 'late', delayMs: 30 },
    { kind: 'late', delayMs: Infinity },
    { kind: 'error', status: { code: 2, details: 'failpoint' } },
    { kind: 'error', status: { code: 2, details: 'oops' } },
    { kind: 'error', status: { code: 5, details: 'failpoint' } },
    { kind: 'error', status: { code: 14, details: 'down: now' } },
    { kind: 'lost', status: { code: 14, details: 'failpoint' } },
    { kind: 'lost', status: { code: 13, details: 'a (b)' } },
  ]);
});

test('a script that cannot be read is invalid', () => {
  for (const script of ['', 'panic', '2*', 'x*error', 'hang(3)', 'delay', 'delay(soon)', 'error->', '1*error 2*hang']) {
    assert.throws(
      () => new Failpoint(script),
      (error) => isKind(error, 'Invalid'),
      script,
    );
  }
});
