import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aContainer, aPod } from '../testing/builders.ts';
import { computeTerminationOrder } from './termination-order.ts';

const pod = aPod({
  initContainers: [
    aContainer('proxy', { restartPolicy: 'Always' }),
    aContainer('migrate'),
    aContainer('logs', { restartPolicy: 'Always' }),
  ],
  containers: [aContainer('app'), aContainer('cache')],
});
const orderOf = (...running: string[]): Record<string, string[]> =>
  Object.fromEntries(computeTerminationOrder(pod, running));

test('a sidecar ends after the regular containers and after the sidecars that started later', () => {
  assert.deepEqual(orderOf('proxy', 'logs', 'app', 'cache'), {
    logs: ['app', 'cache'],
    proxy: ['app', 'cache', 'logs'],
  });
});

test('a sidecar waits only for what runs', () => {
  assert.deepEqual(orderOf('proxy', 'app'), { logs: ['app'], proxy: ['app'] });
});

test('a pod without sidecars ends all at once', () => {
  assert.deepEqual([...computeTerminationOrder(aPod(), ['app'])], []);
});
