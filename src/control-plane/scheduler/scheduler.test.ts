import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PersistentVolumeClaim } from '../../api/core/persistent-volume-claim.ts';
import type { PersistentVolume } from '../../api/core/persistent-volume.ts';
import type { StorageClass } from '../../api/storage/storage-class.ts';
import {
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  podDisruptionBudgets,
  pods,
  storageClasses,
} from '../../api/client/resource-types.ts';
import { ApiStatusError } from '../../api/status/api-status-error.ts';
import { readSchedulerConfig } from './config/scheduler-config.ts';
import { bound, buildNode, buildPod } from './testing/builders.ts';
import { SchedulerWorld } from './testing/scheduler-world.ts';
import type { SchedulerWorldOptions } from './testing/scheduler-world.ts';

async function started(options: SchedulerWorldOptions = {}, ...names: readonly string[]): Promise<SchedulerWorld> {
  const world = new SchedulerWorld(options);
  for (const name of names) world.addNode(buildNode(name));
  await world.start();
  return world;
}

const key = (name: string): { namespace: string; name: string } => ({ namespace: 'default', name });
const unfit = (message: string): string => `False Unschedulable: ${message}`;
const fullMessage =
  '0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.';

describe('the scheduler', () => {
  it('binds pods through the API and says so', async () => {
    const world = await started({}, 'node-1');
    world.addPod(buildPod('x', { requests: { cpu: '1' } }));
    await world.run(100);
    assert.deepEqual(
      [world.nodeOf('x'), world.events],
      ['node-1', ['x Normal Scheduled: Successfully assigned default/x to node-1']],
    );
    const post = world.api.calls.find(({ verb }) => verb === 'post');
    assert.deepEqual(
      [post?.subresource, post?.body],
      [
        'binding',
        {
          apiVersion: 'v1',
          kind: 'Binding',
          metadata: { namespace: 'default', name: 'x', uid: 'uid-x' },
          target: { kind: 'Node', name: 'node-1' },
        },
      ],
    );
    await world.stop();
    assert.equal(world.clock.armedTimers, 0);
  });

  it('leaves pods of other schedulers, bound ones and those that are over alone', async () => {
    const world = await started({}, 'node-1');
    world.addPod(buildPod('other', { spec: { schedulerName: 'mine' } }));
    world.addPod(buildPod('over', { status: { phase: 'Succeeded' } }));
    await world.run(1000);
    assert.deepEqual(world.api.writes, []);
    await world.stop();
  });

  it('says why a pod is pending, once, and costs nothing while nothing changes', async () => {
    const world = await started({}, 'node-1');
    world.addPod(bound(buildPod('big', { requests: { cpu: '3' } }), 'node-1'));
    await world.run(10);
    world.addPod(buildPod('x', { requests: { cpu: '2' } }));
    await world.run(100);
    assert.equal(world.condition('x'), unfit(fullMessage));
    assert.deepEqual(world.events, [`x Warning FailedScheduling: ${fullMessage}`]);
    const { length } = world.api.writes;
    await world.run(290_000);
    assert.equal(world.api.writes.length, length);
    await world.stop();
  });

  it('wakes a pending pod at once by what may help it, and not by what cannot', async () => {
    const world = await started({}, 'node-1');
    world.addPod(bound(buildPod('big', { requests: { cpu: '3' } }), 'node-1'));
    world.addPod(bound(buildPod('web', { labels: { app: 'web' } }), 'node-1'));
    await world.run(10);
    world.addPod(buildPod('x', { requests: { cpu: '2' } }));
    await world.run(5000);
    const attempts = (): number => world.scheduler.counts().unschedulable;
    assert.equal(attempts(), 1);
    // Labels of others, heartbeats and cordons help nobody.
    world.api.change(pods, key('web'), (pod) => ({ ...pod, metadata: { ...pod.metadata, labels: { app: 'api' } } }));
    world.api.change(nodes, { namespace: '', name: 'node-1' }, (node) => ({
      ...node,
      status: {
        ...node.status,
        conditions: [{ type: 'Ready', status: 'True' as const, lastHeartbeatTime: '2026-01-01T00:00:00Z' }],
      },
    }));
    await world.run(100);
    assert.equal(attempts(), 1);
    world.api.remove(pods, key('big'));
    await world.run(100);
    assert.equal(world.nodeOf('x'), 'node-1');
    await world.stop();
  });

  it('schedules when the first node comes', async () => {
    const world = await started();
    world.addPod(buildPod('x'));
    await world.run(100);
    assert.equal(world.condition('x'), unfit('no nodes available to schedule pods'));
    world.addNode(buildNode('node-1', { taints: [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }] }));
    await world.run(100);
    assert.equal(world.nodeOf('x'), undefined);
    world.addNode(buildNode('node-1'));
    await world.run(100);
    assert.equal(world.nodeOf('x'), 'node-1');
    await world.stop();
  });

  it('does not look at gated pods until the last gate is gone', async () => {
    const world = await started({}, 'node-1');
    world.addPod(buildPod('x', { spec: { schedulingGates: [{ name: 'a' }, { name: 'b' }] } }));
    await world.run(400_000);
    assert.deepEqual([world.api.writes, world.scheduler.counts().gated], [[], 1]);
    assert.deepEqual(world.scheduler.explain(key('x')), {
      kind: 'gated',
      rejection: {
        code: 'UnschedulableAndUnresolvable',
        reasons: ['waiting for scheduling gates: [a b]'],
        plugin: 'SchedulingGates',
      },
    });
    world.api.change(pods, key('x'), (pod) => ({ ...pod, spec: { ...pod.spec, schedulingGates: [{ name: 'b' }] } }));
    await world.run(100);
    assert.equal(world.scheduler.counts().gated, 1);
    world.api.change(pods, key('x'), (pod) => ({ ...pod, spec: { ...pod.spec, schedulingGates: [] } }));
    await world.run(100);
    assert.equal(world.nodeOf('x'), 'node-1');
    await world.stop();
  });

  it('never gives the same room twice, however late the API tells of bindings', async () => {
    const world = await started({ lagMs: 2000 }, 'node-1', 'node-2');
    await world.run(5000);
    for (let index = 0; index < 10; index++) world.addPod(buildPod(`p${index}`, { requests: { cpu: '1' } }));
    await world.run(30_000);
    const nodesOf = Array.from({ length: 10 }, (_, index) => world.nodeOf(`p${index}`) ?? 'none');
    assert.deepEqual(
      ['node-1', 'node-2', 'none'].map((name) => nodesOf.filter((one) => one === name).length),
      [4, 4, 2],
    );
    await world.stop();
  });

  it('tries a bind that was refused again after a back-off, and frees the room meanwhile', async () => {
    const world = await started({}, 'node-1');
    world.api.fail('post', 'pods', new ApiStatusError('InternalError', 'etcd is away'), 2);
    world.addPod(buildPod('x', { requests: { cpu: '4' } }));
    await world.run(200);
    assert.equal(world.condition('x'), 'False SchedulerError: running Bind plugin "DefaultBinder": etcd is away');
    await world.run(1000);
    assert.equal(world.nodeOf('x'), undefined);
    await world.run(6000);
    assert.equal(world.nodeOf('x'), 'node-1');
    assert.equal(world.api.calls.filter(({ verb }) => verb === 'post').length, 3);
    await world.stop();
  });

  it('takes a bind for done that went through though the answer was lost', async () => {
    const world = await started({}, 'node-1');
    world.api.onPost('pods', 'binding', (at) => {
      world.api.change(pods, at, (pod) => bound(pod, 'node-1'));
      throw new ApiStatusError('Timeout', 'the answer was lost');
    });
    world.addPod(buildPod('x'));
    await world.run(100);
    assert.deepEqual(world.events, ['x Normal Scheduled: Successfully assigned default/x to node-1']);
    await world.stop();
  });

  it('looks after a bind that never answers, and frees the room', async () => {
    const world = await started({}, 'node-1');
    let calls = 0;
    world.api.onPost('pods', 'binding', (at) => {
      if (calls++ === 0) return new Promise(() => {});
      return world.api.change(pods, at, (pod) => bound(pod, 'node-1'));
    });
    world.addPod(buildPod('x', { requests: { cpu: '4' } }));
    await world.run(29_000);
    assert.equal(world.nodeOf('x'), undefined);
    await world.run(5_000);
    assert.equal(world.nodeOf('x'), 'node-1');
    await world.stop();
  });

  it('gives the room of a pod whose bind was refused to one that waits', async () => {
    const world = await started({}, 'node-1');
    let end: ((error: Error) => void) | undefined;
    world.api.onPost('pods', 'binding', (at) => {
      if (at.name === 'x') return new Promise((_, reject) => (end = reject));
      return world.api.change(pods, at, (pod) => bound(pod, 'node-1'));
    });
    world.addPod(buildPod('x', { requests: { cpu: '4' } }));
    await world.run(100);
    world.addPod(buildPod('y', { requests: { cpu: '4' } }));
    await world.run(100);
    end?.(new ApiStatusError('Forbidden', 'no'));
    await world.run(100);
    assert.equal(world.nodeOf('y'), 'node-1');
    await world.stop();
  });

  it('frees the room of a pod that begins to leave while it is being bound', async () => {
    const world = await started({}, 'node-1');
    world.api.onPost('pods', 'binding', (at) =>
      at.name === 'x' ? new Promise(() => {}) : world.api.change(pods, at, (pod) => bound(pod, 'node-1')),
    );
    world.addPod(buildPod('x', { requests: { cpu: '4' } }));
    await world.run(100);
    world.addPod(buildPod('y', { requests: { cpu: '4' } }));
    await world.run(100);
    world.api.change(pods, key('x'), (pod) => ({
      ...pod,
      metadata: { ...pod.metadata, finalizers: ['example.com/wait'], deletionTimestamp: '2026-01-01T00:00:00Z' },
    }));
    await world.run(100);
    assert.equal(world.nodeOf('y'), 'node-1');
    await world.stop();
  });

  it('wakes those that had to respect a promise when it is void, by word or by the end of the pod', async () => {
    for (const end of ['taken back', 'gone']) {
      const world = await started({}, 'node-1');
      world.addPod(
        buildPod('vip', {
          requests: { cpu: '3' },
          spec: { priority: 10, schedulingGates: [{ name: 'gate' }] },
          status: { nominatedNodeName: 'node-1' },
        }),
      );
      world.addPod(buildPod('x', { requests: { cpu: '2' } }));
      await world.run(100);
      assert.equal(world.nodeOf('x'), undefined);
      if (end === 'gone') world.api.remove(pods, key('vip'));
      else world.api.change(pods, key('vip'), (pod) => ({ ...pod, status: { phase: 'Pending' as const } }));
      await world.run(100);
      assert.equal(world.nodeOf('x'), 'node-1', end);
      await world.stop();
    }
  });

  it('forgets a pod that is deleted while it is being bound', async () => {
    const world = await started({}, 'node-1');
    let end: ((error: Error) => void) | undefined;
    world.api.onPost('pods', 'binding', (at) => {
      if (at.name === 'x') return new Promise((_, reject) => (end = reject));
      return world.api.change(pods, at, (pod) => bound(pod, 'node-1'));
    });
    world.addPod(buildPod('x', { requests: { cpu: '4' } }));
    await world.run(100);
    world.addPod(buildPod('y', { requests: { cpu: '4' } }));
    await world.run(100);
    assert.equal(world.nodeOf('y'), undefined);
    world.api.remove(pods, key('x'));
    await world.run(100);
    assert.equal(world.nodeOf('y'), 'node-1');
    end?.(new ApiStatusError('NotFound', 'gone'));
    await world.run(100);
    assert.deepEqual(world.scheduler.counts(), { active: 0, backoff: 0, unschedulable: 0, gated: 0 });
    await world.stop();
  });

  it('ends while a bind is under way that fails, and leaves nothing behind', async () => {
    const world = await started({}, 'node-1');
    let end: ((error: Error) => void) | undefined;
    world.api.onPost('pods', 'binding', () => new Promise((_, reject) => (end = reject)));
    world.addPod(buildPod('x'));
    await world.run(100);
    const { armedTimers } = world.clock;
    const stopped = world.scheduler.stop();
    end?.(new ApiStatusError('Forbidden', 'no'));
    await stopped;
    // The deadline of the bind is gone, and no back-off has come.
    assert.equal(world.clock.armedTimers, armedTimers - 1);
    await world.stop();
  });

  it('goes on where another left off, in the middle of everything', async () => {
    const world = await started({ lagMs: 300 }, 'node-1', 'node-2', 'node-3');
    for (let index = 0; index < 30; index++) world.addPod(buildPod(`p${index}`, { requests: { cpu: '400m' } }));
    for (let turn = 0; turn < 4; turn++) {
      await world.run(50 * turn);
      await world.stop();
      await world.start();
    }
    await world.run(20_000);
    const placed = Array.from({ length: 30 }, (_, index) => world.nodeOf(`p${index}`));
    assert.deepEqual(
      ['node-1', 'node-2', 'node-3'].map((name) => placed.filter((one) => one === name).length),
      [10, 10, 10],
    );
    assert.equal(
      world.api.calls.filter(({ verb, subresource }) => verb === 'post' && subresource === 'binding').length,
      30,
    );
    await world.stop();
  });

  it('schedules for several names, each with its own plugins', async () => {
    const read = readSchedulerConfig({
      apiVersion: 'kubescheduler.config.k8s.io/v1',
      kind: 'KubeSchedulerConfiguration',
      profiles: [
        { schedulerName: 'default-scheduler' },
        { schedulerName: 'no-taints', plugins: { filter: { disabled: [{ name: 'TaintToleration' }] } } },
      ],
    });
    assert.ok('config' in read);
    const world = new SchedulerWorld({ config: read.config });
    world.addNode(buildNode('node-1', { taints: [{ key: 'x', effect: 'NoSchedule' }] }));
    await world.start();
    world.addPod(buildPod('x'));
    world.addPod(buildPod('y', { spec: { schedulerName: 'no-taints' } }));
    await world.run(100);
    assert.deepEqual([world.nodeOf('x'), world.nodeOf('y')], [undefined, 'node-1']);
    await world.stop();
  });
});

