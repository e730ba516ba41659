import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorKind, KubeletError } from '../../../base/errors.ts';
import { runKillable, StuckChildren } from './linux-killable.ts';

test('a child is killed at its deadline, and one that could not be started is reported', async () => {
  const startMs = performance.now();
  await assert.rejects(
    runKillable('sleep', ['30'], { timeoutMs: 50, op: 'look' }),
    (error) => errorKind(error) === 'Timeout' && (error as Error).message === 'look: no answer within 50 ms',
  );
  assert.ok(performance.now() - startMs < 5000);
  await assert.rejects(
    runKillable('no-such-program-here', [], { timeoutMs: 1000, op: 'look' }),
    (error) => errorKind(error) === 'Unavailable',
  );
  assert.deepEqual(await runKillable('printf', ['%s', '$HOME; x'], { timeoutMs: 5000, op: 'look' }), {
    exitCode: 0,
    stdout: '$HOME; x',
    stderr: '',
  });
});

test('a subject is stuck until its last late child is gone; a child that is in time never makes it stuck', async () => {
  const stuck = new StuckChildren();
  const exits: (() => void)[] = [];
  const late = (subject: string): Promise<never> =>
    stuck.watch(subject, async (onExit) => {
      exits.push(onExit);
      throw new KubeletError('Timeout', 'no answer');
    });
  await Promise.all(
    ['/a', '/a', '/b'].map((subject) => assert.rejects(late(subject), (error) => errorKind(error) === 'Timeout')),
  );
  await stuck.watch('/c', async (onExit) => onExit());
  await assert.rejects(
    stuck.watch('/c', () => Promise.reject(new KubeletError('Invalid', 'no'))),
    (error) => errorKind(error) === 'Invalid',
  );
  assert.deepEqual([stuck.total, stuck.has('/a'), stuck.has('/b'), stuck.has('/c')], [3, true, true, false]);
  exits[0]?.();
  assert.deepEqual([stuck.total, stuck.has('/a')], [2, true]);
  exits[1]?.();
  exits[2]?.();
  assert.deepEqual([stuck.total, stuck.has('/a'), stuck.has('/b')], [0, false, false]);
});
