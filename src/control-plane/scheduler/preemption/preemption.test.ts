import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodDisruptionBudget } from '../../../api/policy/pod-disruption-budget.ts';
import { podInfoOf } from '../framework/pod-info.ts';
import { bound, buildNode, buildPod, cacheOf, decide, outcomeOf } from '../testing/builders.ts';
import { candidatesToFind } from './compute-preemption.ts';
import { pickCandidate } from './pick-candidate.ts';
import type { Candidate } from './victims.ts';

let serial = 0;
const victim = (priority: number, startTime = '2026-01-01T00:00:00Z'): Pod =>
  buildPod(`v${serial++}`, { spec: { priority }, status: { startTime } });
const candidate = (nodeName: string, victims: readonly Pod[], budgetViolations = 0): Candidate => ({
  nodeName,
  budgetViolations,
  victims: victims.map(podInfoOf),
});

describe('the node chosen for preemption is the one', () => {
  const late = '2026-01-02T00:00:00Z';
  for (const [name, worse, better] of [
    [
      'on which fewer budgets are violated, before all else',
      candidate('worse', [victim(0)], 1),
      candidate('better', [victim(5), victim(5)], 0),
    ],
    [
      'whose most important victim is the least important',
      candidate('worse', [victim(3)]),
      candidate('better', [victim(2), victim(2), victim(2)]),
    ],
    [
      'whose victims have the smaller sum of priorities',
      candidate('worse', [victim(2), victim(2)]),
      candidate('better', [victim(2), victim(1)]),
    ],
    [
      'that has fewer victims, though their priorities are negative',
      candidate('worse', [victim(-1), victim(-5)]),
      candidate('better', [victim(-1)]),
    ],
    [
      'whose longest running important victim is the youngest',
      candidate('worse', [victim(1)]),
      candidate('better', [victim(1, late)]),
    ],
  ] as const) {
    it(name, () =>
      assert.deepEqual(
        [pickCandidate([worse, better]).nodeName, pickCandidate([better, worse]).nodeName],
        ['better', 'better'],
      ),
    );
  }
});

describe('preemption', () => {
  const nodes = [buildNode('a')];
  const vip = (more: object = {}): Pod => buildPod('vip', { requests: { cpu: '2' }, spec: { priority: 10 }, ...more });
  const on = (name: string, cpu: string, more: object = {}): Pod =>
    bound(
      buildPod(name, {
        requests: { cpu },
        labels: { app: name },
        status: { startTime: '2026-01-01T00:00:00Z' },
        ...more,
      }),
      'a',
    );
  const victimsOf = (
    pods: readonly Pod[],
    budgets: readonly PodDisruptionBudget[] = [],
    pod = vip(),
  ): readonly string[] => {
    const decision = decide({ nodes, pods, budgets }, pod);
    return decision.kind === 'unschedulable'
      ? (decision.preemption?.victims.map((one) => one.pod.metadata.name) ?? [])
      : [];
  };

  it('keeps as many pods as possible: those of higher priority first, then those that run longer', () => {
    const pods = [on('old', '2'), on('young', '2', { status: { startTime: '2026-01-05T00:00:00Z' } })];
    assert.deepEqual(victimsOf(pods), ['young']);
    assert.deepEqual(victimsOf([on('low', '2'), on('middle', '2', { spec: { priority: 5 } })]), ['low']);
    assert.deepEqual(victimsOf([on('same', '4', { spec: { priority: 10 } })]), []);
  });

  it('keeps pods that a budget protects first, unless their eviction was already allowed', () => {
    const budget = (allowed: number, disrupted: Record<string, string> = {}): PodDisruptionBudget => ({
      metadata: { name: 'b', namespace: 'default', uid: 'b' },
      spec: { selector: { matchLabels: { app: 'x' } } },
      status: {
        disruptionsAllowed: allowed,
        disruptedPods: disrupted,
        currentHealthy: 0,
        desiredHealthy: 0,
        expectedPods: 0,
      },
    });
    const pods = [on('x', '2', { status: { startTime: '2026-01-05T00:00:00Z' } }), on('y', '2')];
    assert.deepEqual(
      [
        victimsOf(pods),
        victimsOf(pods, [budget(0)]),
        victimsOf(pods, [budget(1)]),
        victimsOf(pods, [budget(0, { x: '2026-01-01T00:00:00Z' })]),
      ],
      [['x'], ['y'], ['x'], ['x']],
    );
    // A budget is only a preference: it matters if there is a choice.
    assert.deepEqual(victimsOf([on('x', '4')], [budget(0)]), ['x']);
  });

  it('also resolves conflicts other than missing resources', () => {
    const port = { hostPorts: [80] };
    assert.deepEqual(victimsOf([on('p', '1', port), on('q', '1')], [], vip(port)), ['p']);
    const term = {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'p' } } },
      ],
    };
    assert.deepEqual(
      victimsOf([on('p', '1'), on('q', '1')], [], vip({ spec: { priority: 10, affinity: { podAntiAffinity: term } } })),
      ['p'],
    );
  });

  it('waits for terminating victims on the nominated node', () => {
    const leaving = (reason: string): Pod =>
      on('low', '4', {
        metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' },
        status: {
          conditions: [{ type: 'DisruptionTarget', status: 'True', reason }],
          startTime: '2026-01-01T00:00:00Z',
        },
      });
    const nominated = vip({ status: { nominatedNodeName: 'a' } });
    const decision = decide({ nodes, pods: [leaving('PreemptionByScheduler')] }, nominated);
    assert.match(outcomeOf(decision), /preemption: not eligible due to a terminating pod on the nominated node\.$/);
    // The nomination stays.
    assert.ok(decision.kind === 'unschedulable' && decision.nominate === undefined);
    assert.deepEqual(victimsOf([leaving('EvictionByEvictionAPI')], [], nominated), ['low']);
  });

  it('removes a nomination that no longer helps', () => {
    const decision = decide(
      { nodes, pods: [on('same', '4', { spec: { priority: 10 } })] },
      vip({ status: { nominatedNodeName: 'a' } }),
    );
    assert.ok(decision.kind === 'unschedulable' && decision.nominate === '');
  });

  it('tries only a share of the nodes in large clusters', () => {
    const args = { minCandidateNodesPercentage: 10, minCandidateNodesAbsolute: 100 };
    assert.deepEqual(
      [50, 500, 5000].map((count) => candidatesToFind(count, args)),
      [50, 100, 500],
    );
    const cache = cacheOf({
      nodes: [buildNode('a'), buildNode('b')],
      pods: [on('low', '4'), bound(on('other', '4'), 'b')],
    });
    const decision = decide(cache, vip());
    assert.ok(decision.kind === 'unschedulable' && decision.preemption !== undefined);
    // The dry run leaves the cache unchanged.
    assert.deepEqual([cache.node('a')?.pods.size, cache.node('b')?.requested.cpuMillis], [1, 4000]);
  });
});