describe('preemption', () => {
  const low = (name: string, cpu: string): ReturnType<typeof buildPod> =>
    bound(
      buildPod(name, {
        requests: { cpu },
        labels: { app: name },
        status: { phase: 'Running', startTime: '2026-01-01T00:00:00Z' },
      }),
      'node-1',
    );

  it('tells the victims why, deletes them, promises the node, and comes when they are gone', async () => {
    const world = await started({}, 'node-1');
    world.addPod(low('a', '2'));
    world.addPod(low('b', '2'));
    await world.run(10);
    world.addPod(buildPod('vip', { requests: { cpu: '1' }, spec: { priority: 10 } }));
    await world.run(100);
    const victims = ['a', 'b'].filter((name) => world.pod(name)?.metadata.deletionTimestamp !== undefined);
    assert.equal(victims.length, 1);
    const [victim = ''] = victims;
    assert.equal(world.pod('vip')?.status?.nominatedNodeName, 'node-1');
    assert.equal(world.condition('vip'), unfit('0/1 nodes are available: 1 Insufficient cpu.'));
    const target = world.pod(victim)?.status?.conditions?.find(({ type }) => type === 'DisruptionTarget');
    assert.deepEqual(
      [target?.status, target?.reason, target?.message],
      ['True', 'PreemptionByScheduler', 'default-scheduler: preempting to accommodate a higher priority pod'],
    );
    assert.ok(
      world.events.includes(`${victim} Normal Preempted: Preempted by pod uid-vip on node node-1`),
      world.events.join('\n'),
    );
    world.api.remove(pods, key(victim));
    await world.run(100);
    assert.equal(world.nodeOf('vip'), 'node-1');
    await world.stop();
  });

  it('does not let a less important pod take the room that was made', async () => {
    const world = await started({}, 'node-1');
    world.addPod(low('a', '4'));
    await world.run(10);
    world.addPod(buildPod('vip', { requests: { cpu: '3' }, spec: { priority: 10 } }));
    await world.run(100);
    world.addPod(buildPod('sneaky', { requests: { cpu: '2' }, spec: { priority: 5 } }));
    await world.run(100);
    world.api.remove(pods, key('a'));
    await world.run(3000);
    assert.deepEqual([world.nodeOf('vip'), world.nodeOf('sneaky')], ['node-1', undefined]);
    await world.stop();
  });

  it('takes a promise from a pod that is less important than the next who needs the room', async () => {
    const world = await started({}, 'node-1');
    world.addPod(low('a', '4'));
    await world.run(10);
    world.addPod(buildPod('middle', { requests: { cpu: '4' }, spec: { priority: 5 } }));
    await world.run(100);
    assert.equal(world.pod('middle')?.status?.nominatedNodeName, 'node-1');
    world.addPod(buildPod('vip', { requests: { cpu: '4' }, spec: { priority: 10 } }));
    await world.run(100);
    assert.deepEqual(
      ['middle', 'vip'].map((name) => world.pod(name)?.status?.nominatedNodeName),
      [undefined, 'node-1'],
    );
    world.api.remove(pods, key('a'));
    await world.run(3000);
    assert.deepEqual([world.nodeOf('middle'), world.nodeOf('vip')], [undefined, 'node-1']);
    await world.stop();
  });

  it('does not choose new victims while the first are being asked to leave', async () => {
    const world = await started({}, 'node-1');
    for (const name of ['a', 'b', 'c']) world.addPod(low(name, '1'));
    world.addPod(low('d', '1'));
    await world.run(10);
    const { api } = world;
    const remove = api.delete.bind(api);
    let go: (() => void) | undefined;
    api.delete = (...args) => new Promise<void>((resolve) => (go = resolve)).then(() => remove(...args));
    world.addPod(buildPod('vip', { requests: { cpu: '1' }, spec: { priority: 10 } }));
    await world.run(100);
    // Something that may help wakes it: it is held back, and comes when its own victims were told.
    const spared = ['a', 'b', 'c', 'd'].find(
      (name) => !(world.pod(name)?.status?.conditions ?? []).some(({ type }) => type === 'DisruptionTarget'),
    );
    world.api.remove(pods, key(spared ?? ''));
    await world.run(100);
    const explained = world.scheduler.explain(key('vip'));
    assert.ok(explained.kind === 'gated');
    assert.deepEqual(
      [explained.rejection.reasons, world.nodeOf('vip')],
      [['waiting for the preemption for this pod to be finished'], undefined],
    );
    go?.();
    await world.run(100);
    assert.equal(world.nodeOf('vip'), 'node-1');
    await world.stop();
  });

  it('spares what a disruption budget protects when there is a choice', async () => {
    const world = await started({}, 'node-1');
    world.api.seed(podDisruptionBudgets, {
      metadata: { name: 'a', namespace: 'default', uid: 'pdb' },
      spec: { selector: { matchLabels: { app: 'a' } } },
      status: { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 },
    });
    world.addPod(low('a', '2'));
    world.addPod(low('b', '2'));
    await world.run(10);
    world.addPod(buildPod('vip', { requests: { cpu: '1' }, spec: { priority: 10 } }));
    await world.run(100);
    assert.deepEqual(
      ['a', 'b'].map((name) => world.pod(name)?.metadata.deletionTimestamp !== undefined),
      [false, true],
    );
    await world.stop();
  });

  it('leaves everybody in peace when the pod must not preempt', async () => {
    const world = await started({}, 'node-1');
    world.addPod(low('a', '4'));
    await world.run(10);
    world.addPod(buildPod('vip', { requests: { cpu: '1' }, spec: { priority: 10, preemptionPolicy: 'Never' } }));
    await world.run(100);
    assert.equal(
      world.condition('vip'),
      unfit(
        '0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never.',
      ),
    );
    assert.equal(world.pod('a')?.metadata.deletionTimestamp, undefined);
    await world.stop();
  });

  it('tries again when a victim could not be deleted', async () => {
    const world = await started({}, 'node-1');
    world.addPod(low('a', '4'));
    await world.run(10);
    world.api.fail('delete', 'pods', new ApiStatusError('InternalError', 'away'));
    world.addPod(buildPod('vip', { requests: { cpu: '1' }, spec: { priority: 10 } }));
    await world.run(5000);
    assert.notEqual(world.pod('a')?.metadata.deletionTimestamp, undefined);
    await world.stop();
  });
});

