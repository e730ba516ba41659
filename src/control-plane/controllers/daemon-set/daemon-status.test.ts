import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DaemonSetStatus } from '../../../api/apps/daemon-set.ts';
import { computeDaemonStatus, isSameStatus } from './daemon-status.ts';
import { buildDaemon as daemon, buildDaemonFacts, buildNode as node } from './testing/daemon-facts.ts';

describe('the status of a daemon set', () => {
  const nodes = [node('n1'), node('n2'), node('n3'), node('n4'), node('n5', 'closed'), node('n6', 'closed')];
  const pods = [
    daemon('a', 'n1', 'new ready'),
    daemon('b', 'n2', 'old ready', {
      'status.conditions': [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:59:59Z' }],
    }),
    daemon('c', 'n3', 'old'),
    daemon('d', 'n5', 'new ready'),
  ];
  const numbers = {
    desiredNumberScheduled: 4,
    currentNumberScheduled: 3,
    numberMisscheduled: 1,
    numberReady: 2,
    updatedNumberScheduled: 1,
    numberAvailable: 1,
    numberUnavailable: 3,
  };

  it('counts nodes by the state of their pod', () => {
    const facts = buildDaemonFacts({ spec: { minReadySeconds: 60 }, nodes, pods });
    assert.deepEqual(computeDaemonStatus(facts, true), { ...numbers, observedGeneration: 3 });
  });

  it('sets the observed generation only if the spec was handled, and keeps the fields of other clients', () => {
    const facts = buildDaemonFacts({ spec: { minReadySeconds: 60 }, nodes, pods });
    const status = { ...numbers, observedGeneration: 2, collisionCount: 1 };
    const earlier = { ...facts, daemonSet: { ...facts.daemonSet, status } };
    assert.deepEqual(computeDaemonStatus(earlier, false), status);
    assert.deepEqual(computeDaemonStatus(earlier, true), { ...status, observedGeneration: 3 });
  });

  it('uses the oldest pod of a node', () => {
    const two = [
      daemon('b', 'n1', 'new ready', { 'metadata.creationTimestamp': '2026-01-01T00:00:02Z' }),
      daemon('a', 'n1', 'old', { 'metadata.creationTimestamp': '2026-01-01T00:00:01Z' }),
    ];
    const status = computeDaemonStatus(buildDaemonFacts({ nodes: [node('n1')], pods: two }), true);
    assert.deepEqual([status.currentNumberScheduled, status.numberReady, status.updatedNumberScheduled], [1, 0, 0]);
  });
});

it('a status is written if a number differs; an absent number counts as 0', () => {
  const zero = { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 };
  assert.equal(isSameStatus(undefined, zero), false);
  assert.equal(isSameStatus(zero, { ...zero, numberAvailable: 0, observedGeneration: 0 }), true);
  assert.equal(isSameStatus({ ...zero, numberUnavailable: 0 }, zero), true);
  const numbers: readonly (keyof DaemonSetStatus)[] = [
    ...(['currentNumberScheduled', 'numberMisscheduled', 'desiredNumberScheduled', 'numberReady'] as const),
    ...(['observedGeneration', 'updatedNumberScheduled', 'numberAvailable', 'numberUnavailable'] as const),
  ];
  for (const name of numbers) assert.equal(isSameStatus(zero, { ...zero, [name]: 1 }), false, name);
});
