import assert from 'node:assert/strict';
import test from 'node:test';
import type { DeleteOptions } from '../../../../api/core/delete-options.ts';
import type { PodDisruptionBudget } from '../../../../api/policy/pod-disruption-budget.ts';
import { ApiStatusError } from '../../../../api/status/api-status-error.ts';
import { buildPod } from '../../../../api/testing/pod-builder.ts';
import type { Changes } from '../../../../api/testing/pod-builder.ts';
import { podEviction } from './pod-eviction.ts';
import { FakeActionAccess } from '../../testing/fake-action-access.ts';

const labelled = { 'metadata.labels': { app: 'web' }, 'spec.nodeName': 'n1', 'status.phase': 'Running' };
const ready = { ...labelled, 'status.conditions': [{ type: 'Ready', status: 'True' }] };

function budget({
  spec = {},
  status = {},
  metadata = {},
}: {
  spec?: object;
  status?: object;
  metadata?: object;
} = {}): PodDisruptionBudget {
  return {
    metadata: { name: 'keep', namespace: 'default', uid: 'b', generation: 1, ...metadata },
    spec: { selector: { matchLabels: { app: 'web' } }, ...spec },
    status: {
      observedGeneration: 1,
      disruptionsAllowed: 0,
      currentHealthy: 2,
      desiredHealthy: 2,
      expectedPods: 2,
      ...status,
    },
  };
}

const evict = (access: FakeActionAccess, deleteOptions?: DeleteOptions): Promise<object> =>
  podEviction.perform(access, {
    metadata: { name: 'web', namespace: 'default', uid: '' },
    ...(deleteOptions !== undefined && { deleteOptions }),
  } as never);

async function refusal(
  pod: Changes,
  budgets: readonly PodDisruptionBudget[],
  options?: DeleteOptions,
): Promise<unknown> {
  const access = new FakeActionAccess(buildPod(pod), { budgets });
  try {
    await evict(access, options);
    return 'evicted';
  } catch (error) {
    assert.ok(error instanceof ApiStatusError);
    assert.notEqual(access.pod, undefined);
    const [cause] = error.details?.causes ?? [];
    return [error.code, error.message, ...(cause === undefined ? [] : [cause.reason, cause.message])];
  }
}

const wouldViolate = "Cannot evict pod as it would violate the pod's disruption budget.";

test('a pod without a budget is marked and deleted with the grace that was asked for', async () => {
  const access = new FakeActionAccess(buildPod(ready), {
    budgets: [
      budget({ spec: { selector: { matchLabels: { app: 'other' } } } }),
      budget({ spec: { selector: undefined } }),
    ],
  });
  let marked: unknown;
  access.delete = (options) => {
    marked = access.pod?.status?.conditions?.at(-1);
    access.deletions.push(options);
    return Promise.resolve();
  };
  assert.deepEqual(await evict(access, { gracePeriodSeconds: 7 }), {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    code: 201,
  });
  assert.deepEqual(access.deletions, [{ gracePeriodSeconds: 7 }]);
  assert.deepEqual(marked, {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
    lastTransitionTime: '2026-01-01T12:00:00Z',
  });
});

test('an eviction spends one disruption and is written into the budget', async () => {
  const access = new FakeActionAccess(buildPod(ready), {
    budgets: [budget({ status: { disruptionsAllowed: 1, currentHealthy: 3 } })],
  });
  await evict(access);
  assert.equal(access.pod, undefined);
  assert.deepEqual(access.budgets[0]?.status, {
    observedGeneration: 1,
    disruptionsAllowed: 0,
    currentHealthy: 3,
    desiredHealthy: 2,
    expectedPods: 2,
    disruptedPods: { web: '2026-01-01T12:00:00Z' },
    conditions: [
      {
        type: 'DisruptionAllowed',
        status: 'False',
        observedGeneration: 1,
        lastTransitionTime: '2026-01-01T12:00:00Z',
        reason: 'InsufficientPods',
        message: '',
      },
    ],
  });
});

