import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node } from '../../../api/core/node.ts';
import { bound, buildNode, buildPod } from '../testing/builders.ts';
import { scoreAll } from '../testing/run-plugin.ts';
import { createNodeResourcesBalancedAllocation } from './node-resources-balanced-allocation.ts';

type Requests = Readonly<Record<string, string>>;
const resourcesOf = (...names: string[]): { name: string; weight: number }[] =>
  names.map((name) => ({ name, weight: 1 }));

/** Returns the score of a node with 4 CPUs and 8 GiB. */
function score(
  requests: Requests,
  { there, names, node = buildNode('a') }: { there?: Requests; names?: string[]; node?: Node } = {},
): number | undefined {
  const others = there === undefined ? [] : [bound(buildPod('p', { requests: there }), 'a')];
  const plugin = createNodeResourcesBalancedAllocation(names === undefined ? undefined : resourcesOf(...names));
  return scoreAll(plugin, buildPod('x', { requests }), { nodes: [node], there: others })?.[0];
}

describe('the balanced-allocation score of a node', () => {
  it('is 75 if the pod keeps the balance, higher if it improves the balance, and lower if it worsens it', () => {
    assert.equal(score({ cpu: '2', memory: '4Gi' }), 75);
    assert.equal(score({ cpu: '2' }), 62);
    assert.equal(score({ cpu: '2' }, { there: { memory: '4Gi' } }), 87);
    assert.equal(score({ memory: '4Gi' }, { there: { cpu: '2' } }), 87);
    assert.equal(score({ cpu: '4' }), 50);
  });

  it('counts a resource as at most fully used', () => {
    assert.equal(score({ memory: '8Gi' }, { there: { cpu: '40' } }), 100);
    assert.equal(score({ memory: '80Gi' }, { there: { cpu: '4' } }), 100);
  });

  it('does not apply to a pod that requests none of the resources', () => {
    assert.equal(score({}), undefined);
    assert.equal(score({ 'example.com/gpu': '1' }), undefined);
  });

  it('uses the standard deviation for more than two resources', () => {
    const names = ['cpu', 'memory', 'ephemeral-storage'];
    const node = buildNode('a', { allocatable: { 'ephemeral-storage': '10Gi' } });
    assert.equal(score({ cpu: '4', memory: '4Gi' }, { names, node }), 54);
    assert.equal(score({ cpu: '2', memory: '4Gi', 'ephemeral-storage': '5Gi' }, { names, node }), 75);
    assert.equal(score({ 'ephemeral-storage': '10Gi' }, { names, node, there: { cpu: '4', memory: '8Gi' } }), 99);
  });

  it('ignores resources that the node lacks or the pod does not request', () => {
    const gpu = buildNode('a', { allocatable: { 'example.com/gpu': '2' } });
    assert.equal(score({ cpu: '2', 'example.com/gpu': '2' }, { names: ['cpu', 'example.com/gpu'], node: gpu }), 62);
    assert.equal(score({ cpu: '2', 'example.com/gpu': '2' }, { names: ['cpu', 'example.com/gpu'] }), 75);
    assert.equal(score({ cpu: '2' }, { names: ['cpu', 'example.com/gpu'], node: gpu }), 75);
    assert.equal(score({ cpu: '2' }, { names: ['memory', 'cpu', 'example.com/gpu'], node: gpu }), 62);
  });
});
