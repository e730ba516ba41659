import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodCondition } from '../../../api/core/pod-status.ts';
import type { ResourceRequirements } from '../../../api/core/resource-requirements.ts';
import { quantityMilliValue } from '../../../api/quantity.ts';
import { podRequests } from '../../../api/resources.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import type { PodUid } from '../../model/ids.ts';
import { containerId, podUid, sandboxId } from '../../model/ids.ts';
import type { ContainerRuntimeResources, PodRuntimeStatus } from '../../model/runtime-status.ts';
import { FakeStateText } from '../../ports/testing/fake-state-text.ts';
import { AllocatedPods } from './allocated-pods.ts';
import { AllocationManager } from './allocation-manager.ts';
import type { ResizeNode } from './decide-resize.ts';
import { ResourceCheckpoint } from './resource-checkpoint.ts';

/** A node of one CPU (1000m) around the manager. */
class Node {
  readonly clock = new FakeClock();
  readonly pods = new Map<string, Pod>();
  readonly events: string[] = [];
  readonly woken: string[] = [];
  readonly counted: string[] = [];
  readonly changed: string[] = [];
  readonly over = new Set<string>();
  resizeConditions: PodCondition[] = [];
  ready = true;
  runtime: PodRuntimeStatus | undefined;
  facts: ResizeNode = {
    allocatable: { cpu: '1', memory: '1Gi' },
    cpuManagerPolicy: 'none',
    podLevelManagers: false,
    memoryManagerPolicy: 'None',
    swapBehavior: '',
    cgroupVersion: 2,
    swapControl: false,
  };
  readonly allocatedFile = new FakeStateText();
  readonly allocated: ResourceCheckpoint;
  readonly actuated: ResourceCheckpoint;
  manager: AllocationManager;

  constructor() {
    this.allocated = new ResourceCheckpoint(this.allocatedFile);
    this.actuated = new ResourceCheckpoint(new FakeStateText());
    this.manager = this.#make();
  }

  /** A restarted agent on the same records. */
  restart(): void {
    this.manager.stop();
    this.manager = this.#make();
  }

  #make(): AllocationManager {
    return new AllocationManager({
      allocatedPods: new AllocatedPods(this.allocated),
      observe: {
        deferredAccepted: (trigger) => void this.counted.push(trigger),
        infeasible: (cause) => void this.counted.push(cause),
      },
      allocated: this.allocated,
      actuated: this.actuated,
      clock: this.clock,
      recorder: {
        event: (pod, type, reason, message) =>
          void this.events.push(`${pod.metadata.name} ${type} ${reason} ${message}`),
      },
      node: () => this.facts,
      pods: () => [...this.pods.values()],
      isOver: (uid) => this.over.has(uid),
      misfit: (pod, others) => {
        const [requested, used] = [cpuOf(pod), others.reduce((sum, other) => sum + cpuOf(other), 0)];
        return requested + used > 1000
          ? {
              reason: 'OutOfcpu',
              message: `Node didn't have enough resource: cpu, requested: ${requested}, used: ${used}, capacity: 1000`,
            }
          : undefined;
      },
      sourcesReady: () => this.ready,
      runtime: () => this.runtime,
      publishedConditions: () => this.resizeConditions,
      onChange: (uid) => void this.changed.push(uid),
      onAllocated: (uid) => void this.woken.push(uid),
    });
  }

  want(
    name: string,
    cpu: string,
    more: { priority?: number; generation?: number; source?: string; resources?: ResourceRequirements } = {},
  ): void {
    const pod = buildPod({
      'metadata.name': name,
      'metadata.uid': name,
      'metadata.generation': more.generation ?? 1,
      'metadata.annotations': { 'kubernetes.io/config.source': more.source ?? 'api' },
      'spec.priority': more.priority,
      'spec.containers[0].resources': more.resources ?? { requests: { cpu } },
    });
    const known = this.pods.has(name);
    this.pods.set(name, pod);
    if (known) this.manager.podUpdated(pod);
    else this.manager.podAdded(pod);
  }

  remove(name: string): void {
    this.pods.delete(name);
    this.manager.podRemoved(podUid(name));
  }

  allocatedCpu(name: string): string {
    const pod = this.pods.get(name);
    return pod === undefined ? '' : `${cpuOf(this.manager.apply(pod))}m`;
  }

  conditions(name: string): string[] {
    return this.manager
      .conditions(podUid(name))
      .map(({ type, reason = '', observedGeneration }) => `${type} ${reason}@${observedGeneration}`);
  }
}

const cpuOf = (pod: Pod): number => quantityMilliValue(podRequests(pod)['cpu'] ?? '0');
const resources = (cpu: string): string => `{"containers":[{"name":"main","resources":{"requests":{"cpu":"${cpu}"}}}]`;

