import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { MemoryCheckpoint } from './memory-checkpoint.ts';
import { decodeMemoryCheckpoint, encodeMemoryCheckpoint } from './memory-checkpoint.ts';

const table = { total: 8, systemReserved: 1, allocatable: 7, reserved: 2, free: 5 };
const node = (id: number): MemoryCheckpoint['nodes'][number] => ({
  id,
  assignments: 1,
  group: [0, 10],
  tables: new Map([['memory', table]]),
});
const block = { nodes: [0, 10], resource: 'memory', bytes: 2 };
const checkpoint: MemoryCheckpoint = {
  policy: 'Static',
  nodes: [node(0), node(10)],
  assignments: new Map([['uid', new Map([['c0', [block]]])]]),
};
const text = encodeMemoryCheckpoint(checkpoint);

/** Returns the saved text with one value replaced. The path has the keys down to the value. */
function withValue(path: string, value: unknown): string {
  const copy = JSON.parse(text) as Record<string, unknown>;
  const keys = path.split(' ');
  const last = keys.pop() ?? '';
  const parent = keys.reduce<Record<string, unknown>>((at, key) => at[key] as Record<string, unknown>, copy);
  parent[last] = value;
  return JSON.stringify(copy);
}

describe('a saved state', () => {
  it('reads as it was written', () => assert.deepEqual(decodeMemoryCheckpoint(text), checkpoint));

  it('has a checksum that does not depend on the order of its nodes', () => {
    const turned = encodeMemoryCheckpoint({ ...checkpoint, nodes: checkpoint.nodes.toReversed() });
    assert.equal(turned, text);
  });

  it('without assignments has no entries, as upstream', () => {
    assert.equal(encodeMemoryCheckpoint({ ...checkpoint, assignments: new Map() }).includes('entries'), false);
  });

  for (const [path, values] of [
    ['policyName', [1]],
    ['machineState', [1, null]],
    ['entries', [1, [], null]],
    ['machineState x', [{ numberOfAssignments: 0, memoryMap: {}, cells: [] }]],
    ['machineState 0', [null, 1]],
    ['machineState 0 numberOfAssignments', [-1, 0.5, '1']],
    ['machineState 0 cells', [1, null, [-1], ['0']]],
    ['machineState 0 memoryMap', [null, 1]],
    ['machineState 0 memoryMap memory', [null, 1]],
    ...['total', 'systemReserved', 'allocatable', 'reserved', 'free'].map(
      (column) => [`machineState 0 memoryMap memory ${column}`, [-1, '1', 2 ** 60]] as const,
    ),
    ['entries uid', [null, 1]],
    ['entries uid c0', [null, {}]],
    ['entries uid c0 0', [null, 1]],
    ['entries uid c0 0 numaAffinity', [null, 0, [-1]]],
    ['entries uid c0 0 type', [1]],
    ['entries uid c0 0 size', [-1, '2']],
  ] as const)
    it(`is refused for its form when ${path} is of another kind`, () => {
      for (const value of values)
        assert.equal(decodeMemoryCheckpoint(withValue(path, value)), 'its structure is not the expected one');
    });
});
