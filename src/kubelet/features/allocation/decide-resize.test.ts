import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../api/core/pod.ts';
import type { ResourceRequirements } from '../../../api/core/resource-requirements.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import type { ResizeDecision, ResizeNode } from './decide-resize.ts';
import { decideResize, rankPending } from './decide-resize.ts';

const node: ResizeNode = {
  podLevelManagers: false,
  allocatable: { cpu: '2', memory: '2Gi' },
  cpuManagerPolicy: 'none',
  memoryManagerPolicy: 'None',
  swapBehavior: '',
  cgroupVersion: 2,
  swapControl: false,
};

type Amounts = Readonly<Record<string, string>>;
const podOf = (requests: Amounts, limits?: Amounts, more: Record<string, unknown> = {}): Pod =>
  buildPod({
    'spec.containers[0].resources': limits === undefined ? { requests } : { requests, limits },
    ...more,
  });
const guaranteed = (amounts: Amounts, more: Record<string, unknown> = {}): Pod => podOf(amounts, amounts, more);

function decide(allocated: Pod, desired: Pod, facts: Partial<ResizeNode> = {}): ResizeDecision {
  return decideResize({ desired, allocated, node: { ...node, ...facts }, misfit: () => undefined });
}
const causeOf = (decision: ResizeDecision): string =>
  decision.kind === 'allocated' ? 'allocated' : (decision.cause ?? decision.kind);

describe('a resize', () => {
  const [small, large] = [podOf({ cpu: '1', memory: '1Gi' }), podOf({ cpu: '1500m', memory: '1Gi' })];

  it('is allocated when the pod fits, deferred when it does not fit now, infeasible when it never will', () => {
    const answer = (reason?: string): string =>
      decideResize({
        desired: large,
        allocated: small,
        node,
        misfit: () => (reason === undefined ? undefined : { reason, message: 'm' }),
      }).kind;
    assert.deepEqual([answer(), answer('OutOfcpu'), answer('Infeasible')], ['allocated', 'deferred', 'infeasible']);
  });

  it("of a static pod is infeasible beyond the node's CPU or memory, and gives the amounts", () => {
    const file = { 'metadata.annotations': { 'kubernetes.io/config.source': 'file' } };
    const before = podOf({ cpu: '1', memory: '1Gi' }, undefined, file);
    const messageOf = (requests: Amounts): string => {
      const decision = decide(before, podOf(requests, undefined, file));
      return decision.kind === 'allocated' ? 'allocated' : decision.message;
    };
    const words = "node didn't have enough allocatable resources: ";
    assert.equal(messageOf({ cpu: '2', memory: '2Gi' }), 'allocated');
    assert.equal(messageOf({ cpu: '3', memory: '1Gi' }), `${words}cpu, requested: 3000, allocatable: 2000`);
    assert.equal(
      messageOf({ cpu: '1', memory: '3Gi' }),
      `${words}memory, requested: ${3 * 2 ** 30}, allocatable: ${2 * 2 ** 30}`,
    );
    assert.match(messageOf({ cpu: '3', memory: '3Gi' }), /cpu, .*; memory, /);
    const unknown = decide(before, podOf({ cpu: '3', memory: '1Gi' }, undefined, file), { allocatable: {} });
    assert.equal(unknown.kind, 'allocated', 'what the node does not count limits nothing');
  });

  it('of guaranteed pods is infeasible where a manager pins their CPUs or memory', () => {
    const before = guaranteed({ cpu: '1', memory: '1Gi' });
    const [cpu, memory] = [guaranteed({ cpu: '2', memory: '1Gi' }), guaranteed({ cpu: '1', memory: '2Gi' })];
    const pinned = { cpuManagerPolicy: 'static' };
    const held = { memoryManagerPolicy: 'Static' };
    assert.equal(causeOf(decide(before, cpu, pinned)), 'guaranteed_pod_cpu_manager_static_policy');
    assert.equal(causeOf(decide(before, memory, held)), 'guaranteed_pod_memory_manager_static_policy');
    for (const decision of [decide(before, cpu), decide(before, memory), decide(before, memory, pinned)])
      assert.equal(causeOf(decision), 'allocated');
    assert.equal(causeOf(decide(before, cpu, held)), 'allocated');
    assert.equal(causeOf(decide(small, large, { ...pinned, ...held })), 'allocated', 'others share what is left');
  });

  it('of what a guaranteed pod has as a whole is infeasible where managers give it to pods', () => {
    const whole = (amounts: Amounts): Pod =>
      buildPod({ 'spec.resources': { requests: amounts, limits: amounts }, 'spec.containers[0].resources': {} });
    const [before, cpu] = [whole({ cpu: '1', memory: '1Gi' }), whole({ cpu: '2', memory: '1Gi' })];
    const pinned = { cpuManagerPolicy: 'static', podLevelManagers: true };
    assert.equal(causeOf(decide(before, cpu, pinned)), 'guaranteed_pod_cpu_manager_static_policy');
    assert.equal(causeOf(decide(before, cpu, { ...pinned, podLevelManagers: false })), 'allocated');
    const held = { memoryManagerPolicy: 'Static', podLevelManagers: true };
    assert.equal(causeOf(decide(before, cpu, held)), 'allocated');
    const memory = whole({ cpu: '1', memory: '2Gi' });
    assert.equal(causeOf(decide(before, memory, held)), 'guaranteed_pod_memory_manager_static_policy');
  });

  it('counts one container that changes among several', () => {
    const both = (first: string, second: string): Pod =>
      buildPod({
        'spec.containers': ['a', 'b'].map((name, index) => ({
          name,
          image: 'x',
          resources: guaranteed({ cpu: index === 0 ? first : second, memory: '1Gi' }).spec.containers[0]?.resources,
        })),
      });
    const pinned = { cpuManagerPolicy: 'static' };
    assert.notEqual(causeOf(decide(both('1', '1'), both('1', '2'), pinned)), 'allocated');
    assert.equal(causeOf(decide(both('1', '2'), both('1', '2'), pinned)), 'allocated');
  });

  it('of memory is infeasible with swap, unless the container restarts for it', () => {
    const swap = { swapBehavior: 'LimitedSwap', swapControl: true } as const;
    const policy = (restartPolicy: string, resourceName = 'memory'): Record<string, unknown> => ({
      'spec.containers[0].resizePolicy': [{ resourceName, restartPolicy }],
    });
    const sized = (memory: string, more: Record<string, unknown> = {}): Pod =>
      podOf({ cpu: '1', memory }, undefined, more);
    assert.equal(causeOf(decide(sized('1Gi'), sized('2Gi'), swap)), 'swap_limitation');
    assert.equal(causeOf(decide(sized('1Gi'), sized('2Gi'))), 'allocated');
    assert.equal(causeOf(decide(small, large, swap)), 'allocated', 'memory stays');
    const restarting = policy('RestartContainer');
    assert.equal(causeOf(decide(sized('1Gi', restarting), sized('2Gi', restarting), swap)), 'allocated');
    for (const other of [policy('NotRequired'), policy('RestartContainer', 'cpu')])
      assert.equal(causeOf(decide(sized('1Gi', other), sized('2Gi', other), swap)), 'swap_limitation');
  });
});

