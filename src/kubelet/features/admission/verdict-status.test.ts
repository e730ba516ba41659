import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PodStatus } from '../../../api/core/pod-status.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import type { PodVerdict } from './admission-state.ts';
import { reportsRejection } from './admission-state.ts';
import { rejectedStatus, withVerdict } from './verdict-status.ts';

const containers = [{ name: 'app', image: 'x', imageID: '', ready: true, restartCount: 0 }];
const status: PodStatus = {
  phase: 'Pending',
  containerStatuses: containers,
  initContainerStatuses: containers,
  ephemeralContainerStatuses: containers,
};
const held: PodVerdict = { kind: 'held', reason: 'AdmissionHeld', message: 'waits for a licence' };
const preempted: PodVerdict = {
  kind: 'preempted',
  reason: 'Preempting',
  message: 'made room',
  condition: { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' },
};

describe('the status of a pod that admission rejected', () => {
  it('gives the reason, and lists no containers', () => {
    const rejected: PodVerdict = { kind: 'rejected', reason: 'NodeAffinity', message: 'no' };
    assert.deepEqual(rejectedStatus(buildPod({ 'metadata.generation': 4 }), rejected), {
      phase: 'Failed',
      qosClass: 'BestEffort',
      reason: 'NodeAffinity',
      message: 'no',
      observedGeneration: 4,
    });
    assert.equal('observedGeneration' in rejectedStatus(buildPod(), rejected), false);
  });

  it('is recognised by the next agent from its message', () => {
    const rejection = { phase: 'Failed', message: 'Pod was rejected: no' };
    assert.equal(reportsRejection(rejection), true);
    assert.equal(reportsRejection({ ...rejection, phase: 'Succeeded' }), false);
    assert.equal(reportsRejection({ ...rejection, message: 'it was said: Pod was rejected' }), false);
    assert.deepEqual([reportsRejection({ phase: 'Failed' }), reportsRejection(undefined)], [false, false]);
  });
});

describe('the status of a pod that admission holds', () => {
  it('gives the reason, and lists no containers', () => {
    assert.deepEqual(withVerdict(status, held), {
      phase: 'Pending',
      reason: 'AdmissionHeld',
      message: 'waits for a licence',
    });
  });

  it('stays as it is once the pod is no longer pending', () => {
    const running: PodStatus = { ...status, phase: 'Running' };
    assert.deepEqual(withVerdict(running, held), running);
  });

  it('does not mention the hold when that is over, and keeps other reasons', () => {
    const before = { ...status, reason: 'AdmissionHeld', message: 'waits for a licence' };
    assert.deepEqual(withVerdict(before, undefined), status);
    assert.deepEqual(withVerdict(before, { kind: 'rejected', reason: 'x', message: 'y' }), status);
    const other = { ...status, reason: 'Evicted', message: 'm' };
    assert.deepEqual(withVerdict(other, undefined), other);
  });
});

describe('the status of a pod that made room', () => {
  it('has the condition once, and the reason when the pod has failed', () => {
    const conditions = [
      { type: 'DisruptionTarget', status: 'False' as const },
      { type: 'Ready', status: 'True' as const },
    ];
    assert.deepEqual(withVerdict({ phase: 'Running', conditions }, preempted), {
      phase: 'Running',
      conditions: [preempted.condition, { type: 'Ready', status: 'True' }],
    });
    assert.deepEqual(withVerdict({ phase: 'Failed' }, preempted), {
      phase: 'Failed',
      reason: 'Preempting',
      message: 'made room',
      conditions: [preempted.condition],
    });
  });
});
