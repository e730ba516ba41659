import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { StatefulSetSpec } from '../../../api/apps/stateful-set.ts';
import { planStatefulSet } from './set-plan.ts';
import { buildClaim, buildMember as pod, buildSetFacts, dataTemplate, podOwner } from './testing/set-facts.ts';
import type { GivenSet } from './testing/set-facts.ts';

/** `create db-0, then update db-1, then waits for data-db-0`: a group for each `then`. */
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

it('a set that is deleted is left alone', () => {
  assert.equal(planned({ metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }), '');
});

describe('an ordered set', () => {
  it('makes one pod after the other, each when the one before is available', () => {
    assert.equal(planned({}), 'create db-0');
    assert.equal(planned({ pods: [pod(0, 'new')] }), '');
    assert.equal(planned({ pods: [pod(0, 'new running')] }), '');
    assert.equal(planned({ pods: [pod(0, 'new ready', { 'status.phase': 'Pending' })] }), '');
    assert.equal(planned({ pods: [pod(0, 'new ready leaving')] }), '');
    assert.equal(planned({ pods: [pod(0, 'new ready')] }), 'create db-1');
    assert.equal(planned({ pods: three('new ready') }), '');
  });

  it('waits until a pod was ready for so long', () => {
    assert.equal(planned({ spec: { minReadySeconds: 3_600 }, pods: [pod(0, 'new ready')] }), 'create db-1');
    assert.equal(planned({ spec: { minReadySeconds: 3_601 }, pods: [pod(0, 'new ready')] }), '');
  });

  it('counts from its first ordinal, and has one pod where no number is given', () => {
    assert.equal(planned({ spec: { ordinals: { start: 5 } }, pods: [pod(5, 'new ready')] }), 'create db-6');
    assert.equal(planned({ spec: { ordinals: { start: 5 } }, pods: [pod(4, 'new ready')] }), 'create db-5');
    const facts = buildSetFacts({ pods: [pod(0, 'new ready')] });
    const { replicas: _, ...spec } = facts.set.spec;
    assert.deepEqual(planStatefulSet({ ...facts, set: { ...facts.set, spec } }).groups.flat(), []);
  });

  it('makes a pod that has ended again, and nothing else before', () => {
    assert.equal(planned({ pods: [pod(0, 'new failed')] }), 'delete db-0');
    assert.equal(planned({ pods: [pod(0, 'new done')] }), 'delete db-0');
    assert.equal(planned({ pods: [pod(0, 'new failed leaving')] }), '');
  });

  it('ignores pods whose name has no ordinal', () => {
    assert.equal(planned({ pods: [...three('new ready'), pod('x', 'new ready')] }), '');
  });
});

describe('a parallel set', () => {
  it('makes all pods at once, whatever the others are', () => {
    assert.equal(planned({ spec: parallel }), 'create db-0, create db-1, create db-2');
    assert.equal(planned({ spec: parallel, pods: [pod(0, 'new')] }), 'create db-1, create db-2');
    assert.equal(planned({ spec: parallel, pods: [pod(1, 'new failed')] }), 'create db-0, delete db-1, create db-2');
  });

  it('deletes all surplus pods at once, and those of it that are old update meanwhile', () => {
    const pods = [pod(0, 'old ready'), pod(1, 'new'), pod(2, 'new'), pod(3, 'new leaving')];
    assert.equal(planned({ spec: { ...parallel, replicas: 1 }, pods }), 'delete db-2, delete db-1, then update db-0');
  });
});

describe('claims', () => {
  const claims = [0, 1, 2].map((ordinal) => buildClaim(ordinal));

  it('claims that are missing are made for a pod that waits, and not for one that runs', () => {
    const spec = { ...withClaims, replicas: 1 };
    assert.equal(planned({ spec, pods: [pod(0, 'new data')] }), 'claims db-0');
    assert.equal(planned({ spec, pods: [pod(0, 'new data', { 'status.phase': 'Pending' })] }), 'claims db-0');
    assert.equal(planned({ spec, pods: [pod(0, 'new data')], claims }), '');
    assert.equal(planned({ spec, pods: [pod(0, 'new data ready')] }), '');
  });

  it('claims that are being deleted are reported: the pod is made once they are gone', () => {
    const leaving = [buildClaim(0, { leaving: true })];
    assert.equal(planned({ spec: withClaims, claims: leaving }), 'create db-0, then waits for data-db-0');
    assert.equal(planned({ spec: withClaims, claims }), 'create db-0');
  });

  it('claims of an earlier pod of the name keep a pod from being made while they go with it', () => {
    const stale = [buildClaim(0, { owners: [podOwner(0, 'earlier')] })];
    assert.equal(planned({ spec: whenScaled, claims: stale }), 'waits for data-db-0');
    assert.equal(planned({ spec: withClaims, claims: stale }), 'create db-0');
  });

  it('claims get the owners of the retention policy, for pods that stay and for surplus ones', () => {
    const whenDeleted = {
      ...whenScaled,
      persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete' as const, whenScaled: 'Retain' as const },
    };
    const pods = three('new ready data');
    assert.equal(planned({ spec: whenDeleted, pods, claims }), 'retain db-0, retain db-1, retain db-2');
    assert.equal(planned({ spec: { ...whenScaled, replicas: 2 }, pods, claims }), 'retain db-2, then delete db-2');
    assert.equal(planned({ spec: { ...withClaims, replicas: 2 }, pods, claims }), 'delete db-2');
  });

  it('claims and labels that a pod has lost are repaired before all else', () => {
    const [first, ...others] = three('new ready data');
    const pods = [pod(0, 'new ready'), ...others];
    assert.equal(planned({ spec: withClaims, pods, claims }), 'repair db-0');
    assert.equal(planned({ spec: withClaims, pods: [first as (typeof pods)[0], ...others], claims }), '');
  });
});

