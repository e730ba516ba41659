import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import { planVolume } from './plan-volume.ts';
import { buildClaim, buildVolume } from './testing/builders.ts';
import type { VolumeShape } from './testing/builders.ts';
import { withPhase } from './volume-facts.ts';

const claimRef = { namespace: 'default', name: 'data', uid: 'uid-data' };
const PROVISIONED = { 'pv.kubernetes.io/provisioned-by': 'example.com/disk' };
const claimOf = (volumeName?: string): PersistentVolumeClaim => buildClaim({ spec: { volumeName } });

function planned(shape: VolumeShape, claim?: PersistentVolumeClaim): string {
  const plan = planVolume(buildVolume('v', shape), claim);
  if (plan.kind === 'phase') return plan.phase;
  if (plan.kind !== 'release' || plan.failure === undefined) return plan.kind;
  return `release; ${plan.failure.type} ${plan.failure.reason}: ${plan.failure.message}`;
}

describe('a volume', () => {
  it('is available if no claim uses it, even if it is reserved for a missing claim', () => {
    assert.equal(planned({}), 'Available');
    assert.equal(planned({ claimRef: { namespace: 'default', name: 'data' } }), 'Available');
    assert.equal(planned({ claimRef: { ...claimRef, uid: '' } }, claimOf('v')), 'Available');
  });

  it('is bound if its claim names it, and wakes a claim that names no volume yet', () => {
    assert.equal(planned({ claimRef }, claimOf('v')), 'Bound');
    assert.equal(planned({ claimRef }, claimOf()), 'wakeClaim');
  });

  it('is available again if its claim has another volume; one provisioned for the claim is released', () => {
    const made = { spec: { persistentVolumeReclaimPolicy: 'Delete' as const }, annotations: PROVISIONED, claimRef };
    assert.equal(planned({ claimRef }, claimOf('other')), 'unbind');
    assert.equal(planned(made, claimOf('other')), 'release');
    assert.equal(planned({ ...made, spec: {} }, claimOf('other')), 'unbind');
    assert.equal(planned({ ...made, annotations: {} }, claimOf('other')), 'unbind');
  });

  it('with another mode than its claim is not bound, and both get an event', () => {
    const plan = planVolume(buildVolume('v', { claimRef, spec: { volumeMode: 'Block' } }), claimOf());
    assert.ok(plan.kind === 'mismatch');
    const both = [plan.volumeWord, plan.claimWord].map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
    assert.deepEqual(both, [
      'Warning VolumeMismatch: Cannot bind PersistentVolume to requested PersistentVolumeClaim "data" due to incompatible volumeMode.',
      'Warning VolumeMismatch: Cannot bind PersistentVolume "v" to requested PersistentVolumeClaim due to incompatible volumeMode.',
    ]);
  });
});

describe('a volume whose claim was deleted', () => {
  const gone = (policy: 'Retain' | 'Recycle' | 'Delete' | undefined, more: VolumeShape = {}): string =>
    planned({ claimRef, ...more, spec: { persistentVolumeReclaimPolicy: policy, ...more.spec } });

  it('is released, and kept if its policy is Retain', () => {
    assert.equal(gone('Retain'), 'release');
    assert.equal(gone(undefined), 'release');
  });

  it('is left to its driver or provisioner', () => {
    assert.equal(gone('Delete', { annotations: PROVISIONED }), 'release');
    assert.equal(gone('Delete', { spec: { hostPath: undefined, csi: { driver: 'd', volumeHandle: 'h' } } }), 'release');
  });

  it("fails if nothing can delete or recycle it, with upstream's message", () => {
    assert.equal(gone('Recycle'), 'release; Warning VolumeFailedRecycle: No recycler plugin found for the volume!');
    assert.equal(
      gone('Delete', { annotations: { 'pv.kubernetes.io/provisioned-by': 'kubernetes.io/aws-ebs' } }),
      'release; Warning VolumeFailedDelete: no volume plugin matched name: kubernetes.io/aws-ebs',
    );
    assert.equal(
      gone('Delete'),
      'release; Warning VolumeFailedDelete: host_path deleter only supports /tmp/.+ but received provided /data',
    );
    for (const hostPath of [undefined, { path: '/tmp/x' }])
      assert.equal(
        gone('Delete', { spec: { hostPath } }),
        'release; Warning VolumeFailedDelete: error getting deleter volume plugin for volume "v": no deletable volume plugin matched',
      );
    assert.match(gone('Delete', { spec: { hostPath: { path: '/tmp/' } } }), /only supports/);
    assert.match(gone('Delete', { spec: { hostPath: { path: '/data/tmp/x' } } }), /only supports/);
  });
});

it('has a message only while it is Failed', () => {
  const failed = withPhase(buildVolume('v'), 'Failed', 'no plugin');
  assert.deepEqual(failed.status, { phase: 'Failed', message: 'no plugin' });
  assert.deepEqual(withPhase(failed, 'Released').status, { phase: 'Released' });
  const { status: _, ...bare } = buildVolume('v');
  assert.deepEqual(withPhase(bare as PersistentVolume, 'Available').status, { phase: 'Available' });
});
