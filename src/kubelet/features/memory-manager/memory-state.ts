import type { MachineTopology } from '../../model/machine-topology.ts';
import type { NumaMask } from '../../model/topology-hints.ts';
import { quantityOf } from '../../../api/quantity.ts';

/** Memory of one kind from one group of NUMA nodes (upstream: memorymanager/state Block). */
export interface MemoryBlock {
  /** The ids of the nodes, ascending. */
  readonly nodes: readonly number[];
  /** For example `memory` or `hugepages-2Mi`. */
  readonly resource: string;
  readonly bytes: number;
}

/** Blocks by the UID of the pod and the name of the container. The maps are immutable. */
export type MemoryAssignments = ReadonlyMap<string, ReadonlyMap<string, readonly MemoryBlock[]>>;

/**
 * Blocks of pods that have memory as a whole, by UID. The blocks of their containers are parts of these and are not
 * counted again.
 */
export type MemoryPools = ReadonlyMap<string, readonly MemoryBlock[]>;

/** The memory of one kind on a node, in bytes. */
export interface MemoryTable {
  readonly total: number;
  readonly systemReserved: number;
  readonly allocatable: number;
  reserved: number;
  free: number;
}

/** One NUMA node (upstream: NUMANodeState). */
export interface NodeMemory {
  readonly id: number;
  /** The number of blocks that use the node. */
  assignments: number;
  /** The nodes that are allocated together with this one; only itself while there are none. */
  group: readonly number[];
  readonly tables: ReadonlyMap<string, MemoryTable>;
}

/** The memory of the node by resource, without the system reservation. */
export interface MemoryCapacity {
  readonly id: number;
  readonly resources: ReadonlyMap<
    string,
    { readonly total: number; readonly systemReserved: number; readonly allocatable: number }
  >;
}

/** Bytes by node id and resource. */
export type ReservedMemory = ReadonlyMap<number, ReadonlyMap<string, number>>;

/**
 * Computes the memory of each node. Huge pages are not available as ordinary memory (upstream: getDefaultMachineState).
 */
export function computeCapacities({ nodes }: MachineTopology, reserved: ReservedMemory): MemoryCapacity[] {
  return nodes.map(({ id, memoryBytes, hugePages }) => {
    const own = reserved.get(id);
    const resources = new Map<string, { total: number; systemReserved: number; allocatable: number }>();
    let inPages = 0;
    for (const { sizeBytes, count } of hugePages) {
      const resource = `hugepages-${quantityOf(sizeBytes, 'BinarySI')}`;
      const systemReserved = own?.get(resource) ?? 0;
      const total = sizeBytes * count;
      inPages += total;
      resources.set(resource, { total, systemReserved, allocatable: Math.max(0, total - systemReserved) });
    }
    const systemReserved = own?.get('memory') ?? 0;
    const allocatable = Math.max(0, memoryBytes - systemReserved - inPages);
    resources.set('memory', { total: memoryBytes, systemReserved, allocatable });
    return { id, resources };
  });
}

/** Computes the state of all nodes with these assignments. A block takes free memory from its nodes in their order. */
export function computeNodeMemory(
  capacities: readonly MemoryCapacity[],
  assignments: MemoryAssignments,
  pools: MemoryPools = new Map(),
): NodeMemory[] {
  const nodes = capacities.map(
    ({ id, resources }): NodeMemory => ({
      id,
      assignments: 0,
      group: [id],
      tables: new Map(
        [...resources].map(([resource, table]) => [resource, { ...table, reserved: 0, free: table.allocatable }]),
      ),
    }),
  );
  const byId = new Map(nodes.map((node) => [node.id, node]));
  for (const [uid, containers] of assignments)
    for (const block of pools.get(uid) ?? [...containers.values()].flat()) addBlock(byId, block);
  return nodes;
}

function addBlock(byId: ReadonlyMap<number, NodeMemory>, { nodes, resource, bytes }: MemoryBlock): void {
  let left = bytes;
  for (const id of nodes) {
    const node = byId.get(id);
    if (node === undefined) continue;
    node.assignments += 1;
    node.group = nodes;
    const table = node.tables.get(resource);
    if (table === undefined) continue;
    const taken = Math.min(table.free, left);
    table.free -= taken;
    table.reserved += taken;
    left -= taken;
  }
}

export function withBlocks(
  assignments: MemoryAssignments,
  { uid, name, blocks }: { uid: string; name: string; blocks: readonly MemoryBlock[] },
): MemoryAssignments {
  return new Map([...assignments, [uid, new Map([...(assignments.get(uid) ?? []), [name, blocks]])]]);
}

export const sameGroup = (left: readonly number[], right: readonly number[]): boolean =>
  left.length === right.length && left.every((id, index) => id === right[index]);

/** Returns the ids of the nodes in a mask, ascending. */
export function idsOf(nodes: readonly { readonly id: number }[], mask: NumaMask): number[] {
  return nodes.flatMap(({ id }, position) => ((mask >> position) & 1 ? [id] : []));
}

/** Returns the mask of nodes by id; undefined if one of them does not exist. */
export function maskOf(nodes: readonly { readonly id: number }[], ids: readonly number[]): NumaMask | undefined {
  const positions = ids.map((id) => nodes.findIndex((node) => node.id === id));
  return positions.includes(-1) ? undefined : positions.reduce((mask, position) => mask | (1 << position), 0);
}
