import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { MemoryCheckpoint } from './memory-checkpoint.ts';
import type { MemoryBlock, MemoryCapacity, NodeMemory } from './memory-state.ts';
import { computeNodeMemory } from './memory-state.ts';
import { computeRestoredMemory } from './restore-memory.ts';

/** Three nodes of 7 bytes each, of which only the first has huge pages. */
const capacities: MemoryCapacity[] = [0, 1, 2].map((id) => ({
  id,
  resources: new Map([
    ['memory', { total: 8, systemReserved: 1, allocatable: 7 }],
    ...(id === 0 ? [['hugepages-1Gi', { total: 4, systemReserved: 0, allocatable: 4 }] as const] : []),
  ]),
}));
const block = (nodes: readonly number[], bytes: number, resource = 'memory'): MemoryBlock => ({
  nodes,
  resource,
  bytes,
});
const saved = (containers: Record<string, readonly MemoryBlock[]>): MemoryCheckpoint => {
  const assignments = new Map(Object.entries(containers).map(([uid, blocks]) => [uid, new Map([['c0', blocks]])]));
  return { policy: 'Static', nodes: computeNodeMemory(capacities, assignments), assignments };
};
const different = '[memorymanager] the expected machine state is different from the real one';

describe('restored assignments', () => {
  const kept = block([0], 5);
  for (const [what, own] of [
    ['of a node that the machine does not have', block([7], 1)],
    ['of no node', block([], 0)],
    ['of nodes that are used one by one', block([0, 1], 1)],
    ['of a resource that one of the nodes does not have', block([1, 2], 0, 'hugepages-1Gi')],
    ['of more than is free', block([0], 3)],
  ] as const)
    it(`leave out one ${what}, and keep the others`, () => {
      const both = {
        ...saved({ a: [kept] }),
        assignments: saved({ a: [kept], b: [own], c: [block([1], 1)] }).assignments,
      };
      const { assignments, problem } = computeRestoredMemory(both, 'Static', capacities);
      assert.deepEqual([[...assignments.keys()], problem], [['a', 'c'], different]);
    });

  it('leave a container out when one of its kinds of memory does not fit', () => {
    const own = [block([0], 1), block([0], 5, 'hugepages-1Gi')];
    const { assignments } = computeRestoredMemory(saved({ a: own }), 'Static', capacities);
    assert.equal(assignments.size, 0);
  });

  it('are none with the policy None, which is a problem when there were some', () => {
    const none = { ...saved({ a: [kept] }), policy: 'None' };
    const { assignments, problem } = computeRestoredMemory(none, 'None', []);
    assert.deepEqual([assignments.size, problem], [0, different]);
  });

  it('are no problem when nothing was ever saved, or an empty state', () => {
    assert.equal(computeRestoredMemory(undefined, 'Static', capacities).problem, undefined);
    const empty = { policy: 'Static', nodes: [], assignments: new Map() };
    assert.equal(computeRestoredMemory(empty, 'Static', capacities).problem, undefined);
    const noNodes = { ...saved({ a: [kept] }), nodes: [] };
    assert.equal(computeRestoredMemory(noNodes, 'Static', capacities).problem, different);
  });
});

describe('the saved machine', () => {
  const state = (): MemoryCheckpoint & { readonly nodes: NodeMemory[] } => {
    const one = saved({ a: [block([0], 5, 'memory')], b: [block([1, 2], 10)] });
    return { ...one, nodes: [...one.nodes] };
  };
  const changed = (position: number, change: (node: NodeMemory) => Partial<NodeMemory>): string | undefined => {
    const checkpoint = state();
    const nodes = checkpoint.nodes.map((node, index) => (index === position ? { ...node, ...change(node) } : node));
    const { assignments, problem } = computeRestoredMemory({ ...checkpoint, nodes }, 'Static', capacities);
    assert.equal(assignments.size, 2);
    return problem;
  };
  const withTable = (position: number, resource: string, columns: Record<string, number>): string | undefined =>
    changed(position, ({ tables }) => {
      const table = tables.get(resource) ?? { total: 0, systemReserved: 0, allocatable: 0, reserved: 0, free: 0 };
      return { tables: new Map([...tables, [resource, { ...table, ...columns }]]) };
    });

  it('is the same one when nothing changed', () =>
    assert.equal(
      changed(0, () => ({})),
      undefined,
    ));

  it('may name the nodes of a group in any order, and divide their memory otherwise', () => {
    assert.equal(
      changed(1, () => ({ group: [2, 1] })),
      undefined,
    );
    const checkpoint = state();
    const [, one, other] = checkpoint.nodes.map(({ tables }) => tables.get('memory') ?? assert.fail());
    if (one === undefined || other === undefined) assert.fail();
    [one.free, other.free] = [other.free, one.free];
    assert.notEqual(one.free, other.free);
    assert.equal(computeRestoredMemory(checkpoint, 'Static', capacities).problem, undefined);
  });

  for (const [what, problem] of [
    ['another number of assignments', changed(0, () => ({ assignments: 2 }))],
    ['another group', changed(0, () => ({ group: [0, 1] }))],
    ['another node', changed(0, () => ({ id: 9 }))],
    ['more memory', withTable(0, 'memory', { total: 9 })],
    ['more reserved memory', withTable(0, 'memory', { systemReserved: 2 })],
    ['less allocatable memory', withTable(0, 'memory', { allocatable: 6 })],
    ['less free memory', withTable(0, 'memory', { free: 1 })],
    ['less free memory of a group', withTable(2, 'memory', { free: 0 })],
    ['another resource', withTable(1, 'hugepages-1Gi', {})],
    ['one resource less', changed(0, ({ tables }) => ({ tables: new Map([...tables].slice(0, 1)) }))],
    [
      'another resource in the place of one',
      changed(1, ({ tables }) => ({ tables: new Map([['x', [...tables.values()][0] ?? assert.fail()]]) })),
    ],
  ] as const)
    it(`is another one with ${what}`, () => assert.equal(problem, different));

  it('is another one with fewer nodes', () => {
    const checkpoint = state();
    const fewer = { ...checkpoint, nodes: checkpoint.nodes.slice(0, 2) };
    assert.equal(computeRestoredMemory(fewer, 'Static', capacities).problem, different);
  });
});
