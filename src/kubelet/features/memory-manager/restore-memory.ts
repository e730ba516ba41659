import { goSortedEntries } from '../../model/go-checksum.ts';
import type { MemoryCheckpoint } from './memory-checkpoint.ts';
import { hasFree, isGroup } from './memory-hints.ts';
import type { MemoryAssignments, MemoryBlock, MemoryCapacity, NodeMemory } from './memory-state.ts';
import { computeNodeMemory, maskOf, sameGroup, withBlocks } from './memory-state.ts';

/**
 * The assignments to start with. `problem` says why the saved ones cannot be used as they are; upstream does not start
 * then (policy_static.go validateState). Here each one that is still possible is kept.
 */
export function computeRestoredMemory(
  saved: MemoryCheckpoint | undefined,
  policy: 'None' | 'Static',
  capacities: readonly MemoryCapacity[],
): { assignments: MemoryAssignments; problem: string | undefined } {
  if (saved === undefined) return { assignments: new Map(), problem: undefined };
  if (saved.policy !== policy)
    return {
      assignments: new Map(),
      problem: `[memorymanager] configured policy "${policy}" differs from state checkpoint policy "${saved.policy}"`,
    };
  let assignments: MemoryAssignments = new Map();
  let lost = 0;
  for (const [uid, containers] of goSortedEntries(saved.assignments)) {
    for (const [name, blocks] of containers) {
      const isPossible = policy === 'Static' && fits(computeNodeMemory(capacities, assignments), blocks);
      if (isPossible) assignments = withBlocks(assignments, { uid, name, blocks });
      else lost += 1;
    }
  }
  const isSame = lost === 0 && sameNodes(saved.nodes, computeNodeMemory(capacities, assignments));
  // A first start saves an empty state before anything is allocated.
  const isEmpty = saved.nodes.length === 0 && saved.assignments.size === 0;
  return {
    assignments,
    problem:
      isSame || isEmpty ? undefined : '[memorymanager] the expected machine state is different from the real one',
  };
}

function fits(nodes: readonly NodeMemory[], blocks: readonly MemoryBlock[]): boolean {
  return blocks.every(({ nodes: ids, resource, bytes }) => {
    const mask = maskOf(nodes, ids);
    if (mask === undefined || mask === 0 || !isGroup(nodes, mask)) return false;
    const isKnown = ids.every((id) => nodes.find((node) => node.id === id)?.tables.has(resource) === true);
    return isKnown && hasFree(nodes, mask, { request: new Map([[resource, bytes]]), reusable: [] });
  });
}

/** Within a group it does not matter which of its nodes gives how much (upstream: areMachineStatesEqual). */
function sameNodes(left: readonly NodeMemory[], right: readonly NodeMemory[]): boolean {
  if (left.length !== right.length) return false;
  const others = new Map(right.map((node) => [node.id, node]));
  return left.every((node) => {
    const other = others.get(node.id);
    if (other === undefined || node.assignments !== other.assignments || !sameGroup(sorted(node.group), other.group))
      return false;
    return (
      node.tables.size === other.tables.size &&
      [...node.tables].every(([resource, table]) => {
        const own = other.tables.get(resource);
        return (
          own !== undefined &&
          (['total', 'systemReserved', 'allocatable'] as const).every((column) => table[column] === own[column]) &&
          freeOf(left, node.group, resource) === freeOf(right, node.group, resource)
        );
      })
    );
  });
}

const sorted = (ids: readonly number[]): number[] => ids.toSorted((left, right) => left - right);

function freeOf(nodes: readonly NodeMemory[], group: readonly number[], resource: string): number {
  return nodes.reduce((sum, { id, tables }) => sum + (group.includes(id) ? (tables.get(resource)?.free ?? 0) : 0), 0);
}
