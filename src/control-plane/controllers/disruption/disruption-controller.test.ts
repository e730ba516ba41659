import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  daemonSets,
  deployments,
  events,
  podDisruptionBudgets,
  pods,
  replicaSets,
} from '../../../api/client/resource-types.ts';
import type { OwnerReference } from '../../../api/core/meta.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodDisruptionBudget, PodDisruptionBudgetStatus } from '../../../api/policy/pod-disruption-budget.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { createDisruptionController } from './disruption-controller.ts';

const key = { namespace: 'default', name: 'budget' };
const selector = { matchLabels: { app: 'web' } };
const owner = (kind: string, name: string, apiVersion = 'apps/v1'): OwnerReference => ({
  apiVersion,
  kind,
  name,
  uid: name,
  controller: true,
});
const template = { metadata: { labels: { app: 'web' } }, spec: buildPod().spec };
const ready = (isReady: boolean): object => ({
  phase: 'Running',
  conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }],
});

function pod(name: string, changes: Record<string, unknown> = {}): Pod {
  return buildPod({
    'metadata.name': name,
    'metadata.uid': name,
    'metadata.labels': { app: 'web' },
    'metadata.ownerReferences': [owner('ReplicaSet', 'set')],
    'spec.nodeName': 'n',
    status: ready(true),
    ...changes,
  });
}

interface Seeds {
  readonly spec: PodDisruptionBudget['spec'];
  readonly all: readonly Pod[];
  readonly status?: PodDisruptionBudgetStatus;
  /** The replicas of the Deployment. Its ReplicaSet has other numbers, as during a rollout. */
  readonly replicas?: number;
}

async function setUp({ spec, all, status, replicas }: Seeds): Promise<ControllerWorld> {
  const world = new ControllerWorld({
    make: (options) => [createDisruptionController({ ...options, types: [daemonSets, deployments, replicaSets] })],
  });
  const ownerReferences = replicas === undefined ? [] : [owner('Deployment', 'web')];
  world.api.seed(replicaSets, {
    metadata: { namespace: 'default', name: 'set', uid: 'set', ownerReferences },
    spec: { replicas: 4, selector, template },
  });
  if (replicas !== undefined)
    world.api.seed(deployments, {
      metadata: { namespace: 'default', name: 'web', uid: 'web' },
      spec: { replicas, selector, template },
    });
  for (const each of all) world.api.seed(pods, each);
  world.api.seed(podDisruptionBudgets, {
    metadata: { ...key, uid: 'b', generation: 2 },
    spec: { selector, ...spec },
    ...(status !== undefined && { status }),
  });
  world.start();
  await world.clock.advance(1_000);
  return world;
}

const numbers = (world: ControllerWorld): number[] => {
  const { expectedPods, desiredHealthy, currentHealthy, disruptionsAllowed } =
    world.api.peek(podDisruptionBudgets, key)?.status ?? ({} as PodDisruptionBudgetStatus);
  return [expectedPods, desiredHealthy, currentHealthy, disruptionsAllowed];
};
const condition = (world: ControllerWorld): string => {
  const [first] = world.api.peek(podDisruptionBudgets, key)?.status?.conditions ?? [];
  return `${first?.type}=${first?.status} ${first?.reason} ${first?.message}`;
};

it('counts ready pods that are not terminating, and sets the observed generation', async () => {
  const world = await setUp({
    spec: { minAvailable: 1 },
    all: [
      pod('a'),
      pod('b'),
      pod('c', { status: ready(false) }),
      pod('d', { 'metadata.deletionTimestamp': '2026-01-01T00:00:30Z', 'metadata.deletionGracePeriodSeconds': 30 }),
      pod('other', { 'metadata.labels': { app: 'db' } }),
    ],
  });
  assert.deepEqual([numbers(world), condition(world)], [[4, 1, 2, 1], 'DisruptionAllowed=True SufficientPods ']);
  assert.equal(world.api.peek(podDisruptionBudgets, key)?.status?.observedGeneration, 2);
  world.api.change(pods, { namespace: 'default', name: 'a' }, (each) => ({
    ...each,
    status: { ...each.status, conditions: [] } as Pod['status'],
  }));
  await world.clock.advance(1_000);
  assert.deepEqual([numbers(world), condition(world)], [[4, 1, 1, 0], 'DisruptionAllowed=False InsufficientPods ']);
  const { length } = world.api.writes;
  await world.clock.advance(600_000);
  assert.equal(world.api.writes.length, length, 'a settled budget costs nothing');
  await world.stop();
});