describe('a resize', () => {
  test('that fits is allocated at once and completed when the pass over the pod reports so', () => {
    const node = new Node();
    node.want('a', '100m');
    node.want('a', '300m', { generation: 2 });
    assert.deepEqual(
      [node.allocatedCpu('a'), node.woken, node.conditions('a')],
      ['300m', ['a'], ['PodResizeInProgress @2']],
    );
    const pod = node.pods.get('a') as Pod;
    node.manager.noteProgress(pod, true);
    node.manager.noteProgress(pod, false);
    node.manager.noteProgress(pod, false);
    assert.deepEqual(node.conditions('a'), []);
    assert.deepEqual(node.events, [
      `a Normal ResizeStarted Pod resize started: ${resources('300m')},"generation":2}`,
      `a Normal ResizeCompleted Pod resize completed: ${resources('300m')},"generation":2}`,
    ]);
  });

  test('that does not fit is deferred, reported once, and allocated as soon as another pod is removed, ends or shrinks', () => {
    const counted: string[] = [];
    for (const free of [
      (node: Node) => node.remove('b'),
      (node: Node) => (node.over.add('b'), node.manager.podEnded(podUid('b'))),
      (node: Node) => node.want('b', '100m', { generation: 2 }),
    ]) {
      const node = new Node();
      node.want('a', '300m');
      node.want('b', '600m');
      node.want('a', '800m', { generation: 2 });
      node.manager.retry();
      assert.deepEqual([node.allocatedCpu('a'), node.conditions('a')], ['300m', ['PodResizePending Deferred@2']]);
      assert.deepEqual(node.events, [
        `a Warning ResizeDeferred Pod resize OutOfcpu: ${resources('800m')},"generation":2,"error":"Node didn't have enough resource: cpu, requested: 800, used: 600, capacity: 1000"}`,
      ]);
      free(node);
      assert.deepEqual([node.allocatedCpu('a'), node.conditions('a')], ['800m', ['PodResizeInProgress @2']]);
      assert.deepEqual(node.manager.counts().pending, new Map());
      counted.push(...node.counted);
    }
    assert.deepEqual(counted, ['pods_removed', 'pod_terminated', 'pod_updated']);
  });

  test('that is taken back is forgotten', () => {
    const node = new Node();
    node.want('a', '300m');
    node.want('b', '600m');
    node.want('a', '800m', { generation: 2 });
    node.want('a', '300m', { generation: 3 });
    assert.deepEqual([node.allocatedCpu('a'), node.conditions('a')], ['300m', []]);
  });

  test('is tried again after three minutes even without an event', async () => {
    const node = new Node();
    node.want('a', '300m');
    node.want('b', '600m');
    node.want('a', '800m', { generation: 2 });
    node.pods.delete('b');
    await node.clock.advance(179_999);
    assert.equal(node.allocatedCpu('a'), '300m');
    await node.clock.advance(1);
    assert.equal(node.allocatedCpu('a'), '800m');
    await node.clock.advance(100);
    assert.equal(node.clock.armedTimers, 0);
  });

  test('waits until all pods of the node are known', async () => {
    const node = new Node();
    node.ready = false;
    node.want('a', '300m');
    node.want('a', '400m', { generation: 2 });
    assert.deepEqual([node.allocatedCpu('a'), node.conditions('a')], ['300m', []]);
    node.ready = true;
    await node.clock.advance(30_000);
    assert.equal(node.allocatedCpu('a'), '400m');
  });

  test('is on disk before it may be actuated', async () => {
    const node = new Node();
    node.want('a', '100m');
    assert.equal(node.manager.saved(podUid('a')), undefined);
    node.want('a', '300m', { generation: 2 });
    await node.manager.saved(podUid('a'));
    const again = new ResourceCheckpoint(new FakeStateText(node.allocatedFile.saved));
    assert.deepEqual(
      [again.container(podUid('a'), 'main'), node.manager.saved(podUid('a'))],
      [{ requests: { cpu: '300m' } }, undefined],
    );
  });

  test('of the pod with higher priority goes first, and one that asks for less before all', () => {
    const node = new Node();
    node.want('low', '200m', { priority: 1 });
    node.want('high', '200m', { priority: 9 });
    node.want('big', '600m');
    node.want('low', '600m', { priority: 1, generation: 2 });
    node.want('high', '500m', { priority: 9, generation: 2 });
    assert.deepEqual([node.allocatedCpu('low'), node.allocatedCpu('high')], ['200m', '200m']);
    node.want('big', '100m', { generation: 2 });
    assert.deepEqual(
      [node.allocatedCpu('big'), node.allocatedCpu('high'), node.allocatedCpu('low')],
      ['100m', '500m', '200m'],
    );
  });

  test('that failed is reported once and stays in progress', () => {
    const node = new Node();
    node.want('a', '100m');
    node.want('a', '200m', { generation: 2 });
    const pod = node.pods.get('a') as Pod;
    node.manager.noteError(pod, 'no');
    node.manager.noteError(pod, 'no');
    node.manager.noteProgress(pod, true);
    assert.deepEqual(node.conditions('a'), ['PodResizeInProgress Error@2']);
    assert.deepEqual(node.events.slice(1), [
      `a Warning ResizeError Pod resize error: ${resources('200m')},"generation":2,"error":"no"}`,
    ]);
  });
});

