import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import { persistentVolumeClaims } from '../../../api/client/resource-types.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { ApiClaimReporter, computeClaimStatus } from './claim-resize.ts';

const status = {
  phase: 'Bound' as const,
  capacity: { storage: '1Gi' },
  allocatedResources: { storage: '2Gi' },
  allocatedResourceStatuses: { storage: 'NodeResizePending' },
  conditions: [
    { type: 'FileSystemResizePending', status: 'True' as const },
    { type: 'Mine', status: 'True' as const },
  ],
};

function setUp() {
  const clock = new FakeClock();
  const api = new FakeApiClient({ clock });
  const claim = api.seed(persistentVolumeClaims, {
    metadata: { name: 'c', namespace: 'default', uid: '' },
    spec: {},
    status,
  } as unknown as PersistentVolumeClaim);
  const read = (): PersistentVolumeClaim['status'] =>
    api.peek(persistentVolumeClaims, { namespace: 'default', name: 'c' })?.status;
  return { api, claim, read, reporter: new ApiClaimReporter({ client: api, clock, log: recordingLog() }) };
}

describe('the status of a claim that is expanded', () => {
  it('shows the progress, and in the end the size, without the conditions of the expansion', async () => {
    const { reporter, claim, read, api } = setUp();
    assert.equal(await reporter.report(claim, { kind: 'inProgress' }), true);
    assert.equal(read()?.allocatedResourceStatuses?.['storage'], 'NodeResizeInProgress');
    const now = api.peek(persistentVolumeClaims, { namespace: 'default', name: 'c' }) as PersistentVolumeClaim;
    assert.equal(await reporter.report(now, { kind: 'finished', size: '2Gi' }), true);
    assert.deepEqual(read(), {
      ...status,
      capacity: { storage: '2Gi' },
      allocatedResourceStatuses: {},
      conditions: [{ type: 'Mine', status: 'True' }],
    });
  });

  it('shows why it cannot be expanded, once', () => {
    const failed = computeClaimStatus(status, { kind: 'infeasible', error: 'no room' }, 0);
    assert.deepEqual(
      [failed?.allocatedResourceStatuses?.['storage'], failed?.conditions?.at(-1)?.message],
      ['NodeResizeInfeasible', 'failed to expand pvc with no room'],
    );
    assert.equal(
      failed === undefined ? undefined : computeClaimStatus(failed, { kind: 'infeasible', error: 'no room' }, 1),
      undefined,
    );
  });

  it('stays unchanged for another claim, or an older state of it, and is retried later', async () => {
    const { reporter, claim, api } = setUp();
    api.fail('patch', 'persistentvolumeclaims', new ApiStatusError('Conflict', 'stale'));
    assert.equal(await reporter.report(claim, { kind: 'finished', size: '2Gi' }), false);
  });
});