it('warns of a pod that several budgets select, and only of such a pod', async () => {
  const world = await setUp({ spec: { minAvailable: 1 }, all: [pod('a')] });
  const warnings = (): unknown[] =>
    world.api
      .all(events)
      .filter(({ reason }) => reason === 'MultiplePodDisruptionBudgets')
      .map(({ involvedObject, message }) => [involvedObject.kind, involvedObject.name, message]);
  assert.deepEqual(warnings(), []);
  const second = { ...key, name: 'another' };
  world.api.seed(podDisruptionBudgets, { metadata: { ...second, uid: 'b2' }, spec: { minAvailable: 1, selector } });
  await world.clock.advance(1_000);
  world.api.change(pods, { namespace: 'default', name: 'a' }, (each) => ({
    ...each,
    status: { ...each.status, conditions: [] } as Pod['status'],
  }));
  await world.clock.advance(1_000);
  const message = 'Pod "default"/"a" matches multiple PodDisruptionBudgets.  Chose "another" arbitrarily.';
  assert.deepEqual(warnings(), [['Pod', 'a', message]]);
  await world.stop();
});

it('uses the size of a Deployment, and follows when it is scaled', async () => {
  const world = await setUp({
    spec: { maxUnavailable: '25%' },
    all: ['a', 'b', 'c'].map((name) => pod(name)),
    replicas: 3,
  });
  assert.deepEqual(numbers(world), [3, 2, 3, 1]);
  world.api.change(deployments, { namespace: 'default', name: 'web' }, (each) => ({
    ...each,
    spec: { ...each.spec, replicas: 10 },
  }));
  await world.clock.advance(1_000);
  assert.deepEqual(numbers(world), [10, 7, 3, 0]);
  await world.stop();
});

it('uses the size of a standalone ReplicaSet', async () => {
  const world = await setUp({ spec: { minAvailable: '50%' }, all: ['a', 'b', 'c'].map((name) => pod(name)) });
  assert.deepEqual(numbers(world), [4, 2, 3, 1]);
  await world.stop();
});

it('counts a pod as evicted once its eviction is granted, for at most two minutes', async () => {
  const status = {
    observedGeneration: 2,
    disruptionsAllowed: 1,
    currentHealthy: 3,
    desiredHealthy: 1,
    expectedPods: 3,
    disruptedPods: { a: '2026-01-01T00:00:00Z', b: '2026-01-01T00:00:00Z', gone: '2026-01-01T00:00:00Z' },
  };
  const world = await setUp({ spec: { minAvailable: 1 }, all: [pod('a'), pod('b'), pod('c')], status });
  const disrupted = (): string[] => Object.keys(world.api.peek(podDisruptionBudgets, key)?.status?.disruptedPods ?? {});
  assert.deepEqual(
    [numbers(world), disrupted()],
    [
      [3, 1, 1, 0],
      ['a', 'b'],
    ],
  );
  await world.api.delete(pods, { namespace: 'default', name: 'a' });
  await world.clock.advance(1_000);
  assert.deepEqual([numbers(world), disrupted()], [[3, 1, 1, 0], ['b']]);
  await world.clock.advance(117_000);
  assert.deepEqual(disrupted(), ['b']);
  await world.clock.advance(2_000);
  assert.deepEqual([numbers(world), disrupted()], [[3, 1, 2, 1], []]);
  assert.ok(
    world.events.includes("Warning NotDeleted Pod was expected by PDB default/budget to be deleted but it wasn't"),
    world.events.join('\n'),
  );
  await world.stop();
});