describe('a manager', () => {
  test('counts pending resizes by reason, and those in progress', () => {
    const node = new Node();
    node.want('a', '300m');
    node.want('b', '300m');
    node.want('c', '300m');
    assert.deepEqual(node.manager.counts(), { pending: new Map(), inProgress: 0 });
    node.want('a', '350m', { generation: 2 });
    for (const name of ['b', 'c']) node.want(name, '900m', { generation: 2 });
    assert.deepEqual(node.manager.counts(), { pending: new Map([['Deferred', 2]]), inProgress: 1 });
  });

  test('reports a change only when a condition changed', () => {
    const node = new Node();
    node.want('a', '300m');
    node.want('b', '300m');
    assert.deepEqual(node.changed, []);
    node.want('a', '900m', { generation: 2 });
    assert.deepEqual(node.changed, ['a']);
    node.manager.retry();
    assert.deepEqual(node.changed, ['a']);
  });

  test('removes a pod’s records with the pod, and drops records of unknown pods', () => {
    const node = new Node();
    for (const name of ['a', 'b']) {
      node.want(name, '300m');
      node.actuated.set(podUid(name), { containers: {} });
    }
    const recorded = (name: string): boolean[] =>
      [node.allocated, node.actuated].map((record) => record.get(podUid(name)) !== undefined);
    node.manager.forget(podUid('a'));
    assert.deepEqual(
      [recorded('a'), recorded('b')],
      [
        [false, false],
        [true, true],
      ],
    );
    node.manager.retain(new Set());
    assert.deepEqual(recorded('b'), [false, false]);
  });

  test('does nothing more once it is stopped', async () => {
    const node = new Node();
    node.want('a', '600m');
    node.want('b', '300m');
    node.want('b', '600m', { generation: 2 });
    node.manager.stop();
    node.remove('a');
    await node.clock.advance(600_000);
    assert.deepEqual([node.allocatedCpu('b'), node.woken], ['300m', []]);
  });

  test('takes a container that its record does not know as the spec has it', () => {
    const node = new Node();
    node.want('a', '300m');
    const allocated = node.allocated.get(podUid('a'));
    assert.ok(allocated !== undefined);
    node.allocated.set(podUid('a'), { containers: {} });
    node.want('a', '400m', { generation: 2 });
    assert.deepEqual([node.allocatedCpu('a'), node.woken, node.conditions('a')], ['400m', [], []]);
  });

  test('has no resize of a pod that is over or removed', () => {
    const node = new Node();
    node.want('a', '600m');
    for (const name of ['b', 'c']) {
      node.want(name, '100m');
      node.want(name, '500m', { generation: 2 });
    }
    node.over.add('b');
    node.pods.delete('c');
    node.remove('a');
    assert.deepEqual([node.woken, node.allocatedCpu('b')], [[], '100m']);
  });

  test('returns the same pod for the same allocation, so that it can be compared by identity', () => {
    const node = new Node();
    node.want('a', '600m');
    node.want('b', '100m');
    node.want('b', '700m', { generation: 2 });
    const pod = node.pods.get('b');
    assert.ok(pod !== undefined);
    assert.equal(node.manager.apply(pod), node.manager.apply(pod));
    const unknown = buildPod({ 'metadata.uid': 'unknown' });
    assert.equal(node.manager.apply(unknown), unknown);
  });
});

