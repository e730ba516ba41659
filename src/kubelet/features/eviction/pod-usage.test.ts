import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import type { PodDiskUse, PodUsageParts, RunningPod } from './pod-usage.ts';
import { PodUsage } from './pod-usage.ts';

const tree = (usedBytes: number) => ({ usedBytes, inodesUsed: usedBytes / 10 });
const pod = buildPod({ 'metadata.uid': 'p' });
const disk: PodDiskUse = {
  layers: new Map([
    ['a', tree(10)],
    ['b', tree(20)],
  ]),
  logs: new Map([['a', tree(100)]]),
  volumes: new Map([['v', tree(1000)]]),
  total: tree(1130),
};
const running: RunningPod = {
  uid: 'p',
  path: '/p',
  containers: ['a', 'b', 'gone'].map((name) => ({ name, path: `/p/${name}` })),
};
const memory = new Map([
  ['/p', 7],
  ['/p/a', 2],
  ['/p/b', 3],
]);
const partsOf = (...pods: readonly RunningPod[]): PodUsageParts => ({
  runningPods: () => pods,
  groups: {
    memory: (path) => (memory.has(path) ? { workingSetBytes: memory.get(path) ?? 0 } : undefined),
    use: (path) => (memory.has(path) ? { threads: { current: (memory.get(path) ?? 0) * 10, limit: 0 } } : undefined),
  },
  diskUse: async (uids) => new Map([...uids].map((uid) => [uid, disk])),
});

describe('pod usage', () => {
  it('of memory and processes is that of its cgroup', () => {
    const usage = PodUsage.ofGroups(partsOf(running));
    assert.deepEqual([usage.of(pod, 'memory.available'), usage.of(pod, 'pid.available')], [7, 70]);
    assert.equal(usage.of(pod, 'allocatableMemory.available'), 7);
  });

  it('is the sum of its known containers if pods have no cgroups', () => {
    const usage = PodUsage.ofGroups(partsOf({ ...running, path: undefined }));
    assert.deepEqual([usage.of(pod, 'memory.available'), usage.of(pod, 'pid.available')], [5, 50]);
    const unknown = PodUsage.ofGroups(partsOf({ ...running, path: '/other' }));
    assert.deepEqual([unknown.of(pod, 'memory.available'), unknown.of(pod, 'pid.available')], [undefined, undefined]);
  });

  it('is unknown if the pod does not run or was not measured', () => {
    const usage = PodUsage.ofGroups(partsOf());
    assert.deepEqual([usage.of(pod, 'memory.available'), usage.containers(pod)], [undefined, []]);
    assert.deepEqual([usage.of(pod, 'nodefs.available'), usage.disk(pod)], [undefined, undefined]);
  });

  for (const [layout, signal, bytes] of [
    ['shared', 'nodefs.available', 1130],
    ['dedicated', 'nodefs.available', 1100],
    ['dedicated', 'imagefs.available', 30],
    ['split', 'nodefs.available', 1130],
  ] as const)
    it(`of disk is ${bytes} bytes for ${signal} with ${layout} file systems, a tenth in inodes`, async () => {
      const usage = await PodUsage.withDisks(partsOf(running), layout, [pod]);
      assert.equal(usage.of(pod, signal), bytes);
      const ofInodes = signal === 'nodefs.available' ? 'nodefs.inodesFree' : 'imagefs.inodesFree';
      assert.equal(usage.of(pod, ofInodes), bytes / 10);
      assert.equal(PodUsage.ofLast(partsOf(), layout, new Map([['p', disk]])).of(pod, signal), bytes);
    });

  it('is known for each container: its memory, its layer and its log', async () => {
    const measured = await PodUsage.withDisks(partsOf(running), 'shared', [pod]);
    assert.deepEqual(measured.containers(pod), [
      { name: 'a', memoryBytes: 2, diskBytes: 110 },
      { name: 'b', memoryBytes: 3, diskBytes: 20 },
      { name: 'gone', memoryBytes: undefined, diskBytes: 0 },
    ]);
    const [first] = PodUsage.ofGroups(partsOf(running)).containers(pod);
    assert.deepEqual(first, { name: 'a', memoryBytes: 2, diskBytes: undefined });
  });
});
