import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { buildPod } from '../../api/testing/pod-builder.ts';
import type { AdmissionState } from '../features/admission/admission-state.ts';
import { record } from '../features/status/testing/status-builder.ts';
import { podUid } from '../model/ids.ts';
import { emptyPodRuntimeStatus } from '../model/runtime-status.ts';
import { deviceHolders } from './device-holders.ts';

const identity = (uid: string) => ({ uid: podUid(uid), name: uid, namespace: 'default' });

function setUp({ isReady = true } = {}) {
  const pods = ['wanted', 'rejected'].map((uid) => buildPod({ 'metadata.uid': uid }));
  const rejected = { kind: 'rejected', reason: 'x', message: 'x' } as AdmissionState;
  return deviceHolders({
    directory: { live: () => pods },
    sourcesReady: () => isReady,
    admission: () => ({ state: (uid) => (uid === 'rejected' ? rejected : undefined) }),
    runtime: {
      all: () => [
        { ...emptyPodRuntimeStatus(identity('removed'), 0), containers: [record('main')] },
        { ...emptyPodRuntimeStatus(identity('stopped'), 0), containers: [record('main', { state: 'exited' })] },
      ],
      unread: () => [identity('unread')],
    },
  });
}

describe('the pods that hold devices', () => {
  it('are the wanted ones, and removed ones that may still run', () => {
    assert.deepEqual([...(setUp()() ?? [])].sort(), ['removed', 'unread', 'wanted']);
  });

  it('are unknown until all sources have reported', () => {
    assert.equal(setUp({ isReady: false })(), undefined);
  });
});