describe('an infeasible resize', () => {
  const infeasible = (node: Node, name = 'a'): string | undefined =>
    node.manager
      .conditions(podUid(name))
      .find(({ type, reason }) => type === 'PodResizePending' && reason === 'Infeasible')?.message;

  test('of a static pod is what the API server would have refused', () => {
    const rows: [ResourceRequirements, ResourceRequirements, string][] = [
      [
        { requests: { cpu: '100m' } },
        { requests: { cpu: '200m', memory: '1Mi' }, limits: { cpu: '200m', memory: '1Mi' } },
        'spec: Invalid value: "Guaranteed": Pod QOS Class may not change as a result of resizing',
      ],
      [
        { requests: { cpu: '100m', memory: '1Mi' } },
        { requests: { cpu: '100m' } },
        'spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed',
      ],
      [
        { requests: { cpu: '100m' }, limits: { cpu: '200m' } },
        { requests: { cpu: '100m' } },
        'spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed',
      ],
      [
        { requests: { cpu: '100m', 'ephemeral-storage': '1Mi' } },
        { requests: { cpu: '100m', 'ephemeral-storage': '2Mi' } },
        'spec: Forbidden: only cpu and memory resources are mutable',
      ],
      [
        { requests: { cpu: '100m' } },
        { requests: { cpu: '2' } },
        "node didn't have enough allocatable resources: cpu, requested: 2000, allocatable: 1000",
      ],
    ];
    for (const [before, after, message] of rows) {
      const node = new Node();
      node.want('a', '', { source: 'file', resources: before });
      node.want('a', '', { source: 'file', resources: after, generation: 2 });
      assert.equal(infeasible(node), message);
      assert.match(node.events.join('\n'), /^a Warning ResizeInfeasible Pod resize Infeasible: \{"containers":/);
    }
  });

  test('with static managers is a change of the exclusive resources of a guaranteed pod', () => {
    const of = (cpu: string, memory: string): ResourceRequirements => ({
      requests: { cpu, memory },
      limits: { cpu, memory },
    });
    const node = new Node();
    node.facts = { ...node.facts, cpuManagerPolicy: 'static', memoryManagerPolicy: 'Static' };
    node.want('a', '', { resources: of('100m', '64Mi') });
    node.want('a', '', { resources: of('200m', '64Mi'), generation: 2 });
    assert.equal(infeasible(node), 'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"');
    node.want('a', '', { resources: of('100m', '128Mi'), generation: 3 });
    assert.equal(infeasible(node), 'Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"');
    assert.deepEqual(node.counted, [
      'guaranteed_pod_cpu_manager_static_policy',
      'guaranteed_pod_memory_manager_static_policy',
    ]);
  });

  test('with swap is a change of the memory request, unless the container restarts for it', () => {
    const node = new Node();
    node.facts = { ...node.facts, swapBehavior: 'LimitedSwap', swapControl: true };
    node.want('a', '', { resources: { requests: { memory: '64Mi' } } });
    node.want('a', '', { resources: { requests: { memory: '128Mi' } }, generation: 2 });
    assert.equal(infeasible(node), 'In-place resize of containers with swap is not supported.');
    node.facts = { ...node.facts, cgroupVersion: 1 };
    node.want('a', '', { resources: { requests: { memory: '96Mi' } }, generation: 3 });
    assert.equal(infeasible(node), undefined);
  });
});

describe('after a restart of the agent', () => {
  test('a pod keeps its allocation, and its pending resize is decided again', () => {
    const node = new Node();
    node.want('a', '300m');
    node.want('b', '600m');
    node.want('a', '800m', { generation: 2 });
    node.resizeConditions = node.manager.conditions(podUid('a'));
    node.restart();
    for (const pod of node.pods.values()) node.manager.podAdded(pod);
    assert.deepEqual(
      [node.allocatedCpu('a'), node.conditions('a'), node.events.length],
      ['300m', ['PodResizePending Deferred@2'], 1],
    );
  });

  test('a resize that was under way is completed by the agent that sees it done', () => {
    const node = new Node();
    node.want('a', '100m');
    node.want('a', '200m', { generation: 2 });
    node.resizeConditions = node.manager.conditions(podUid('a'));
    node.restart();
    node.manager.noteProgress(node.pods.get('a') as Pod, false);
    assert.match(node.events.at(-1) ?? '', /ResizeCompleted/);
  });

  test('a lost allocation is restored from the resources with which the running containers were created', () => {
    const node = new Node();
    node.runtime = running({ cpuShares: 102, cpuQuota: 0, cpuPeriod: 100_000, memoryLimitBytes: 0 });
    node.want('b', '600m');
    node.want('a', '800m', { generation: 2 });
    assert.deepEqual([node.allocatedCpu('a'), node.conditions('a')], ['100m', ['PodResizePending Deferred@2']]);
    const other = new Node();
    other.runtime = running({ cpuShares: 819, cpuQuota: 0, cpuPeriod: 100_000, memoryLimitBytes: 0 });
    other.want('a', '800m');
    assert.deepEqual([other.allocatedCpu('a'), other.conditions('a')], ['800m', []]);
  });
});

function running(made: ContainerRuntimeResources): PodRuntimeStatus {
  return {
    uid: 'a' as PodUid,
    name: 'a',
    namespace: 'default',
    sandboxes: [],
    observedAtMs: 0,
    containers: [
      {
        id: containerId('c'),
        sandboxId: sandboxId('s'),
        name: 'main',
        attempt: 0,
        state: 'running',
        createdAtMs: 1,
        startedAtMs: 1,
        finishedAtMs: 0,
        exitCode: 0,
        reason: '',
        message: '',
        image: '',
        imageRef: '',
        imageId: '',
        logPath: '',
        labels: {},
        annotations: {},
        resources: made,
      },
    ],
  };
}
