import assert from 'node:assert/strict';
import { it } from 'node:test';
import { leases, nodes, pods } from '../../../api/client/resource-types.ts';
import type { Node, NodeCondition, Taint } from '../../../api/core/node.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { formatTime } from '../../../api/time.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { createNodeLifecycleController, nodeLifecycleDefaults } from './node-lifecycle-controller.ts';

type Status = NodeCondition['status'];
const all = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'];
const conditions = (ready: Status): NodeCondition[] =>
  all.map((type) => ({
    type,
    status: type === 'Ready' ? ready : 'False',
    reason: 'Kubelet',
    message: 'm',
    lastHeartbeatTime: '2026-01-01T00:00:00Z',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  }));

interface NodeShape {
  readonly ready?: Status;
  readonly taints?: readonly Taint[];
}

function seedNode(world: ControllerWorld, name: string, { ready = 'True', taints = [] }: NodeShape = {}): void {
  world.api.seed(nodes, {
    metadata: { name, namespace: '', uid: name },
    spec: { ...(taints.length > 0 && { taints: [...taints] }) },
    status: { conditions: conditions(ready) },
  });
  world.api.seed(leases, {
    metadata: { name, namespace: 'kube-node-lease', uid: `lease-${name}` },
    spec: { renewTime: '2026-01-01T00:00:00.000000Z' },
  });
}

async function setUp(shapes: Readonly<Record<string, NodeShape>>): Promise<ControllerWorld> {
  const world = new ControllerWorld({
    make: (options) => [createNodeLifecycleController({ ...options, ...nodeLifecycleDefaults })],
  });
  for (const [name, shape] of Object.entries(shapes)) seedNode(world, name, shape);
  world.start();
  await world.clock.advance(1_000);
  return world;
}

const nodeOf = (world: ControllerWorld, name: string): Node => world.api.peek(nodes, { namespace: '', name }) as Node;
const taintsOf = (world: ControllerWorld, name: string): string[] =>
  (nodeOf(world, name).spec?.taints ?? [])
    .map(({ key, effect }) => `${key.replace('node.kubernetes.io/', '')}:${effect}`)
    .sort();
const readyStatus = (world: ControllerWorld, name: string): string =>
  `${nodeOf(world, name).status?.conditions?.[0]?.status} ${nodeOf(world, name).status?.conditions?.[0]?.reason}`;
const setReady = (world: ControllerWorld, name: string, ready: Status): unknown =>
  world.api.change(nodes, { namespace: '', name }, (node) => ({
    ...node,
    status: { ...node.status, conditions: conditions(ready) },
  }));
const podReady = (world: ControllerWorld, name: string): string | undefined =>
  world.api.peek(pods, { namespace: 'default', name })?.status?.conditions?.[0]?.status;
const seedPod = (world: ControllerWorld, name: string, nodeName: string): unknown =>
  world.api.seed(
    pods,
    buildPod({
      'metadata.name': name,
      'metadata.uid': name,
      'spec.nodeName': nodeName,
      status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
    }),
  );

/** Advances the time while these kubelets renew their leases. */
async function run(world: ControllerWorld, forMs: number, alive: readonly string[]): Promise<void> {
  for (let leftMs = forMs; leftMs > 0; leftMs -= 10_000) {
    for (const name of alive)
      world.api.change(leases, { namespace: 'kube-node-lease', name }, (lease) => ({
        ...lease,
        spec: { ...lease.spec, renewTime: formatTime(world.clock.nowMs()) },
      }));
    await world.clock.advance(Math.min(10_000, leftMs));
  }
}

const unreachable = ['unreachable:NoExecute', 'unreachable:NoSchedule'];

it('a node that renews its lease causes no writes', async () => {
  const world = await setUp({ a: {}, b: {} });
  await run(world, 300_000, ['a', 'b']);
  assert.deepEqual(
    world.api.writes.filter((each) => !each.includes('events')),
    [],
  );
  assert.deepEqual(world.events, [
    'Normal RegisteredNode Node a event: Registered Node a in Controller',
    'Normal RegisteredNode Node b event: Registered Node b in Controller',
  ]);
  await world.stop();
});

it('a node without heartbeats for fifty seconds is Unknown and tainted, and its pods are not ready', async () => {
  const world = await setUp({ a: {}, b: {}, c: {} });
  seedPod(world, 'mine', 'a');
  seedPod(world, 'other', 'b');
  await run(world, 40_000, ['b', 'c']);
  assert.deepEqual([readyStatus(world, 'a'), taintsOf(world, 'a')], ['True Kubelet', []]);
  await run(world, 10_000, ['b', 'c']);
  const [ready, memory] = nodeOf(world, 'a').status?.conditions ?? [];
  assert.deepEqual(
    [ready?.status, ready?.reason, ready?.message, ready?.lastHeartbeatTime, memory?.status],
    ['Unknown', 'NodeStatusUnknown', 'Kubelet stopped posting node status.', '2026-01-01T00:00:00Z', 'Unknown'],
  );
  assert.deepEqual([taintsOf(world, 'a'), taintsOf(world, 'b')], [unreachable, []]);
  assert.ok(nodeOf(world, 'a').spec?.taints?.every(({ timeAdded }) => timeAdded !== undefined));
  assert.deepEqual([podReady(world, 'mine'), podReady(world, 'other')], ['False', 'True']);
  assert.deepEqual(
    world.events.filter((each) => each.includes('NodeNotReady')),
    ['Normal NodeNotReady Node a status is now: NodeNotReady', 'Warning NodeNotReady Node is not ready'],
  );
  await world.stop();
});

