import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { StatefulSetSpec } from '../../../api/apps/stateful-set.ts';
import { planStatefulSet } from './set-plan.ts';
import { buildClaim, buildMember as pod, buildSetFacts, dataTemplate, podOwner } from './testing/set-facts.ts';
import type { GivenSet } from './testing/set-facts.ts';

/** Formats the steps as `create db-0, then update db-1, then waits for data-db-0`, with a group for each `then`. */
function planned(given: GivenSet): string {
  const { groups, waitsForClaims } = planStatefulSet(buildSetFacts(given));
  const shown = groups
    .filter((steps) => steps.length > 0)
    .map((steps) =>
      steps.map((step) => `${step.isUpdate === true ? 'update' : step.kind} ${step.pod.metadata.name}`).join(', '),
    );
  return [...shown, ...waitsForClaims.map((name) => `waits for ${name}`)].join(', then ');
}

const parallel: Partial<StatefulSetSpec> = { podManagementPolicy: 'Parallel' };
const withClaims: Partial<StatefulSetSpec> = { volumeClaimTemplates: [dataTemplate] };
const whenScaled: Partial<StatefulSetSpec> = {
  ...withClaims,
  persistentVolumeClaimRetentionPolicy: { whenScaled: 'Delete', whenDeleted: 'Retain' },
};
const three = (words: string): ReturnType<typeof pod>[] => [pod(0, words), pod(1, words), pod(2, words)];

it('a set that is being deleted is not changed', () => {
  assert.equal(planned({ metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }), '');
});

describe('an ordered set', () => {
  it('creates its pods one after another, each when the previous one is available', () => {
    assert.equal(planned({}), 'create db-0');
    assert.equal(planned({ pods: [pod(0, 'new')] }), '');
    assert.equal(planned({ pods: [pod(0, 'new running')] }), '');
    assert.equal(planned({ pods: [pod(0, 'new ready', { 'status.phase': 'Pending' })] }), '');
    assert.equal(planned({ pods: [pod(0, 'new ready leaving')] }), '');
    assert.equal(planned({ pods: [pod(0, 'new ready')] }), 'create db-1');
    assert.equal(planned({ pods: three('new ready') }), '');
  });

  it('waits minReadySeconds for each pod', () => {
    assert.equal(planned({ spec: { minReadySeconds: 3_600 }, pods: [pod(0, 'new ready')] }), 'create db-1');
    assert.equal(planned({ spec: { minReadySeconds: 3_601 }, pods: [pod(0, 'new ready')] }), '');
  });

  it('starts at its first ordinal, and has one pod by default', () => {
    assert.equal(planned({ spec: { ordinals: { start: 5 } }, pods: [pod(5, 'new ready')] }), 'create db-6');
    assert.equal(planned({ spec: { ordinals: { start: 5 } }, pods: [pod(4, 'new ready')] }), 'create db-5');
    const facts = buildSetFacts({ pods: [pod(0, 'new ready')] });
    const { replicas: _, ...spec } = facts.set.spec;
    assert.deepEqual(planStatefulSet({ ...facts, set: { ...facts.set, spec } }).groups.flat(), []);
  });

  it('recreates an ended pod before it does anything else', () => {
    assert.equal(planned({ pods: [pod(0, 'new failed')] }), 'delete db-0');
    assert.equal(planned({ pods: [pod(0, 'new done')] }), 'delete db-0');
    assert.equal(planned({ pods: [pod(0, 'new failed leaving')] }), '');
  });

  it('ignores pods whose name has no ordinal', () => {
    assert.equal(planned({ pods: [...three('new ready'), pod('x', 'new ready')] }), '');
  });
});

