import type { NumaMask, TopologyHint } from '../../model/topology-hints.ts';
import { compareMasks, countNodes, hintsOf } from '../../model/topology-hints.ts';
import type { MemoryBlock, NodeMemory } from './memory-state.ts';
import { idsOf, sameGroup } from './memory-state.ts';

/** Bytes by resource, such as `memory` or `hugepages-2Mi`. */
export type MemoryRequest = ReadonlyMap<string, number>;

/** Memory of init containers of the same pod that the request may reuse, by resource and nodes. */
export type Reusable = readonly MemoryBlock[];

/**
 * Returns the NUMA nodes that can serve the request. Groups of nodes never overlap partly, so that the kernel can serve
 * each group from its own nodes (upstream: memorymanager/policy_static.go calculateHints).
 */
export function memoryHints(nodes: readonly NodeMemory[], request: MemoryRequest, reusable: Reusable): TopologyHint[] {
  let least = nodes.length;
  for (let mask = 1; mask < 2 ** nodes.length; mask += 1)
    if (countNodes(mask) < least && has(nodes, mask, request, 'allocatable')) least = countNodes(mask);
  return hintsOf(nodes.length, {
    least,
    serves: (mask) =>
      has(nodes, mask, request, 'allocatable') && isGroup(nodes, mask) && hasFree(nodes, mask, { request, reusable }),
  });
}

function has(
  nodes: readonly NodeMemory[],
  mask: NumaMask,
  request: MemoryRequest,
  column: 'allocatable' | 'free',
): boolean {
  return [...request].every(([resource, bytes]) => sumOf(nodes, mask, resource, column) >= bytes);
}

function sumOf(nodes: readonly NodeMemory[], mask: NumaMask, resource: string, column: 'allocatable' | 'free'): number {
  return nodes.reduce(
    (sum, { tables }, position) => sum + ((mask >> position) & 1 ? (tables.get(resource)?.[column] ?? 0) : 0),
    0,
  );
}

/** Whether the memory is free on these nodes, or an init container of the pod has it there. */
export function hasFree(
  nodes: readonly NodeMemory[],
  mask: NumaMask,
  { request, reusable }: { request: MemoryRequest; reusable: Reusable },
): boolean {
  const ids = idsOf(nodes, mask);
  return [...request].every(
    ([resource, bytes]) => sumOf(nodes, mask, resource, 'free') + reusableBytes(reusable, resource, ids) >= bytes,
  );
}

export function reusableBytes(reusable: Reusable, resource: string, ids: readonly number[]): number {
  return reusable
    .filter((block) => block.resource === resource && sameGroup(block.nodes, ids))
    .reduce((sum, { bytes }) => sum + bytes, 0);
}

/**
 * Whether the nodes can form a group. A node that is used alone cannot join a group, and a node in a group cannot join
 * another.
 */
export function isGroup(nodes: readonly NodeMemory[], mask: NumaMask): boolean {
  const ids = idsOf(nodes, mask);
  return nodes.every(
    ({ assignments, group }, position) => ((mask >> position) & 1) === 0 || assignments === 0 || sameGroup(group, ids),
  );
}

/** Returns the best hint: preferred ones first, then fewer nodes, then lower ones. */
export function bestHint(hints: readonly TopologyHint[]): TopologyHint | undefined {
  return hints.toSorted(
    (left, right) =>
      Number(right.preferred) - Number(left.preferred) || compareMasks(left.affinity ?? 0, right.affinity ?? 0),
  )[0];
}