describe('volumes that wait for the pod', () => {
  const storageClass: StorageClass = {
    metadata: { name: 'local', namespace: '', uid: 'sc' },
    provisioner: 'kubernetes.io/no-provisioner',
    volumeBindingMode: 'WaitForFirstConsumer',
  };
  const claim: PersistentVolumeClaim = {
    metadata: { name: 'data', namespace: 'default', uid: 'claim-1' },
    spec: { storageClassName: 'local', accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  };
  const volume = (name: string, node: string): PersistentVolume => ({
    metadata: { name, namespace: '', uid: `uid-${name}` },
    spec: {
      storageClassName: 'local',
      capacity: { storage: '2Gi' },
      accessModes: ['ReadWriteOnce'],
      local: { path: '/mnt' },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [node] }] },
          ],
        },
      },
    },
    status: { phase: 'Available' },
  });
  const spec = { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] };

  it('are promised to the claim of the pod first, and the pod is bound when the claim is', async () => {
    const world = await started({}, 'node-1', 'node-2');
    world.api.seed(storageClasses, storageClass);
    world.api.seed(persistentVolumes, volume('pv-2', 'node-2'));
    world.api.seed(persistentVolumeClaims, claim);
    await world.run(10);
    world.addPod(buildPod('x', { spec }));
    await world.run(5000);
    const promised = world.api.peek(persistentVolumes, { namespace: '', name: 'pv-2' });
    assert.deepEqual(
      [promised?.spec.claimRef?.name, promised?.spec.claimRef?.uid, promised?.metadata.annotations],
      ['data', 'claim-1', { 'pv.kubernetes.io/bound-by-controller': 'yes' }],
    );
    assert.deepEqual([world.nodeOf('x'), world.pod('x')?.status?.nominatedNodeName], [undefined, 'node-2']);
    // What a controller of volumes does.
    world.api.change(persistentVolumeClaims, key('data'), (one) => ({
      ...one,
      metadata: { ...one.metadata, annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } },
      spec: { ...one.spec, volumeName: 'pv-2' },
    }));
    await world.run(100);
    assert.equal(world.nodeOf('x'), 'node-2');
    await world.stop();
  });

  it('do not hold up the end of the scheduler, and the next one goes on with them', async () => {
    const world = await started({}, 'node-1', 'node-2');
    world.api.seed(storageClasses, storageClass);
    world.api.seed(persistentVolumes, volume('pv-2', 'node-2'));
    world.api.seed(persistentVolumeClaims, claim);
    await world.run(10);
    world.addPod(buildPod('x', { spec }));
    await world.run(1000);
    const { length } = world.events;
    await world.stop();
    assert.deepEqual([world.clock.armedTimers, world.events.length], [0, length]);
    await world.start();
    world.api.change(persistentVolumeClaims, key('data'), (one) => ({
      ...one,
      metadata: { ...one.metadata, annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } },
      spec: { ...one.spec, volumeName: 'pv-2' },
    }));
    await world.run(100);
    assert.equal(world.nodeOf('x'), 'node-2');
    await world.stop();
  });

  it('are given up after the time that the configuration allows, and tried anew', async () => {
    const read = readSchedulerConfig({
      apiVersion: 'kubescheduler.config.k8s.io/v1',
      kind: 'KubeSchedulerConfiguration',
      profiles: [{ pluginConfig: [{ name: 'VolumeBinding', args: { bindTimeoutSeconds: 30 } }] }],
    });
    assert.ok('config' in read);
    const world = await started({ config: read.config }, 'node-2');
    world.api.seed(storageClasses, storageClass);
    world.api.seed(persistentVolumes, volume('pv-2', 'node-2'));
    world.api.seed(persistentVolumeClaims, claim);
    await world.run(10);
    world.addPod(buildPod('x', { spec }));
    await world.run(31_000);
    assert.equal(
      world.condition('x'),
      'False SchedulerError: running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded',
    );
    assert.equal(world.nodeOf('x'), undefined);
    world.api.change(persistentVolumeClaims, key('data'), (one) => ({
      ...one,
      metadata: { ...one.metadata, annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } },
      spec: { ...one.spec, volumeName: 'pv-2' },
    }));
    await world.run(60_000);
    assert.equal(world.nodeOf('x'), 'node-2');
    await world.stop();
  });

  it('leave the pod pending in upstream’s words when there are none, until one comes', async () => {
    const world = await started({}, 'node-1');
    world.addPod(buildPod('x', { spec }));
    await world.run(100);
    assert.equal(
      world.condition('x'),
      unfit('0/1 nodes are available: persistentvolumeclaim "data" not found. not found'),
    );
    world.api.seed(storageClasses, { ...storageClass, volumeBindingMode: 'Immediate' });
    world.api.seed(persistentVolumeClaims, claim);
    await world.run(5000);
    assert.equal(
      world.condition('x'),
      unfit('0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found'),
    );
    world.api.seed(persistentVolumes, volume('pv-1', 'node-1'));
    world.api.change(persistentVolumeClaims, key('data'), (one) => ({
      ...one,
      metadata: { ...one.metadata, annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } },
      spec: { ...one.spec, volumeName: 'pv-1' },
    }));
    await world.run(5000);
    assert.equal(world.nodeOf('x'), 'node-1');
    await world.stop();
  });
});
