import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ReplicaSet } from '../../../api/apps/replica-set.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { planReplicas } from './replica-set-plan.ts';

const setOf = (replicas: number | undefined, metadata: object = {}): ReplicaSet =>
  ({ metadata: { name: 'web', namespace: 'default', uid: 'r', ...metadata }, spec: { replicas } }) as ReplicaSet;
const pods = (count: number): Pod[] =>
  Array.from({ length: count }, (_, index) => buildPod({ 'metadata.name': `p${index}`, 'metadata.uid': `p${index}` }));
const plan = (replicas: number | undefined, active: readonly Pod[], metadata: object = {}) =>
  planReplicas(setOf(replicas, metadata), active.length, { active: () => active, related: () => active }, 0);

describe('the number of pods of a replica set', () => {
  it('missing pods are created, at most 500 in one pass', () => {
    assert.deepEqual(plan(3, pods(1)), { kind: 'create', count: 2 });
    assert.deepEqual(plan(600, pods(1)), { kind: 'create', count: 500 });
    assert.deepEqual(plan(501, pods(1)), { kind: 'create', count: 500 });
    assert.deepEqual(plan(undefined, []), { kind: 'create', count: 1 });
  });

  it('no pod is created or deleted if the number is right, or if the set is being deleted', () => {
    assert.deepEqual(plan(2, pods(2)), { kind: 'nothing' });
    for (const active of [pods(0), pods(5)])
      assert.deepEqual(plan(2, active, { deletionTimestamp: '2026-01-01T00:00:00Z' }), { kind: 'nothing' });
  });

  it('surplus pods are deleted, unscheduled ones first, at most 500 in one pass', () => {
    const [first, second, third] = pods(3) as [Pod, Pod, Pod];
    const onNode = { ...first, spec: { ...first.spec, nodeName: 'n' } };
    const other = { ...third, spec: { ...third.spec, nodeName: 'n' } };
    const chosen = plan(2, [onNode, second, other]);
    assert.deepEqual(chosen.kind === 'delete' && chosen.pods.map(({ metadata }) => metadata.name), ['p1']);
    const many = plan(0, pods(510));
    assert.equal(many.kind === 'delete' && many.pods.length, 500);
  });
});