describe('a parallel set', () => {
  it('creates all pods at once, whatever the state of the others', () => {
    assert.equal(planned({ spec: parallel }), 'create db-0, create db-1, create db-2');
    assert.equal(planned({ spec: parallel, pods: [pod(0, 'new')] }), 'create db-1, create db-2');
    assert.equal(planned({ spec: parallel, pods: [pod(1, 'new failed')] }), 'create db-0, delete db-1, create db-2');
  });

  it('deletes all surplus pods at once, and updates old ones at the same time', () => {
    const pods = [pod(0, 'old ready'), pod(1, 'new'), pod(2, 'new'), pod(3, 'new leaving')];
    assert.equal(planned({ spec: { ...parallel, replicas: 1 }, pods }), 'delete db-2, delete db-1, then update db-0');
  });
});

describe('claims', () => {
  const claims = [0, 1, 2].map((ordinal) => buildClaim(ordinal));

  it('are created for a pod that will be created, and not for a running one', () => {
    const spec = { ...withClaims, replicas: 1 };
    assert.equal(planned({ spec, pods: [pod(0, 'new data')] }), 'claims db-0');
    assert.equal(planned({ spec, pods: [pod(0, 'new data', { 'status.phase': 'Pending' })] }), 'claims db-0');
    assert.equal(planned({ spec, pods: [pod(0, 'new data')], claims }), '');
    assert.equal(planned({ spec, pods: [pod(0, 'new data ready')] }), '');
  });

  it('that are being deleted are reported, and the pod is created once they are gone', () => {
    const leaving = [buildClaim(0, { leaving: true })];
    assert.equal(planned({ spec: withClaims, claims: leaving }), 'create db-0, then waits for data-db-0');
    assert.equal(planned({ spec: withClaims, claims }), 'create db-0');
  });

  it('of an earlier pod of the same name delay the new pod if they are deleted with that pod', () => {
    const stale = [buildClaim(0, { owners: [podOwner(0, 'earlier')] })];
    assert.equal(planned({ spec: whenScaled, claims: stale }), 'waits for data-db-0');
    assert.equal(planned({ spec: withClaims, claims: stale }), 'create db-0');
  });

  it('get the owners of the retention policy, for desired and for surplus pods', () => {
    const whenDeleted = {
      ...whenScaled,
      persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete' as const, whenScaled: 'Retain' as const },
    };
    const pods = three('new ready data');
    assert.equal(planned({ spec: whenDeleted, pods, claims }), 'retain db-0, retain db-1, retain db-2');
    assert.equal(planned({ spec: { ...whenScaled, replicas: 2 }, pods, claims }), 'retain db-2, then delete db-2');
    assert.equal(planned({ spec: { ...withClaims, replicas: 2 }, pods, claims }), 'delete db-2');
  });

  it('and labels that a pod has lost are repaired first', () => {
    const [first, ...others] = three('new ready data');
    const pods = [pod(0, 'new ready'), ...others];
    assert.equal(planned({ spec: withClaims, pods, claims }), 'repair db-0');
    assert.equal(planned({ spec: withClaims, pods: [first as (typeof pods)[0], ...others], claims }), '');
  });
});

describe('scaling an ordered set down', () => {
  const down = (...pods: ReturnType<typeof pod>[]): string =>
    planned({ spec: { replicas: 1 }, pods: [pod(0, 'new ready'), ...pods] });

  it('deletes the highest ordinal first, one at a time', () => {
    assert.equal(down(pod(1, 'new ready'), pod(3, 'new ready'), pod(2, 'new ready')), 'delete db-3');
    assert.equal(down(pod(1, 'new ready'), pod(2, 'new ready leaving')), '');
  });

  it('waits while another pod is not available, and deletes the first unavailable one', () => {
    assert.equal(down(pod(1, 'new'), pod(2, 'new')), '');
    assert.equal(down(pod(1, 'new ready'), pod(2, 'new')), 'delete db-2');
    assert.equal(down(pod(1, 'new ready leaving'), pod(2, 'new')), '');
    assert.equal(down(pod(1, 'new'), pod(2, 'new ready')), 'delete db-2');
  });

  it('does not wait for an ended pod, which never becomes ready', () => {
    assert.equal(down(pod(1, 'new failed'), pod(2, 'new failed')), 'delete db-2');
  });

  it('precedes the update', () => {
    assert.equal(planned({ spec: { replicas: 1 }, pods: [pod(0, 'old ready'), pod(1, 'old ready')] }), 'delete db-1');
    assert.equal(planned({ spec: { replicas: 1 }, pods: [pod(0, 'old ready')] }), 'update db-0');
  });
});

