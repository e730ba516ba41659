import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { events, nodes, pods } from '../../api/client/resource-types.ts';
import { ApiStatusError } from '../../api/status/api-status-error.ts';
import { readSchedulerConfig } from './config/scheduler-config.ts';
import { bound, buildNode, buildPod } from './testing/builders.ts';
import { SchedulerWorld, started } from './testing/scheduler-world.ts';

const key = (name: string): { namespace: string; name: string } => ({ namespace: 'default', name });
const unfit = (message: string): string => `False Unschedulable: ${message}`;
const fullMessage =
  '0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.';

describe('the scheduler', () => {
  it('binds pods through the API and records an event', async () => {
    const world = await started({}, 'node-1');
    world.addPod(buildPod('x', { requests: { cpu: '1' } }));
    await world.run(100);
    assert.deepEqual(
      [world.nodeOf('x'), world.events],
      ['node-1', ['x Normal Scheduled: Successfully assigned default/x to node-1']],
    );
    assert.deepEqual(
      world.api.all(events).map(({ action }) => action),
      ['Binding'],
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

  it('ignores pods of other schedulers, bound pods and terminal pods', async () => {
    const world = await started({}, 'node-1');
    world.addPod(buildPod('other', { spec: { schedulerName: 'mine' } }));
    world.addPod(buildPod('over', { status: { phase: 'Succeeded' } }));
    await world.run(1000);
    assert.deepEqual(world.api.writes, []);
    await world.stop();
  });

  it('reports once why a pod is pending, and writes nothing while nothing changes', async () => {
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

  it('retries a pending pod after an event that may help it, and not after others', async () => {
    const world = await started({}, 'node-1');
    world.addPod(bound(buildPod('big', { requests: { cpu: '3' } }), 'node-1'));
    world.addPod(bound(buildPod('web', { labels: { app: 'web' } }), 'node-1'));
    await world.run(10);
    world.addPod(buildPod('x', { requests: { cpu: '2' } }));
    await world.run(5000);
    const attempts = (): number => world.scheduler.counts().unschedulable;
    assert.equal(attempts(), 1);
    // Unrelated labels, heartbeats and cordons help no pod.
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

  it('schedules pending pods when the first node is added', async () => {
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

  it('does not schedule gated pods until the last gate is removed', async () => {
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

  it('never assigns the same room twice, however late the API shows bindings', async () => {
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

  it('retries a refused bind after a back-off, and frees the room in the meantime', async () => {
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

  it('treats a bind as successful if the pod is bound although the response was lost', async () => {
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

  it('checks the pod after a bind without a response, and frees the room', async () => {
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

  it('gives the room of a pod whose bind was refused to a waiting pod', async () => {
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

  it('frees the room of a pod that is deleted while it is being bound', async () => {
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

  it('retries the pods that respected a nomination when the nomination is removed or its pod is deleted', async () => {
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

  it('drops a pod that is deleted while it is being bound', async () => {
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

  it('stops while a bind is failing, and leaves no timers', async () => {
    const world = await started({}, 'node-1');
    let end: ((error: Error) => void) | undefined;
    world.api.onPost('pods', 'binding', () => new Promise((_, reject) => (end = reject)));
    world.addPod(buildPod('x'));
    await world.run(100);
    const { armedTimers } = world.clock;
    const stopped = world.scheduler.stop();
    end?.(new ApiStatusError('Forbidden', 'no'));
    await stopped;
    // The bind's deadline is cancelled, and no back-off was started.
    assert.equal(world.clock.armedTimers, armedTimers - 1);
    await world.stop();
  });

  it('continues the work of a scheduler that stopped', async () => {
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

  it('schedules for several scheduler names, each with its own plugins', async () => {
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
