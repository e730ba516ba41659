import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { StatefulSetStatus } from '../../../api/apps/stateful-set.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { SetFacts } from './set-plan.ts';
import { computeSetStatus, countSetPods, isSameStatus } from './set-status.ts';
import { buildMember as pod, buildSetFacts } from './testing/set-facts.ts';
import type { GivenSet } from './testing/set-facts.ts';

const statusOf = (facts: SetFacts, updating = 0): StatefulSetStatus =>
  computeSetStatus(facts, countSetPods(facts), { collisionCount: 2, updating });
const status = (given: GivenSet, updating = 0): StatefulSetStatus => statusOf(buildSetFacts(given), updating);

describe('the status of a set', () => {
  const pods = [
    pod(0, 'old ready'),
    pod(1, 'old running'),
    pod(2, 'new ready leaving'),
    pod(3, 'new', { 'status.conditions': [{ type: 'Ready', status: 'True' }] }),
    pod('x', 'new ready'),
  ];

  it('counts the pods with an ordinal, and terminating pods for no revision', () => {
    assert.deepEqual(status({ pods }), {
      ...{
        observedGeneration: 3,
        replicas: 4,
        readyReplicas: 2,
        availableReplicas: 2,
        currentReplicas: 2,
        updatedReplicas: 1,
      },
      ...{ currentRevision: 'old', updateRevision: 'new', collisionCount: 2 },
    });
  });

  it('counts a pod as available after minReadySeconds', () => {
    assert.equal(status({ spec: { minReadySeconds: 3_600 }, pods }).availableReplicas, 2);
    assert.equal(status({ spec: { minReadySeconds: 3_601 }, pods }).availableReplicas, 0);
  });

  it('does not count pods of the current revision that this pass deletes', () => {
    assert.equal(status({ pods }, 1).currentReplicas, 1);
    assert.equal(status({ pods }, 3).currentReplicas, 0);
  });

  it('keeps the conditions of other clients', () => {
    const facts = buildSetFacts({});
    const conditions = [{ type: 'Own', status: 'True' as const }];
    const set = { ...facts.set, status: { replicas: 0, availableReplicas: 0, conditions } };
    assert.deepEqual(statusOf({ ...facts, set }).conditions, conditions);
    assert.equal('conditions' in statusOf(facts), false);
  });
});

describe('an update is complete', () => {
  const three = (...words: string[]): Pod[] => words.map((each, ordinal) => pod(ordinal, each));
  const current = (given: GivenSet): [string | undefined, number | undefined] => {
    const { currentRevision, currentReplicas } = status(given);
    return [currentRevision, currentReplicas];
  };

  it('if all pods are ready and of the new revision', () => {
    assert.deepEqual(current({ pods: three('new ready', 'new ready', 'new ready') }), ['new', 3]);
  });

  it('and not before, nor while other pods exist', () => {
    assert.deepEqual(current({ pods: three('new ready', 'new ready', 'new running') }), ['old', 0]);
    assert.deepEqual(current({ pods: three('old ready', 'new ready', 'new ready') }), ['old', 1]);
    assert.deepEqual(current({ pods: three('new ready', 'new ready', 'new ready', 'old leaving') }), ['old', 0]);
    assert.deepEqual(current({ pods: three('new ready', 'new ready') }), ['old', 0]);
  });

  it('but never with OnDelete', () => {
    const spec = { updateStrategy: { type: 'OnDelete' as const } };
    assert.deepEqual(current({ spec, pods: three('new ready', 'new ready', 'new ready') }), ['old', 0]);
  });
});

it('a status is written if a number or a revision differs; an absent number counts as 0', () => {
  const zero: StatefulSetStatus = { replicas: 0, availableReplicas: 0, currentRevision: 'a', updateRevision: 'a' };
  assert.equal(isSameStatus(undefined, zero), false);
  assert.equal(isSameStatus(zero, { ...zero, readyReplicas: 0, collisionCount: 0 }), true);
  assert.equal(isSameStatus({ ...zero, readyReplicas: 0 }, zero), true);
  for (const changed of [
    ...[
      'observedGeneration',
      'replicas',
      'readyReplicas',
      'currentReplicas',
      'updatedReplicas',
      'availableReplicas',
      'collisionCount',
    ].map((name) => ({ [name]: 1 })),
    ...[{ currentRevision: 'b' }, { updateRevision: 'b' }],
  ])
    assert.equal(isSameStatus(zero, { ...zero, ...changed }), false, JSON.stringify(changed));
});
