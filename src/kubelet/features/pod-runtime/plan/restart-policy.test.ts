import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aContainer, aPod, aRun, aStatus } from '../testing/builders.ts';
import { isInitFailed, resetSources, restartsAfterExit, shouldBeStarted } from './restart-policy.ts';

test('an init container failed when it ended with an error, ran out of memory, or has an unknown state', () => {
  assert.deepEqual(
    [
      aRun('i', 1),
      aRun('i', 0, { reason: 'OOMKilled' }),
      aRun('i', 'unknown'),
      aRun('i', 0),
      aRun('i', 'running', { exitCode: 1 }),
    ].map(isInitFailed),
    [true, true, true, false, false],
  );
});

test('a container is started if it is not running, has an unknown state or was only created', () => {
  const never = aPod({ restartPolicy: 'Never' });
  const app = aContainer('app');
  const starts = [aRun('app', 'running'), aRun('app', 'unknown'), aRun('app', 'created'), aRun('app', 1)].map((run) =>
    shouldBeStarted(never, app, run),
  );
  assert.deepEqual(starts, [false, true, true, false]);
  assert.equal(shouldBeStarted(aPod(), app, aRun('app', 'running')), false, 'whatever the policy');
});

test('a rule without exit codes matches no exit, and NotIn an empty list matches every exit', () => {
  const never = aPod({ restartPolicy: 'Never' });
  const withRule = (exitCodes?: { operator: 'In' | 'NotIn'; values?: number[] }): boolean =>
    restartsAfterExit(
      never,
      aContainer('app', {
        restartPolicy: 'Never',
        restartPolicyRules: [exitCodes === undefined ? { action: 'Restart' } : { action: 'Restart', exitCodes }],
      }),
      1,
    );
  assert.deepEqual([withRule(), withRule({ operator: 'In' }), withRule({ operator: 'NotIn' })], [false, false, true]);
});

test('the run that requests the reset is returned with its container', () => {
  const asks = aContainer('app', {
    restartPolicy: 'Never',
    restartPolicyRules: [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }],
  });
  const exited = aRun('app', 42);
  assert.deepEqual(resetSources(aPod({ containers: [asks] }), aStatus([exited])), [{ container: asks, exited }]);
});