test('a budget without room refuses with the cause drain waits on', async () => {
  assert.deepEqual(await refusal(ready, [budget()]), [
    429,
    wouldViolate,
    'DisruptionBudget',
    'The disruption budget keep needs 2 healthy pods and has 2 currently',
  ]);
  const failedSync = {
    currentHealthy: 9,
    conditions: [{ type: 'DisruptionAllowed', status: 'False', reason: 'SyncFailed', message: 'no scale' }],
  };
  assert.deepEqual(await refusal(ready, [budget({ status: failedSync })]), [
    429,
    wouldViolate,
    'DisruptionBudget',
    'The disruption budget keep does not allow evicting pods currently because it failed sync: no scale',
  ]);
  assert.deepEqual(await refusal(ready, [budget({ status: { currentHealthy: 9 } })]), [
    429,
    wouldViolate,
    'DisruptionBudget',
    'The disruption budget keep does not allow evicting pods currently',
  ]);
  assert.deepEqual(await refusal(ready, [budget({ metadata: { generation: 2 }, status: { disruptionsAllowed: 5 } })]), [
    429,
    wouldViolate,
    'DisruptionBudget',
    'The disruption budget keep is still being processed by the server.',
  ]);
  assert.deepEqual(await refusal(ready, [budget({ status: { disruptionsAllowed: -1 } })]), [
    403,
    'poddisruptionbudget.policy "keep" is forbidden: pdb disruptions allowed is negative',
  ]);
  assert.deepEqual(await refusal(ready, [budget(), budget({ metadata: { name: 'too' } })]), [
    500,
    'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
  ]);
});

test('pods whose end disrupts nothing need no budget', async () => {
  const none = [budget({ status: { currentHealthy: 0 } })];
  for (const phase of ['Pending', 'Succeeded', 'Failed'])
    assert.equal(await refusal({ ...ready, 'status.phase': phase }, none), 'evicted', phase);
  assert.equal(await refusal({ ...ready, 'metadata.deletionTimestamp': '2026-01-01T00:00:00Z' }, none), 'evicted');
});

test('a pod that is not ready costs nothing where the others are enough, or the budget says so', async () => {
  assert.equal(await refusal(labelled, [budget({ status: { currentHealthy: 2, desiredHealthy: 2 } })]), 'evicted');
  assert.deepEqual(await refusal(labelled, [budget({ status: { currentHealthy: 1, desiredHealthy: 2 } })]), [
    429,
    wouldViolate,
    'DisruptionBudget',
    'The disruption budget keep needs 2 healthy pods and has 1 currently',
  ]);
  assert.equal(
    await refusal(labelled, [
      budget({ spec: { unhealthyPodEvictionPolicy: 'AlwaysAllow' }, status: { currentHealthy: 1 } }),
    ]),
    'evicted',
  );
});

test('a pod that became ready meanwhile is not taken for the one that was not', async () => {
  const access = new FakeActionAccess(buildPod(labelled), { budgets: [budget()] });
  access.meanwhile = () => {
    if (access.pod !== undefined)
      access.pod = { ...access.pod, metadata: { ...access.pod.metadata, resourceVersion: '99' } };
  };
  await assert.rejects(
    evict(access),
    (error) =>
      error instanceof ApiStatusError && error.reason === 'TooManyRequests' && error.details?.retryAfterSeconds === 10,
  );
  assert.deepEqual(access.deletions, []);
});

test('a pending pod that others write to is evicted all the same', async () => {
  const access = new FakeActionAccess(buildPod({ ...labelled, 'status.phase': 'Pending' }));
  let writes = 2;
  access.meanwhile = () => {
    if (writes-- > 0 && access.pod !== undefined)
      access.pod = { ...access.pod, metadata: { ...access.pod.metadata, resourceVersion: String(50 + writes) } };
  };
  await evict(access);
  assert.equal(access.pod, undefined);
});

test('a dry run asks the budget and spends nothing', async () => {
  for (const how of ['request', 'body']) {
    const roomy = budget({ status: { disruptionsAllowed: 1 } });
    const access = new FakeActionAccess(buildPod(ready), { budgets: [roomy], dryRun: how === 'request' });
    const options = how === 'body' ? { dryRun: ['All'] } : undefined;
    await evict(access, options);
    assert.deepEqual([access.budgets, access.deletions, access.pod?.status?.conditions?.length], [[roomy], [], 1], how);
    access.budgets = [budget()];
    await assert.rejects(evict(access, options), (error) => error instanceof ApiStatusError && error.code === 429);
  }
});

test('preconditions of the deletion hold for the eviction', async () => {
  assert.deepEqual(await refusal(ready, [], { preconditions: { uid: 'other' } }), [
    409,
    'Operation cannot be fulfilled on Pod "web": the UID in the precondition (other) does not match the UID in record (uid-1). The object might have been deleted and then recreated',
  ]);
  assert.deepEqual(await refusal(ready, [], { preconditions: { resourceVersion: '3' } }), [
    409,
    'Operation cannot be fulfilled on Pod "web": the ResourceVersion in the precondition (3) does not match the ResourceVersion in record (10). The object might have been modified',
  ]);
  assert.equal(await refusal(ready, [], { preconditions: { uid: 'uid-1', resourceVersion: '10' } }), 'evicted');
});