it('conditions that a new node never reported become Unknown after a minute', async () => {
  const world = await setUp({ b: {} });
  world.api.seed(nodes, { metadata: { name: 'new', namespace: '', uid: 'new' }, spec: {} });
  await run(world, 50_000, ['b']);
  assert.equal(nodeOf(world, 'new').status?.conditions, undefined);
  await run(world, 20_000, ['b']);
  assert.deepEqual(
    nodeOf(world, 'new').status?.conditions?.map(({ type, status, reason }) => [type, status, reason]),
    all.map((type) => [type, 'Unknown', 'NodeStatusNeverUpdated']),
  );
  await world.stop();
});

it('a node that recovers loses its taints, and its kubelet updates its pods', async () => {
  const world = await setUp({ a: { ready: 'Unknown', taints: [{ key: 'mine', effect: 'NoExecute' }] }, b: {}, c: {} });
  assert.deepEqual(taintsOf(world, 'a'), ['mine:NoExecute', ...unreachable]);
  setReady(world, 'a', 'True');
  await world.clock.advance(1_000);
  assert.deepEqual(taintsOf(world, 'a'), ['mine:NoExecute']);
  await world.stop();
});

it('conditions and a cordon add NoSchedule taints, and one NoExecute taint replaces the other', async () => {
  const world = await setUp({ a: { ready: 'False' }, b: {}, c: {} });
  assert.deepEqual(taintsOf(world, 'a'), ['not-ready:NoExecute', 'not-ready:NoSchedule']);
  setReady(world, 'a', 'Unknown');
  world.api.change(nodes, { namespace: '', name: 'b' }, (node) => ({
    ...node,
    spec: { ...node.spec, unschedulable: true },
    status: {
      conditions: conditions('True').map((each) =>
        each.type === 'DiskPressure' ? { ...each, status: 'True' as const } : each,
      ),
    },
  }));
  await world.clock.advance(1_000);
  assert.deepEqual(
    [taintsOf(world, 'a'), taintsOf(world, 'b')],
    [unreachable, ['disk-pressure:NoSchedule', 'unschedulable:NoSchedule']],
  );
  world.api.change(nodes, { namespace: '', name: 'b' }, (node) => ({
    ...node,
    spec: { ...node.spec, unschedulable: false },
  }));
  await world.clock.advance(1_000);
  assert.deepEqual(taintsOf(world, 'b'), ['disk-pressure:NoSchedule']);
  await world.stop();
});

it('nodes that fail together lose their pods one after another', async () => {
  const world = await setUp({ a: {}, b: {}, c: {}, d: {}, e: {} });
  const evicting = (): number =>
    ['a', 'b'].filter((name) => taintsOf(world, name).includes('unreachable:NoExecute')).length;
  await run(world, 50_000, ['c', 'd', 'e']);
  assert.equal(evicting(), 1);
  assert.ok(['a', 'b'].every((name) => taintsOf(world, name).includes('unreachable:NoSchedule')));
  await run(world, 10_000, ['c', 'd', 'e']);
  assert.equal(evicting(), 2);
  await world.stop();
});

it('if no node sends heartbeats, no pods are evicted, and pending evictions are cancelled', async () => {
  const world = await setUp({ a: {}, b: {}, c: {} });
  await run(world, 60_000, ['b', 'c']);
  assert.deepEqual(taintsOf(world, 'a'), unreachable);
  await run(world, 120_000, []);
  for (const name of ['a', 'b', 'c']) assert.deepEqual(taintsOf(world, name), ['unreachable:NoSchedule']);
  setReady(world, 'b', 'True');
  await run(world, 30_000, ['b']);
  assert.deepEqual([taintsOf(world, 'a').includes('unreachable:NoExecute'), taintsOf(world, 'b')], [true, []]);
  await world.stop();
});

it('a restart removes no taint, gives nodes the whole grace period, and does not mark pods of healthy nodes', async () => {
  const taints = [
    { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' as const, timeAdded: '2025-12-31T00:00:00Z' },
    { key: 'node.kubernetes.io/unreachable', effect: 'NoSchedule' as const },
  ];
  const world = await setUp({ 'a-silent': { ready: 'Unknown', taints }, broken: { ready: 'False' }, c: {}, d: {} });
  assert.equal(
    nodeOf(world, 'a-silent').spec?.taints?.find(({ effect }) => effect === 'NoExecute')?.timeAdded,
    '2025-12-31T00:00:00Z',
  );
  seedPod(world, 'speaks', 'broken');
  seedPod(world, 'mute', 'a-silent');
  await run(world, 30_000, ['broken', 'c', 'd']);
  world.restart();
  await run(world, 40_000, ['broken', 'c']);
  assert.deepEqual(
    [podReady(world, 'speaks'), podReady(world, 'mute'), readyStatus(world, 'd')],
    ['True', 'False', 'True Kubelet'],
  );
  await run(world, 20_000, ['broken', 'c']);
  assert.equal(readyStatus(world, 'd'), 'Unknown NodeStatusUnknown');
  await world.stop();
});

it('pods that could not be marked as not ready are marked later', async () => {
  const world = await setUp({ a: {}, b: {} });
  seedPod(world, 'mine', 'a');
  world.api.fail('patch', 'pods', new ApiStatusError('InternalError', 'no'), 2);
  setReady(world, 'a', 'False');
  await world.clock.advance(2_000);
  assert.equal(podReady(world, 'mine'), 'False');
  await world.stop();
});