describe('scaling an ordered set down', () => {
  const down = (...pods: ReturnType<typeof pod>[]): string =>
    planned({ spec: { replicas: 1 }, pods: [pod(0, 'new ready'), ...pods] });

  it('takes the highest ordinal, one at a time', () => {
    assert.equal(down(pod(1, 'new ready'), pod(3, 'new ready'), pod(2, 'new ready')), 'delete db-3');
    assert.equal(down(pod(1, 'new ready'), pod(2, 'new ready leaving')), '');
  });

  it('waits while another pod is not available, and takes the first that is not', () => {
    assert.equal(down(pod(1, 'new'), pod(2, 'new')), '');
    assert.equal(down(pod(1, 'new ready'), pod(2, 'new')), 'delete db-2');
    assert.equal(down(pod(1, 'new ready leaving'), pod(2, 'new')), '');
    assert.equal(down(pod(1, 'new'), pod(2, 'new ready')), 'delete db-2');
  });

  it('scaling an ordered set down does not wait for a pod that has ended, which never becomes ready', () => {
    assert.equal(down(pod(1, 'new failed'), pod(2, 'new failed')), 'delete db-2');
  });

  it('scaling an ordered set down comes before the update', () => {
    assert.equal(planned({ spec: { replicas: 1 }, pods: [pod(0, 'old ready'), pod(1, 'old ready')] }), 'delete db-1');
    assert.equal(planned({ spec: { replicas: 1 }, pods: [pod(0, 'old ready')] }), 'update db-0');
  });
});

describe('an update', () => {
  const updated = (spec: Partial<StatefulSetSpec>, ...pods: ReturnType<typeof pod>[]): string =>
    planned({ spec, pods });

  it('an update goes from the highest ordinal down, one at a time', () => {
    assert.equal(updated({}, ...three('old ready')), 'update db-2');
    assert.equal(updated({}, pod(0, 'old ready'), pod(1, 'old ready'), pod(2, 'new ready')), 'update db-1');
    assert.equal(updated({}, ...three('new ready')), '');
  });

  it('stops at the partition, and does not begin when users delete pods', () => {
    const partition = (partition: number): Partial<StatefulSetSpec> => ({
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition } },
    });
    assert.equal(updated(partition(2), pod(0, 'old ready'), pod(1, 'old ready'), pod(2, 'new ready')), '');
    assert.equal(updated(partition(1), pod(0, 'old ready'), pod(1, 'old ready'), pod(2, 'new ready')), 'update db-1');
    assert.equal(updated({ updateStrategy: { type: 'OnDelete' } }, ...three('old ready')), '');
    assert.equal(updated({ updateStrategy: { type: 'RollingUpdate' } }, ...three('old ready')), 'update db-2');
  });

  it('an update of a parallel set waits for the one above that is on its way', () => {
    assert.equal(updated(parallel, pod(0, 'old ready'), pod(1, 'old ready'), pod(2, 'new')), '');
    assert.equal(updated(parallel, pod(0, 'old ready'), pod(1, 'old ready'), pod(2, 'old leaving')), '');
    assert.equal(updated({ ...parallel, minReadySeconds: 3_601 }, ...three('new ready')), '');
    assert.equal(updated(parallel, pod(0, 'old ready'), pod(1, 'old ready')), 'create db-2');
    assert.equal(updated(parallel, pod(0, 'old ready'), pod(1, 'new ready'), pod(2, 'new ready')), 'update db-0');
    assert.equal(updated(parallel, pod(0, 'old'), pod(1, 'old'), pod(2, 'old')), 'update db-2');
  });

  describe('of several pods at once', () => {
    const many = (maxUnavailable: number | string): Partial<StatefulSetSpec> => ({
      ...parallel,
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0, maxUnavailable } },
    });

    it('takes so many as may be unavailable, or the share of them rounded down, and at least one', () => {
      assert.equal(updated(many(2), ...three('old ready')), 'update db-2, update db-1');
      assert.equal(updated(many('99%'), ...three('old ready')), 'update db-2, update db-1');
      assert.equal(updated(many('10%'), ...three('old ready')), 'update db-2');
    });

    it('counts those that are unavailable', () => {
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