describe('an update', () => {
  const updated = (spec: Partial<StatefulSetSpec>, ...pods: ReturnType<typeof pod>[]): string =>
    planned({ spec, pods });

  it('goes from the highest ordinal down, one at a time', () => {
    assert.equal(updated({}, ...three('old ready')), 'update db-2');
    assert.equal(updated({}, pod(0, 'old ready'), pod(1, 'old ready'), pod(2, 'new ready')), 'update db-1');
    assert.equal(updated({}, ...three('new ready')), '');
  });

  it('stops at the partition, and does not start with OnDelete', () => {
    const partition = (partition: number): Partial<StatefulSetSpec> => ({
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition } },
    });
    assert.equal(updated(partition(2), pod(0, 'old ready'), pod(1, 'old ready'), pod(2, 'new ready')), '');
    assert.equal(updated(partition(1), pod(0, 'old ready'), pod(1, 'old ready'), pod(2, 'new ready')), 'update db-1');
    assert.equal(updated({ updateStrategy: { type: 'OnDelete' } }, ...three('old ready')), '');
    assert.equal(updated({ updateStrategy: { type: 'RollingUpdate' } }, ...three('old ready')), 'update db-2');
  });

  it('of a parallel set waits for a higher pod that is still being updated', () => {
    assert.equal(updated(parallel, pod(0, 'old ready'), pod(1, 'old ready'), pod(2, 'new')), '');
    assert.equal(updated(parallel, pod(0, 'old ready'), pod(1, 'old ready'), pod(2, 'old leaving')), '');
    assert.equal(updated({ ...parallel, minReadySeconds: 3_601 }, ...three('new ready')), '');
    assert.equal(updated(parallel, pod(0, 'old ready'), pod(1, 'old ready')), 'create db-2');
    assert.equal(updated(parallel, pod(0, 'old ready'), pod(1, 'new ready'), pod(2, 'new ready')), 'update db-0');
    assert.equal(updated(parallel, pod(0, 'old'), pod(1, 'old'), pod(2, 'old')), 'update db-2');
  });

  describe('with maxUnavailable', () => {
    const many = (maxUnavailable: number | string): Partial<StatefulSetSpec> => ({
      ...parallel,
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0, maxUnavailable } },
    });

    it('replaces as many pods as may be unavailable (percentages are rounded down), at least one', () => {
      assert.equal(updated(many(2), ...three('old ready')), 'update db-2, update db-1');
      assert.equal(updated(many('99%'), ...three('old ready')), 'update db-2, update db-1');
      assert.equal(updated(many('10%'), ...three('old ready')), 'update db-2');
    });

    it('counts unavailable pods', () => {
      assert.equal(updated(many(2), pod(0, 'old ready'), pod(1, 'old ready'), pod(2, 'new')), 'update db-1');
      assert.equal(updated(many(2), pod(0, 'old ready'), pod(1, 'new'), pod(2, 'new')), '');
      assert.equal(updated(many(1), pod(0, 'old ready'), pod(1, 'new'), pod(2, 'new')), '');
      assert.equal(
        updated(many(2), pod(0, 'old ready'), pod(1, 'old ready'), pod(2, 'old ready leaving')),
        'update db-1',
      );
      assert.equal(updated(many(2), pod(0, 'old ready'), pod(1, 'old ready')), 'create db-2, then update db-1');
    });
  });
});
