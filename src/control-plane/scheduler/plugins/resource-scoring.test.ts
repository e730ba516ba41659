import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node } from '../../../api/core/node.ts';
import { bound, buildNode, buildPod } from '../testing/builders.ts';
import { scoreAll } from '../testing/run-plugin.ts';
import { createNodeResourcesFit } from './node-resources-fit.ts';
import type { ResourceSpec, ScoringStrategy, ShapePoint } from './resource-scoring.ts';

const BOTH: readonly ResourceSpec[] = [
  { name: 'cpu', weight: 1 },
  { name: 'memory', weight: 1 },
];
type Requests = Readonly<Record<string, string>>;

/** Returns the score of a node with 4 CPUs and 8 GiB for a pod, beside another pod. */
function score(
  scoringStrategy: ScoringStrategy,
  requests: Requests,
  there?: Requests,
  node: Node = buildNode('a'),
): number | undefined {
  const others = there === undefined ? [] : [bound(buildPod('p', { requests: there }), 'a')];
  return scoreAll(createNodeResourcesFit({ scoringStrategy }), buildPod('x', { requests }), {
    nodes: [node],
    there: others,
  })?.[0];
}
const least = (resources = BOTH): ScoringStrategy => ({ type: 'LeastAllocated', resources });
const most = (resources = BOTH): ScoringStrategy => ({ type: 'MostAllocated', resources });
const ratio = (shape: readonly ShapePoint[], resources = BOTH): ScoringStrategy => ({
  type: 'RequestedToCapacityRatio',
  resources,
  shape,
});
const point = (utilization: number, points: number): ShapePoint => ({ utilization, score: points });

describe('scoring by free resources', () => {
  it('scores by the mean of the resources', () => {
    assert.equal(score(least(), { cpu: '1', memory: '4Gi' }), 62);
    assert.equal(score(most(), { cpu: '1', memory: '4Gi' }), 37);
    assert.equal(score(least(), { cpu: '1', memory: '2Gi' }, { cpu: '1', memory: '2Gi' }), 50);
  });

  it('scores by weight', () => {
    const weighted = [
      { name: 'cpu', weight: 3 },
      { name: 'memory', weight: 1 },
    ];
    assert.equal(score(least(weighted), { cpu: '1', memory: '4Gi' }), 68);
    assert.equal(score(most(weighted), { cpu: '1', memory: '4Gi' }), 31);
  });

  it('returns zero if the requests exceed the capacity', () => {
    const [one, full] = [
      { cpu: '1', memory: '2Gi' },
      { cpu: '3', memory: '2Gi' },
    ];
    assert.deepEqual([score(least(), one, full), score(most(), one, full)], [25, 75]);
    const over = { cpu: '9', memory: '2Gi' };
    assert.deepEqual([score(least(), one, over), score(most(), one, over)], [25, 75]);
  });

  it('counts containers without requests as small ones', () => {
    // 100m of 4 CPUs and 200 MiB of 8 GiB.
    assert.equal(score(least(), {}), 97);
    assert.equal(score(least(), {}, {}), 95);
  });
});

describe('other resources', () => {
  const [cpu, gpu, disk] = [
    { name: 'cpu', weight: 1 },
    { name: 'example.com/gpu', weight: 1 },
    { name: 'ephemeral-storage', weight: 1 },
  ];
  const withGpu = buildNode('a', { allocatable: { 'example.com/gpu': '2', 'ephemeral-storage': '10Gi' } });

  it('count if the pod requests them and the node has them', () => {
    assert.equal(score(least([cpu, gpu]), { cpu: '1', 'example.com/gpu': '1' }, undefined, withGpu), 62);
    assert.equal(score(least([cpu, gpu]), { cpu: '1' }, undefined, withGpu), 75);
    assert.equal(score(least([cpu, gpu]), { cpu: '1', 'example.com/gpu': '1' }), 75);
    assert.equal(score(least([gpu]), { cpu: '1' }, undefined, withGpu), 0);
  });

  it('count even if the pod does not request them, as long as they are standard resources', () => {
    assert.equal(score(least([cpu, disk]), { cpu: '1' }, undefined, withGpu), 87);
    assert.equal(score(least([cpu, disk]), { cpu: '1', 'ephemeral-storage': '5Gi' }, undefined, withGpu), 62);
    assert.equal(score(least([cpu, disk]), { cpu: '1' }, { 'ephemeral-storage': '5Gi' }, withGpu), 61);
  });
});

describe('a shape', () => {
  const only = [{ name: 'cpu', weight: 1 }];
  const at = (cpu: string, ...shape: ShapePoint[]): number | undefined => score(ratio(shape, only), { cpu });

  it('is linear between its points and constant outside them', () => {
    const shape = [point(25, 3), point(75, 7)];
    assert.deepEqual(
      ['400m', '1', '2', '2500m', '3', '4', '9'].map((cpu) => at(cpu, ...shape)),
      [30, 30, 50, 59, 70, 70, 70],
    );
    assert.deepEqual(
      ['1', '2', '3'].map((cpu) => at(cpu, point(0, 10), point(100, 0))),
      [75, 50, 25],
    );
    assert.equal(at('9', point(0, 0), point(50, 10), point(100, 2)), 20);
  });

  it('rounds the mean, and ignores resources with a score of zero', () => {
    const rising = [point(0, 0), point(100, 10)];
    assert.equal(score(ratio(rising), { cpu: '1', memory: '4Gi' }), 38);
    assert.equal(score(ratio([point(0, 0), point(25, 0), point(100, 10)]), { cpu: '1', memory: '4Gi' }), 33);
    assert.equal(score(ratio([point(0, 0)]), { cpu: '1', memory: '4Gi' }), 0);
    assert.equal(score(ratio([]), { cpu: '1', memory: '4Gi' }), 0);
  });
});
