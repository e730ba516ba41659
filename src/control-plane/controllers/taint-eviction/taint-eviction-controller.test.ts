import assert from 'node:assert/strict';
import { it } from 'node:test';
import { nodes, pods } from '../../../api/client/resource-types.ts';
import type { Taint } from '../../../api/core/node.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { createTaintEvictionController } from './taint-eviction-controller.ts';

const noExecute = (key: string, more: Partial<Taint> = {}): Taint => ({ key, effect: 'NoExecute', ...more });
const web = { namespace: 'default', name: 'web' };
const bound = { 'spec.nodeName': 'node-1', 'metadata.generation': 4 };
const tolerating = (tolerationSeconds: number): object => ({
  ...bound,
  'spec.tolerations': [{ key: 'a', operator: 'Exists', effect: 'NoExecute', tolerationSeconds }],
});

async function setUp(taints: readonly Taint[], changes: object, lagMs = 0): Promise<ControllerWorld> {
  const world = new ControllerWorld({ make: (options) => [createTaintEvictionController(options)], lagMs });
  world.addNode('node-1', { taints: [...taints] });
  world.api.seed(pods, buildPod({ ...changes }));
  world.start();
  await world.clock.advance(1_000);
  return world;
}

const taint = async (world: ControllerWorld, ...taints: Taint[]): Promise<void> => {
  world.api.change(nodes, { namespace: '', name: 'node-1' }, (node) => ({ ...node, spec: { ...node.spec, taints } }));
  await world.clock.advance(1_000);
};
const isLeaving = (world: ControllerWorld): boolean =>
  world.api.peek(pods, web)?.metadata.deletionTimestamp !== undefined;
const marked = 'Normal TaintManagerEviction Marking for deletion Pod default/web';
const cancelled = 'Normal TaintManagerEviction Cancelling deletion of Pod default/web';

it('a pod that does not tolerate a new taint is deleted, and its condition has the reason', async () => {
  const world = await setUp([], bound);
  await taint(world, { key: 'a', effect: 'NoSchedule' });
  assert.deepEqual([isLeaving(world), world.api.writes], [false, []]);
  await taint(world, noExecute('a'));
  const condition = world.api.peek(pods, web)?.status?.conditions?.find(({ type }) => type === 'DisruptionTarget');
  assert.deepEqual(condition, {
    type: 'DisruptionTarget',
    observedGeneration: 4,
    status: 'True',
    reason: 'DeletionByTaintManager',
    message: 'Taint manager: deleting due to NoExecute taint',
    lastTransitionTime: condition?.lastTransitionTime,
  });
  assert.deepEqual([isLeaving(world), world.events], [true, [marked]]);
  await world.stop();
});

it('a pod stays for its toleration time, and is spared if the taint is removed in that time', async () => {
  const world = await setUp([noExecute('a')], tolerating(30));
  await world.clock.advance(20_000);
  assert.deepEqual([isLeaving(world), world.events], [false, []]);
  await taint(world);
  await world.clock.advance(60_000);
  assert.deepEqual([isLeaving(world), world.events], [false, [cancelled]]);
  await taint(world, noExecute('a'));
  await world.clock.advance(27_000);
  assert.equal(isLeaving(world), false);
  await world.clock.advance(3_000);
  assert.deepEqual([isLeaving(world), world.events], [true, [cancelled, marked]]);
  await world.stop();
  assert.equal(world.clock.armedTimers, 0);
});

it('a toleration that is added in time keeps the pod, and a shorter one counts from the beginning', async () => {
  const world = await setUp([noExecute('a')], tolerating(300));
  const tolerate = (tolerationSeconds: number | undefined): unknown =>
    world.api.change(pods, web, (pod) => ({
      ...pod,
      spec: {
        ...pod.spec,
        tolerations: [
          { key: 'a', operator: 'Exists' as const, ...(tolerationSeconds !== undefined && { tolerationSeconds }) },
        ],
      },
    }));
  await world.clock.advance(20_000);
  tolerate(undefined);
  await world.clock.advance(600_000);
  assert.deepEqual([isLeaving(world), world.events], [false, [cancelled]]);
  tolerate(300);
  await world.clock.advance(20_000);
  tolerate(30);
  await world.clock.advance(9_000);
  assert.equal(isLeaving(world), false);
  await world.clock.advance(2_000);
  assert.equal(isLeaving(world), true);
  await world.stop();
});

it('replacing a taint by another does not extend the toleration period', async () => {
  const both = {
    ...bound,
    'spec.tolerations': ['a', 'b'].map((key) => ({
      key,
      operator: 'Exists',
      effect: 'NoExecute',
      tolerationSeconds: 100,
    })),
  };
  const world = await setUp([noExecute('a')], both);
  await world.clock.advance(60_000);
  await taint(world, noExecute('b', { timeAdded: '2026-01-01T00:01:01Z' }));
  await world.clock.advance(36_000);
  assert.deepEqual([isLeaving(world), world.events], [false, []]);
  await world.clock.advance(3_000);
  assert.equal(isLeaving(world), true);
  await world.stop();
});

it('a restart does not extend the toleration period of a taint that has timeAdded', async () => {
  const world = await setUp([noExecute('a', { timeAdded: '2026-01-01T00:00:00Z' })], tolerating(100));
  await world.clock.advance(60_000);
  world.restart();
  await world.clock.advance(37_000);
  assert.equal(isLeaving(world), false);
  await world.clock.advance(3_000);
  assert.equal(isLeaving(world), true);
  await world.stop();
});

it('terminating and unscheduled pods are not changed', async () => {
  const leaving = await setUp([noExecute('a')], {
    ...bound,
    'metadata.deletionTimestamp': '2026-01-01T00:00:30Z',
    'metadata.deletionGracePeriodSeconds': 30,
  });
  assert.deepEqual(leaving.api.writes, []);
  const pending = await setUp([noExecute('a')], {});
  assert.deepEqual(pending.api.writes, []);
  pending.api.change(pods, web, (pod) => ({ ...pod, spec: { ...pod.spec, nodeName: 'node-1' } }));
  await pending.clock.advance(1_000);
  assert.equal(isLeaving(pending), true);
  await Promise.all([leaving.stop(), pending.stop()]);
});

it('a replacement pod gets its own toleration period, and the old pod gets no further events', async () => {
  const world = await setUp([noExecute('a')], tolerating(30));
  await world.clock.advance(20_000);
  world.api.remove(pods, web);
  world.api.seed(pods, buildPod({ ...tolerating(30), 'metadata.uid': 'uid-2' }));
  await world.clock.advance(20_000);
  assert.deepEqual([isLeaving(world), world.events], [false, [cancelled]]);
  await world.clock.advance(11_000);
  assert.equal(isLeaving(world), true);
  await world.stop();
});

it('a rejected eviction is retried, and its event is recorded once', async () => {
  const world = await setUp([], bound, 300);
  world.api.fail('delete', 'pods', new ApiStatusError('InternalError', 'no'), 3);
  await taint(world, noExecute('a'));
  await world.clock.advance(1_000);
  assert.deepEqual(
    [isLeaving(world), world.events, world.api.writes.filter((each) => each.startsWith('delete')).length],
    [true, [marked], 4],
  );
  await world.stop();
});