describe('the choice of preemption victims and nodes', () => {
  const [a, b] = [buildNode('a'), buildNode('b')];
  const on = (node: string, name: string, more: object = {}): Pod =>
    bound(buildPod(name, { requests: { cpu: '4' }, labels: { app: name }, ...more }), node);
  const vip = (spec: object = {}, more: object = {}): Pod =>
    buildPod('vip', { requests: { cpu: '2' }, spec: { priority: 10, ...spec }, ...more });
  const budgetFor = (app: string, namespace = 'default'): PodDisruptionBudget => ({
    metadata: { name: app, namespace, uid: app },
    spec: { selector: app === '' ? {} : { matchLabels: { app } } },
    status: { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 },
  });
  const outcome = (
    world: { nodes?: readonly Node[]; pods: readonly Pod[]; budgets?: readonly PodDisruptionBudget[] },
    pod: Pod,
  ) => {
    const decision = decide({ nodes: world.nodes ?? [a, b], pods: world.pods, budgets: world.budgets ?? [] }, pod);
    const victims =
      decision.kind === 'unschedulable' ? decision.preemption?.victims.map((one) => one.pod.metadata.name) : undefined;
    return victims ?? outcomeOf(decision);
  };

  it('a pod with preemptionPolicy Never evicts no pod', () => {
    const said = outcome({ pods: [on('a', 'low'), on('b', 'other')] }, vip({ preemptionPolicy: 'Never' }));
    assert.match(String(said), /not eligible due to preemptionPolicy=Never/);
  });

  it('a node that the pod can never use is not a candidate', () => {
    const labelled = { ...b, metadata: { ...b.metadata, labels: { ...b.metadata.labels, disk: 'ssd' } } };
    const pods = [on('a', 'low'), on('b', 'important', { spec: { priority: 5 } })];
    assert.deepEqual(outcome({ nodes: [a, labelled], pods }, vip({ nodeSelector: { disk: 'ssd' } })), ['important']);
  });

  it('a candidate without budget violations wins over one with victims of lower priority', () => {
    const pods = [on('a', 'guarded'), on('b', 'important', { spec: { priority: 5 } })];
    assert.deepEqual(outcome({ pods }, vip()), ['guarded']);
    assert.deepEqual(outcome({ pods, budgets: [budgetFor('guarded')] }, vip()), ['important']);
  });

  it('a budget applies only in its namespace, not with an empty selector, and not to pods without labels', () => {
    const pods = [on('a', 'guarded'), on('b', 'important', { spec: { priority: 5 } })];
    assert.deepEqual(outcome({ pods, budgets: [budgetFor('guarded', 'other')] }, vip()), ['guarded']);
    assert.deepEqual(outcome({ pods, budgets: [budgetFor('')] }, vip()), ['guarded']);
  });

  it('the preemptor waits only for terminating pods that this scheduler evicted', () => {
    const leaving = (type: string, status: string, isDeleted = true): Pod =>
      on('a', 'low', {
        metadata: isDeleted ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {},
        status: {
          conditions: [
            { type: 'Ready', status: 'True', reason: 'PreemptionByScheduler' },
            { type, status, reason: 'PreemptionByScheduler' },
          ],
        },
      });
    const nominated = vip({}, { status: { nominatedNodeName: 'a' } });
    const waits = (low: Pod, pod = nominated): boolean =>
      /terminating pod/.test(String(outcome({ nodes: [a], pods: [low] }, pod)));
    assert.equal(waits(leaving('DisruptionTarget', 'True')), true);
    assert.equal(waits(leaving('DisruptionTarget', 'True', false)), false);
    assert.equal(waits(leaving('DisruptionTarget', 'False')), false);
    assert.equal(waits(leaving('Other', 'True')), false);
    assert.equal(waits(leaving('DisruptionTarget', 'True'), vip()), false, 'no node was nominated');
    const important = on('a', 'low', {
      metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' },
      spec: { priority: 10 },
      status: { conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler' }] },
    });
    assert.equal(waits(important), false, 'it is no less important');
  });
});