describe('the order of pending resizes', () => {
  interface Resize {
    readonly from?: Amounts;
    readonly to?: Amounts;
    readonly priority?: number;
    readonly sinceMs?: number;
    readonly isGuaranteed?: boolean;
  }
  const order = (resizes: Readonly<Record<string, Resize>>): string[] =>
    rankPending(
      Object.entries(resizes).map(([name, resize]) => {
        const resources = (amounts: Amounts): ResourceRequirements =>
          resize.isGuaranteed === true ? { requests: amounts, limits: amounts } : { requests: amounts };
        const of = (amounts: Amounts): Pod =>
          buildPod({
            'metadata.name': name,
            'spec.priority': resize.priority,
            'spec.containers[0].resources': resources(amounts),
          });
        const from = resize.from ?? { cpu: '1', memory: '1Gi' };
        return { desired: of(resize.to ?? { cpu: '2', memory: '1Gi' }), allocated: of(from), sinceMs: resize.sinceMs };
      }),
    ).map(({ desired }) => desired.metadata.name ?? '');

  it('begins with resizes that request no more, because they may free resources', () => {
    const less = { cpu: '500m', memory: '1Gi' };
    assert.deepEqual(order({ more: { priority: 9 }, less: { to: less } }), ['less', 'more']);
    const moreMemory = { cpu: '500m', memory: '2Gi' };
    assert.deepEqual(order({ mixed: { to: moreMemory }, less: { to: less } }), ['less', 'mixed']);
    assert.deepEqual(order({ more: {}, same: { to: { cpu: '1', memory: '1Gi' } } }), ['same', 'more']);
  });

  it('continues by priority, then guaranteed pods, then the longest wait; new ones come last', () => {
    assert.deepEqual(order({ low: { priority: 1, sinceMs: 1 }, high: { priority: 2, sinceMs: 2 } }), ['high', 'low']);
    assert.deepEqual(order({ burstable: { sinceMs: 1 }, sure: { isGuaranteed: true, sinceMs: 2 } }), [
      'sure',
      'burstable',
    ]);
    assert.deepEqual(order({ fresh: {}, late: { sinceMs: 20 }, early: { sinceMs: 10 } }), ['early', 'late', 'fresh']);
    assert.deepEqual(order({ a: { sinceMs: 5 }, b: { sinceMs: 5 } }), ['a', 'b'], 'equals keep their order');
  });
});
