import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { podDisruptionBudgets, pods } from '../../api/client/resource-types.ts';
import { ApiStatusError } from '../../api/status/api-status-error.ts';
import { bound, buildPod } from './testing/builders.ts';
import { started } from './testing/scheduler-world.ts';

const key = (name: string): { namespace: string; name: string } => ({ namespace: 'default', name });
const unfit = (message: string): string => `False Unschedulable: ${message}`;

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

  it('sets the condition of the victims, deletes them, nominates the node, and binds the pod when they are gone', async () => {
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

  it('does not give the freed room to a pod of lower priority', async () => {
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

  it('removes the nomination of a pod of lower priority that no longer has room', async () => {
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

  it('does not select new victims while the first ones are being deleted', async () => {
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
    // An event may queue the pod again, but it is not scheduled until its victims are deleted.
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

  it('spares pods that a disruption budget protects if there is a choice', async () => {
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

  it('evicts no pod for a pod with preemptionPolicy Never', async () => {
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

  it('retries if a victim could not be deleted', async () => {
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
