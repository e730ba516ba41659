import { goSortedEntries } from '../../model/go-checksum.ts';
import type { MemoryCheckpoint } from './memory-checkpoint.ts';
import { hasFree, isGroup } from './memory-hints.ts';
import type { MemoryAssignments, MemoryBlock, MemoryCapacity, MemoryPools, NodeMemory } from './memory-state.ts';
import { computeNodeMemory, maskOf, sameGroup, withBlocks } from './memory-state.ts';

/**
 * Computes the assignments at the start of the agent. `problem` is the reason why the saved ones cannot be used
 * unchanged; upstream does not start then (policy_static.go validateState). This agent keeps each one that is still
 * possible.
 */
export function computeRestoredMemory(
  saved: MemoryCheckpoint | undefined,
  policy: 'None' | 'Static',
  capacities: readonly MemoryCapacity[],
  { podLevel }: { readonly podLevel: boolean } = { podLevel: false },
): { assignments: MemoryAssignments; pools: MemoryPools; problem: string | undefined } {
  const nothing = { assignments: new Map<string, never>(), pools: new Map<string, never>() };
  if (saved === undefined) return { ...nothing, problem: undefined };
  if (saved.policy !== policy)
    return {
      ...nothing,
      problem: `[memorymanager] configured policy "${policy}" differs from state checkpoint policy "${saved.policy}"`,
    };
  let assignments: MemoryAssignments = new Map();
  const pools = new Map<string, readonly MemoryBlock[]>();
  let lost = 0;
  for (const [uid, containers] of goSortedEntries(saved.assignments)) {
    const pool = saved.pools?.get(uid);
    if (pool !== undefined) {
      const nodes = computeNodeMemory(capacities, assignments, pools);
      if (policy === 'Static' && podLevel && isWhole(nodes, pool, containers)) {
        pools.set(uid, pool);
        assignments = new Map([...assignments, [uid, containers]]);
      } else lost += 1;
      continue;
    }
    for (const [name, blocks] of containers) {
      const isPossible = policy === 'Static' && fits(computeNodeMemory(capacities, assignments, pools), blocks);
      if (isPossible) assignments = withBlocks(assignments, { uid, name, blocks });
      else lost += 1;
    }
  }
  const isSame = lost === 0 && sameNodes(saved.nodes, computeNodeMemory(capacities, assignments, pools));
  // The first start saves an empty state before anything is allocated.
  const isEmpty = saved.nodes.length === 0 && saved.assignments.size === 0;
  return {
    assignments,
    pools,
    problem:
      isSame || isEmpty ? undefined : '[memorymanager] the expected machine state is different from the real one',
  };
}

/** Whether the blocks of a pod that has memory as a whole are complete. Such a pod keeps all of them or none. */
function isWhole(
  nodes: readonly NodeMemory[],
  pool: readonly MemoryBlock[],
  containers: ReadonlyMap<string, readonly MemoryBlock[]>,
): boolean {
  const isPart = (block: MemoryBlock): boolean =>
    pool.some(
      (own) => own.resource === block.resource && sameGroup(own.nodes, block.nodes) && block.bytes <= own.bytes,
    );
  return fits(nodes, pool) && [...containers.values()].every((blocks) => blocks.every(isPart));
}

function fits(nodes: readonly NodeMemory[], blocks: readonly MemoryBlock[]): boolean {
  return blocks.every(({ nodes: ids, resource, bytes }) => {
    const mask = maskOf(nodes, ids);
    if (mask === undefined || mask === 0 || !isGroup(nodes, mask)) return false;
    const isKnown = ids.every((id) => nodes.find((node) => node.id === id)?.tables.has(resource) === true);
    return isKnown && hasFree(nodes, mask, { request: new Map([[resource, bytes]]), reusable: [] });
  });
}

/**
 * Whether the nodes are the same. The distribution within a group does not matter (upstream: areMachineStatesEqual).
 */
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
