import assert from 'node:assert/strict';
import { it } from 'node:test';
import { nodes, pods } from '../../../api/client/resource-types.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { createPodGarbageCollector } from './pod-garbage-collector.ts';

const pod = (name: string, changes: object = {}): Pod =>
  buildPod({ 'metadata.name': name, 'metadata.uid': name, ...changes });
const on = (nodeName: string): object => ({ 'spec.nodeName': nodeName, status: { phase: 'Running' } });
const names = (world: ControllerWorld): string[] =>
  world.api
    .all(pods)
    .map(({ metadata }) => metadata.name)
    .sort();
const leaving = { 'metadata.deletionTimestamp': '2026-01-01T00:00:30Z', 'metadata.deletionGracePeriodSeconds': 30 };

async function setUp(all: readonly Pod[], terminatedThreshold = 0): Promise<ControllerWorld> {
  const world = new ControllerWorld({
    make: (options) => [createPodGarbageCollector({ ...options, terminatedThreshold })],
  });
  world.addNode('node-1');
  for (const each of all) world.api.seed(pods, each);
  world.start();
  await world.clock.advance(1_000);
  return world;
}

it('pods of a deleted node fail and are deleted after forty seconds', async () => {
  const world = await setUp([pod('a', on('node-1')), pod('b', { ...on('node-1'), 'metadata.finalizers': ['x/y'] })]);
  await world.clock.advance(100_000);
  assert.deepEqual(world.api.writes, []);
  world.api.remove(nodes, { namespace: '', name: 'node-1' });
  await world.clock.advance(39_000);
  assert.deepEqual(world.api.writes, []);
  await world.clock.advance(2_000);
  assert.deepEqual(names(world), ['b']);
  const { status, metadata } = world.api.peek(pods, { namespace: 'default', name: 'b' }) as Pod;
  assert.deepEqual([status?.phase, metadata.deletionGracePeriodSeconds], ['Failed', 0]);
  const [condition] = status?.conditions ?? [];
  assert.deepEqual(
    [condition?.type, condition?.status, condition?.reason, condition?.message],
    ['DisruptionTarget', 'True', 'DeletionByPodGC', 'PodGC: node no longer exists'],
  );
  const { length } = world.api.writes;
  await world.clock.advance(600_000);
  assert.equal(world.api.writes.length, length, 'what only a finalizer holds is not deleted again and again');
  await world.stop();
});

it('a node that is recreated within that time keeps its pods, and the time restarts if it is deleted again', async () => {
  const world = await setUp([pod('a', on('node-1'))]);
  world.api.remove(nodes, { namespace: '', name: 'node-1' });
  await world.clock.advance(30_000);
  world.addNode('node-1');
  await world.clock.advance(5_000);
  world.api.remove(nodes, { namespace: '', name: 'node-1' });
  await world.clock.advance(38_000);
  assert.deepEqual(names(world), ['a']);
  await world.clock.advance(3_000);
  assert.deepEqual(names(world), []);
  await world.stop();
});

it('a node that exists on the server is not missing, even if the cache lacks it', async () => {
  const world = await setUp([pod('a', on('late'))]);
  world.api.muteWatches();
  world.addNode('late');
  await world.clock.advance(60_000);
  assert.deepEqual(
    [world.api.writes, world.api.calls.filter(({ verb, key }) => verb === 'get' && key === 'late').length],
    [[], 1],
  );
  await world.stop();
});

it('a terminating pod without a node is deleted at once, with or without finalizers', async () => {
  const world = await setUp([
    pod('held', { ...leaving, 'metadata.finalizers': ['x/y'] }),
    pod('free', leaving),
    pod('stays'),
  ]);
  await world.clock.advance(2_000);
  assert.deepEqual(names(world), ['held', 'stays']);
  assert.equal(world.api.peek(pods, { namespace: 'default', name: 'held' })?.status?.phase, 'Failed');
  await world.stop();
});

it('terminating pods of a machine that is out of service are deleted, others stay', async () => {
  const world = await setUp([pod('leaving', { ...on('node-1'), ...leaving }), pod('stays', on('node-1'))]);
  const set = async (ready: 'True' | 'Unknown', tainted: boolean): Promise<void> => {
    const taints = tainted
      ? [{ key: 'node.kubernetes.io/out-of-service', value: 'nodeshutdown', effect: 'NoExecute' as const }]
      : [];
    world.api.change(nodes, { namespace: '', name: 'node-1' }, (node) => ({
      ...node,
      spec: { taints },
      status: { conditions: [{ type: 'Ready', status: ready }] },
    }));
    await world.clock.advance(1_000);
  };
  await set('True', true);
  await set('Unknown', false);
  assert.deepEqual(names(world), ['leaving', 'stays']);
  await set('Unknown', true);
  assert.deepEqual(names(world), ['stays']);
  await world.api.delete(pods, { namespace: 'default', name: 'stays' });
  await world.clock.advance(1_000);
  assert.deepEqual(names(world), []);
  await world.stop();
});

it('surplus ended pods are deleted at once, evicted ones and the oldest first', async () => {
  const ended = (name: string, minute: number, more: object = {}): Pod =>
    pod(name, {
      'metadata.creationTimestamp': `2025-01-01T00:0${minute}:00Z`,
      status: { phase: 'Succeeded' },
      ...more,
    });
  const world = await setUp(
    [
      ended('old', 1),
      ended('older', 0),
      ended('young', 5),
      ended('evicted', 6, { status: { phase: 'Failed', reason: 'Evicted' } }),
      pod('runs', { status: { phase: 'Running' } }),
    ],
    3,
  );
  assert.deepEqual(names(world), ['old', 'older', 'runs', 'young']);
  world.api.change(pods, { namespace: 'default', name: 'runs' }, (each) => ({
    ...each,
    status: { phase: 'Succeeded' as const },
  }));
  await world.clock.advance(1_000);
  assert.deepEqual(names(world), ['old', 'runs', 'young']);
  await world.stop();
});