it('if the number cannot be determined, no disruption is allowed and the condition has the reason', async () => {
  const cases: readonly [OwnerReference, string][] = [
    [owner('DaemonSet', 'x'), 'daemonsets.apps does not implement the scale subresource'],
    [owner('Strange', 'x', 'example.com/v1'), 'no matches for kind "Strange" in version "example.com/v1"'],
    [owner('ReplicaSet', 'missing'), 'found no controllers for pod "a"'],
  ];
  for (const [reference, why] of cases) {
    const world = await setUp({
      spec: { maxUnavailable: 1 },
      all: [pod('a', { 'metadata.ownerReferences': [reference] })],
    });
    assert.deepEqual([numbers(world), condition(world)], [[0, 0, 0, 0], `DisruptionAllowed=False SyncFailed ${why}`]);
    assert.ok(
      world.events.includes(
        `Warning CalculateExpectedPodCountFailed Failed to calculate the number of expected pods: ${why}`,
      ),
    );
    await world.stop();
  }
});

it('reports an empty selection, and pods without a known scale', async () => {
  const empty = await setUp({ spec: { minAvailable: 1 }, all: [] });
  assert.deepEqual([numbers(empty), empty.events], [[0, 1, 0, 0], ['Normal NoPods No matching pods found']]);
  const bare = await setUp({ spec: { maxUnavailable: 1 }, all: [pod('a', { 'metadata.ownerReferences': undefined })] });
  assert.deepEqual(numbers(bare), [0, 0, 1, 0]);
  assert.match(
    bare.events.join('\n'),
    /^Warning UnmanagedPods Pods selected by this PodDisruptionBudget \(selector: &LabelSelector\{MatchLabels:map\[string\]string\{app: web,\},.*were found to be unmanaged\./,
  );
  await Promise.all([empty.stop(), bare.stop()]);
});

it('an eviction during a sync stays counted in disruptionsAllowed', async () => {
  const world = await setUp({ spec: { minAvailable: 1 }, all: [pod('a'), pod('b')] });
  world.api.change(pods, { namespace: 'default', name: 'b' }, (each) => ({
    ...each,
    metadata: { ...each.metadata, annotations: { x: '1' } },
    status: { ...each.status, conditions: [] } as Pod['status'],
  }));
  world.api.change(podDisruptionBudgets, key, (each) => ({
    ...each,
    status: {
      ...each.status,
      disruptionsAllowed: 0,
      disruptedPods: { a: '2026-01-01T00:00:01Z' },
    } as PodDisruptionBudgetStatus,
  }));
  await world.clock.advance(1_000);
  assert.deepEqual(
    [numbers(world), world.api.peek(podDisruptionBudgets, key)?.status?.disruptedPods],
    [[2, 1, 0, 0], { a: '2026-01-01T00:00:01Z' }],
  );
  await world.stop();
});

it('removes the condition DisruptionTarget of a pod that still exists after two minutes', async () => {
  const target = (reason: string): object => ({
    phase: 'Running',
    conditions: [
      { type: 'DisruptionTarget', status: 'True', reason, message: 'm', lastTransitionTime: '2026-01-01T00:00:00Z' },
    ],
  });
  const world = await setUp({
    spec: { minAvailable: 1 },
    all: [
      pod('a', { status: target('EvictionByEvictionAPI') }),
      pod('kubelet', { status: target('TerminationByKubelet') }),
    ],
  });
  const said = (name: string): unknown => world.api.peek(pods, { namespace: 'default', name })?.status?.conditions?.[0];
  await world.clock.advance(118_000);
  assert.equal((said('a') as { status: string }).status, 'True');
  await world.clock.advance(2_000);
  assert.deepEqual(
    [said('a'), (said('kubelet') as { status: string }).status],
    [{ type: 'DisruptionTarget', status: 'False', lastTransitionTime: '2026-01-01T00:02:00Z' }, 'True'],
  );
  await world.stop();
});
