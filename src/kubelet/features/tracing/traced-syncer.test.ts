import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Pod } from '../../../api/core/pod.ts';
import { RecordingTracer } from '../../../base/testing/recording-tracer.ts';
import { tracedSyncer } from './traced-syncer.ts';

const pod = (generation: number): Pod => ({
  metadata: { uid: 'u1', name: 'web', namespace: 'shop', generation },
  spec: { containers: [] },
});
const ofPod = { 'k8s.pod.uid': 'u1', 'k8s.pod': 'shop/web', 'k8s.pod.name': 'web', 'k8s.namespace.name': 'shop' };

const untraced = {
  syncPod: (work: { readonly pod: Pod }) => Promise.resolve({ terminal: work.pod.metadata.generation === 9 }),
  syncTerminatingPod: () => Promise.reject(new Error('it does not die')),
  syncTerminatedPod: (work: { readonly pod: Pod }) => Promise.resolve(void work),
  finished: (work: { readonly uid: string }) => void work,
};

describe('a pass over a pod', () => {
  test('is a span of the pod that says why the pass ran', async () => {
    const tracer = new RecordingTracer();
    const syncer = tracedSyncer(untraced, tracer);
    for (const generation of [1, 1, 2]) await syncer.syncPod({ pod: pod(generation) });
    syncer.finished({ uid: 'u1' });
    assert.deepEqual(await syncer.syncPod({ pod: pod(9) }), { terminal: true });
    await syncer.syncTerminatedPod({ pod: pod(9) });
    assert.deepEqual(
      tracer.spans.map(({ name, attributes }) => [name, attributes]),
      [
        ...['create', 'sync', 'update', 'create'].map((type) => ['syncPod', { ...ofPod, 'k8s.pod.update_type': type }]),
        ['syncTerminatedPod', ofPod],
      ],
    );
    assert.ok(tracer.spans.every(({ ended, scope }) => ended && scope === 'k8s.io/kubernetes/pkg/kubelet'));
  });

  test('fails with the pass; a pod that only the runtime knows has a span as well', async () => {
    const tracer = new RecordingTracer();
    const syncer = tracedSyncer(untraced, tracer);
    const runtime = { uid: 'u1', name: 'web', namespace: 'shop' };
    await assert.rejects(syncer.syncTerminatingPod({ subject: { kind: 'orphan', runtime } }), /does not die/);
    await assert.rejects(syncer.syncTerminatingPod({ subject: { kind: 'pod', pod: pod(1) } }), /does not die/);
    assert.deepEqual(
      tracer.spans.map(({ name, attributes, error }) => [name, attributes, error]),
      Array.from({ length: 2 }, () => ['syncTerminatingPod', ofPod, 'it does not die']),
    );
  });

  test('is not wrapped where nothing is traced', () => {
    assert.equal(tracedSyncer(untraced, undefined), untraced);
  });
});
