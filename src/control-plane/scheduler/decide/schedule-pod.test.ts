import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bound, buildNode, buildPod, cacheOf, decide, outcomeOf } from '../testing/builders.ts';

describe('deciding about a pod', () => {
  it('reports the number of nodes for each reason, sorted by text, and the result of preemption', () => {
    const nodes = [
      buildNode('a', { allocatable: { cpu: '1' } }),
      buildNode('b', { taints: [{ key: 'x', effect: 'NoSchedule' }] }),
      buildNode('c', { taints: [{ key: 'y', value: 'z', effect: 'NoExecute' }] }),
    ];
    const pods = [bound(buildPod('big', { requests: { cpu: '600m' } }), 'a')];
    assert.equal(
      outcomeOf(decide({ nodes, pods }, buildPod('web', { requests: { cpu: '500m' } }))),
      '0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint(s). no new claims to deallocate, preemption: 0/3 nodes are available: 1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling.',
    );
  });

  it('does not try preemption when no node can ever fit the pod', () => {
    assert.equal(
      outcomeOf(
        decide(
          { nodes: [buildNode('a')] },
          buildPod('web', { requests: { cpu: '5', memory: '9Gi', 'example.com/gpu': '1' } }),
        ),
      ),
      '0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient example.com/gpu, 1 Insufficient memory. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.',
    );
  });

  it('reports a cluster without nodes', () => {
    assert.equal(outcomeOf(decide({ nodes: [] }, buildPod('web'))), 'no nodes');
  });

  it('spreads small pods by free resources', () => {
    const nodes = [buildNode('a'), buildNode('b')];
    const pods = [bound(buildPod('one', { requests: { cpu: '1', memory: '1Gi' } }), 'a')];
    const decision = decide({ nodes, pods }, buildPod('two', { requests: { cpu: '1', memory: '1Gi' } }));
    assert.equal(outcomeOf(decision), 'b');
    assert.ok(decision.kind === 'placed' && decision.scores !== undefined);
    assert.deepEqual(
      decision.scores.byPlugin.map(({ plugin }) => plugin),
      ['TaintToleration', 'NodeResourcesFit', 'NodeResourcesBalancedAllocation', 'ImageLocality'],
    );
  });

  it('counts the nodes that a node affinity by name leaves out', () => {
    const affinity = {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['a'] }] }],
        },
      },
    };
    const nodes = [buildNode('a', { spec: { unschedulable: true } }), buildNode('b'), buildNode('c')];
    const decision = decide({ nodes }, buildPod('web', { spec: { affinity } }));
    assert.equal(
      outcomeOf(decision),
      "0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]. no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
    );
    assert.ok(decision.kind === 'unschedulable');
    assert.deepEqual([...decision.diagnosis.rejectors].sort(), ['NodeAffinity', 'NodeUnschedulable']);
  });

  it('tries the nominated node of the pod first', () => {
    const pod = buildPod('web', { requests: { cpu: '1' }, status: { nominatedNodeName: 'b' } });
    const pods = [bound(buildPod('other', { requests: { cpu: '2' } }), 'b')];
    assert.equal(outcomeOf(decide({ nodes: [buildNode('a'), buildNode('b')], pods }, pod)), 'b');
  });

  it('reserves resources for a nominated pod of higher priority', () => {
    const cache = cacheOf({ nodes: [buildNode('a')] });
    cache.nominator.nominate(
      buildPod('vip', { requests: { cpu: '3' }, spec: { priority: 10 }, status: { nominatedNodeName: 'a' } }),
    );
    const wants = { requests: { cpu: '2' } };
    for (const priority of [0, 10])
      assert.match(
        outcomeOf(decide(cache, buildPod('low', { ...wants, spec: { priority } }))),
        /^0\/1 nodes are available: 1 Insufficient cpu\./,
      );
    assert.equal(outcomeOf(decide(cache, buildPod('higher', { ...wants, spec: { priority: 11 } }))), 'a');
  });

  it('starts where the last search ended, and stops when it has found enough nodes of a large cluster', () => {
    const nodes = Array.from({ length: 400 }, (_, index) => buildNode(`n${index}`));
    const decision = decide({ nodes }, buildPod('web', { requests: { cpu: '1' } }));
    // 50% minus one for every 125 nodes.
    assert.ok(decision.kind === 'placed');
    assert.deepEqual([decision.scores?.nodes.length, decision.nextStart], [188, 188]);
  });
});
