import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { buildPod } from '../../api/testing/pod-builder.ts';
import { podUid } from '../model/ids.ts';
import { emptyPodRuntimeStatus } from '../model/runtime-status.ts';
import { PodCleanup } from './pod-cleanup.ts';

const uid = podUid('a');
const pod = buildPod({ 'metadata.uid': 'a' });

function harness({ inCluster = true } = {}) {
  const calls: string[] = [];
  const write = (name: string) => (): void => void calls.push(name);
  const status = emptyPodRuntimeStatus({ uid, name: 'a', namespace: 'default' }, 0);
  const world: { status: typeof status | undefined } = { status };
  const cleanup = new PodCleanup({
    runtime: { forgetPod: (_uid, left) => void calls.push(left === status ? 'runtime, with containers' : 'runtime') },
    images: { forgetPod: write('images') },
    statuses: { forget: write('status'), beginAgain: write('status begins again') },
    admission: { forget: write('admission') },
    evicted: { forget: write('evicted') },
    allocation: { forget: write('allocation') },
    managers: { release: write('release resources') },
    explain: { forget: write('explain') },
    oomKills: { forget: write('OOM kills') },
    clusterPods: inCluster ? { forget: write('cluster'), podChanged: write('mirror') } : undefined,
    containerGc: {
      collectPod: async () => {
        calls.push('collect');
        world.status = undefined;
      },
    },
    cache: { get: () => world.status },
    changes: { notifyGone: write('gone') },
    queue: { post: ({ kind }) => void calls.push(kind) },
  });
  return { calls, cleanup };
}
const always = ['runtime', 'images', 'status', 'admission', 'evicted', 'allocation', 'explain', 'OOM kills'];

describe('pod clean-up', () => {
  it("drops a pod's state in every feature, then notifies that the pod was removed", () => {
    const { calls, cleanup } = harness();
    cleanup.forget(uid, { pod, revived: false });
    assert.deepEqual(calls, [...always, 'cluster', 'mirror', 'gone']);
  });

  it('keeps the restart counts of a pod that starts again', () => {
    const { calls, cleanup } = harness({ inCluster: false });
    cleanup.forget(uid, { pod, revived: true });
    assert.deepEqual(
      calls,
      [...always, 'gone'].map((each) => (each === 'status' ? 'status begins again' : each)),
    );
  });

  it('requests a clean-up after a pod that only the runtime knew', () => {
    const { calls, cleanup } = harness();
    cleanup.forget(uid, { pod: undefined, revived: false });
    assert.deepEqual(calls, [...always, 'cluster', 'housekeeping']);
  });

  it('drops the state of containers before they are garbage collected', async () => {
    const { calls, cleanup } = harness();
    await cleanup.collect(uid);
    assert.deepEqual(calls, ['collect', 'runtime, with containers', 'release resources']);
  });
});
