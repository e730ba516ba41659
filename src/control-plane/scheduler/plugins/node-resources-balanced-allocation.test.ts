import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node } from '../../../api/core/node.ts';
import { bound, buildNode, buildPod } from '../testing/builders.ts';
import { scoreAll } from '../testing/run-plugin.ts';
import { createNodeResourcesBalancedAllocation } from './node-resources-balanced-allocation.ts';

type Requests = Readonly<Record<string, string>>;
const resourcesOf = (...names: string[]): { name: string; weight: number }[] =>
  names.map((name) => ({ name, weight: 1 }));

/** On a node of 4 CPUs and 8 GiB. */
function score(
  requests: Requests,
  { there, names, node = buildNode('a') }: { there?: Requests; names?: string[]; node?: Node } = {},
): number | undefined {
  const others = there === undefined ? [] : [bound(buildPod('p', { requests: there }), 'a')];
  const plugin = createNodeResourcesBalancedAllocation(names === undefined ? undefined : resourcesOf(...names));
  return scoreAll(plugin, buildPod('x', { requests }), { nodes: [node], there: others })?.[0];
}

describe('how even a pod makes a node', () => {
  it('is the middle when nothing changes, more when it evens out, and less when it does not', () => {
    assert.equal(score({ cpu: '2', memory: '4Gi' }), 75);
    assert.equal(score({ cpu: '2' }), 62);
    assert.equal(score({ cpu: '2' }, { there: { memory: '4Gi' } }), 87);
    assert.equal(score({ memory: '4Gi' }, { there: { cpu: '2' } }), 87);
    assert.equal(score({ cpu: '4' }), 50);
  });

  it('takes a node that is full for no fuller than that', () => {
    assert.equal(score({ memory: '8Gi' }, { there: { cpu: '40' } }), 100);
    assert.equal(score({ memory: '80Gi' }, { there: { cpu: '4' } }), 100);
  });

  it('does not matter to a pod that asks for none of the resources', () => {
    assert.equal(score({}), undefined);
    assert.equal(score({ 'example.com/gpu': '1' }), undefined);
  });

  it('goes by the deviation where there are more than two resources', () => {
    const names = ['cpu', 'memory', 'ephemeral-storage'];
    const node = buildNode('a', { allocatable: { 'ephemeral-storage': '10Gi' } });
    assert.equal(score({ cpu: '4', memory: '4Gi' }, { names, node }), 54);
    assert.equal(score({ cpu: '2', memory: '4Gi', 'ephemeral-storage': '5Gi' }, { names, node }), 75);
    assert.equal(score({ 'ephemeral-storage': '10Gi' }, { names, node, there: { cpu: '4', memory: '8Gi' } }), 99);
  });

  it('leaves out what the node does not have, or the pod does not ask for', () => {
    const gpu = buildNode('a', { allocatable: { 'example.com/gpu': '2' } });
    assert.equal(score({ cpu: '2', 'example.com/gpu': '2' }, { names: ['cpu', 'example.com/gpu'], node: gpu }), 62);
    assert.equal(score({ cpu: '2', 'example.com/gpu': '2' }, { names: ['cpu', 'example.com/gpu'] }), 75);
    assert.equal(score({ cpu: '2' }, { names: ['cpu', 'example.com/gpu'], node: gpu }), 75);
    assert.equal(score({ cpu: '2' }, { names: ['memory', 'cpu', 'example.com/gpu'], node: gpu }), 62);
  });
});
