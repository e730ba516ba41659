import { goJson } from '../../../api/go-json.ts';
import { isRecord } from '../../../base/json-record.ts';
import { fnv32a } from '../../../base/fnv32a.ts';
import { goMap, goSortedEntries } from '../../model/go-checksum.ts';
import type { MemoryAssignments, MemoryBlock, MemoryPools, NodeMemory } from './memory-state.ts';

/** The state as upstream saves it in `memory_manager_state`. */
export interface MemoryCheckpoint {
  readonly policy: string;
  readonly nodes: readonly NodeMemory[];
  readonly assignments: MemoryAssignments;
  /** The pools; undefined in the first version of the format, which the gate PodLevelResourceManagers replaces. */
  readonly pools?: MemoryPools | undefined;
}

/** Encodes the state file (upstream: memorymanager/state MemoryManagerCheckpointV1; V2 with `pools`). */
export function encodeMemoryCheckpoint(checkpoint: MemoryCheckpoint): string {
  const { policy, nodes, assignments, pools = new Map<string, MemoryBlock[]>() } = checkpoint;
  const entries = goSortedEntries(assignments).map(
    ([uid, own]) =>
      [uid, Object.fromEntries(goSortedEntries(own).map(([name, blocks]) => [name, blocks.map(goBlock)]))] as const,
  );
  return goJson({
    policyName: policy,
    machineState: Object.fromEntries(nodes.map((node) => [node.id, goNode(node)])),
    ...(entries.length === 0 ? {} : { entries: Object.fromEntries(entries) }),
    ...(pools.size === 0 ? {} : { podEntries: Object.fromEntries(goSortedEntries(pools).map(goPool)) }),
    checksum: checksumOf(checkpoint),
  });
}

const goBlock = ({ nodes, resource, bytes }: MemoryBlock) => ({ numaAffinity: nodes, type: resource, size: bytes });

const goPool = ([uid, blocks]: readonly [string, readonly MemoryBlock[]]) =>
  [uid, { memoryBlocks: blocks.map(goBlock) }] as const;

function goNode({ assignments, tables, group }: NodeMemory) {
  const memoryMap = goSortedEntries(tables).map(
    ([resource, { total, systemReserved, allocatable, reserved, free }]) =>
      [resource, { total, systemReserved, allocatable, reserved, free }] as const,
  );
  return { numberOfAssignments: assignments, memoryMap: Object.fromEntries(memoryMap), cells: group };
}

function checksumOf({ policy, nodes, assignments, pools }: MemoryCheckpoint): number {
  const machine = goMap(
    nodes
      .toSorted((left, right) => left.id - right.id)
      .map(({ id, assignments: count, tables, group }) => {
        const memory = goMap(
          goSortedEntries(tables).map(([resource, table]) => [
            resource,
            `<*>{TotalMemSize:(uint64)${table.total} SystemReserved:(uint64)${table.systemReserved} Allocatable:(uint64)${table.allocatable} Reserved:(uint64)${table.reserved} Free:(uint64)${table.free}}`,
          ]),
        );
        return [
          id,
          `<*>{NumberOfAssignments:(int)${count} MemoryMap:(map[v1.ResourceName]*state.MemoryTable)${memory} Cells:([]int)[${group.join(' ')}]}`,
        ];
      }),
  );
  const entries = goMap(
    goSortedEntries(assignments).map(([uid, own]) => [
      uid,
      goMap(goSortedEntries(own).map(([name, blocks]) => [name, `[${blocks.map(dumpBlock).join(' ')}]`])),
    ]),
  );
  return fnv32a(
    `(*state.MemoryManagerCheckpoint){PolicyName:(string)${policy} MachineState:(state.NUMANodeMap)${machine} Entries:(state.ContainerMemoryAssignments)${entries}${pools === undefined ? '' : ` PodEntries:(state.PodMemoryAssignments)${dumpPools(pools)}`} Checksum:(checksum.Checksum)0}`,
  );
}

function dumpPools(pools: MemoryPools): string {
  const dumped = goSortedEntries(pools).map(
    ([uid, blocks]) => [uid, `{MemoryBlocks:([]state.Block)[${blocks.map(dumpBlock).join(' ')}]}`] as const,
  );
  return goMap(dumped);
}

const dumpBlock = ({ nodes, resource, bytes }: MemoryBlock): string =>
  `{NUMAAffinity:([]int)[${nodes.join(' ')}] Type:(v1.ResourceName)${resource} Size:(uint64)${bytes}}`;

/**
 * Decodes the state file. Returns a string with the reason if no agent can have written the text. The cost is linear in
 * its length.
 */
export function decodeMemoryCheckpoint(text: string): MemoryCheckpoint | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'it is not valid JSON';
  }
  if (!isRecord(value)) return 'it is not an object';
  const { policyName, machineState, entries = {}, podEntries = {}, checksum } = value;
  if (typeof policyName !== 'string' || !isRecord(machineState) || !isRecord(entries))
    return 'its structure is not the expected one';
  const pools = isRecord(podEntries) ? decodePools(podEntries) : undefined;
  if (pools === undefined) return 'its structure is not the expected one';
  const nodes = Object.entries(machineState).map(([id, node]) => decodeNode(Number(id), node));
  const pods = Object.entries(entries).map(([uid, own]) => [uid, decodePod(own)] as const);
  const checkpoint = {
    policy: policyName,
    nodes: nodes.flatMap((node) => (node === undefined ? [] : [node])),
    assignments: new Map(pods.flatMap(([uid, own]) => (own === undefined ? [] : [[uid, own] as const]))),
  };
  if (checkpoint.nodes.length < nodes.length || checkpoint.assignments.size < pods.length)
    return 'its structure is not the expected one';
  if (pools.size === 0 && checksum === checksumOf(checkpoint)) return checkpoint;
  const second = { ...checkpoint, pools };
  return checksum === checksumOf(second) ? second : 'its checksum is wrong';
}

function decodeNode(id: number, value: unknown): NodeMemory | undefined {
  if (!isAmount(id) || !isRecord(value)) return undefined;
  const { numberOfAssignments: assignments, memoryMap, cells: group } = value;
  if (!isAmount(assignments) || !isRecord(memoryMap) || !isAmounts(group)) return undefined;
  const tables = new Map<string, NodeMemory['tables'] extends ReadonlyMap<string, infer Table> ? Table : never>();
  for (const [resource, table] of Object.entries(memoryMap)) {
    if (!isRecord(table)) return undefined;
    const { total, systemReserved, allocatable, reserved, free } = table;
    if (!isAmount(total) || !isAmount(systemReserved) || !isAmount(allocatable)) return undefined;
    if (!isAmount(reserved) || !isAmount(free)) return undefined;
    tables.set(resource, { total, systemReserved, allocatable, reserved, free });
  }
  return { id, assignments, group, tables };
}

function decodePod(value: unknown): ReadonlyMap<string, readonly MemoryBlock[]> | undefined {
  if (!isRecord(value)) return undefined;
  const containers = new Map<string, readonly MemoryBlock[]>();
  for (const [name, list] of Object.entries(value)) {
    const blocks = decodeBlocks(list);
    if (blocks === undefined) return undefined;
    containers.set(name, blocks);
  }
  return containers;
}

function decodePools(entries: Readonly<Record<string, unknown>>): MemoryPools | undefined {
  const pools = new Map<string, readonly MemoryBlock[]>();
  for (const [uid, entry] of Object.entries(entries)) {
    const blocks = isRecord(entry) ? decodeBlocks(entry['memoryBlocks'] ?? []) : undefined;
    if (blocks === undefined) return undefined;
    pools.set(uid, blocks);
  }
  return pools;
}

function decodeBlocks(list: unknown): MemoryBlock[] | undefined {
  if (!Array.isArray(list)) return undefined;
  const blocks = list.map(decodeBlock);
  const sound = blocks.flatMap((block) => (block === undefined ? [] : [block]));
  return sound.length < blocks.length ? undefined : sound;
}

function decodeBlock(value: unknown): MemoryBlock | undefined {
  if (!isRecord(value)) return undefined;
  const { numaAffinity: nodes, type: resource, size: bytes } = value;
  return isAmounts(nodes) && typeof resource === 'string' && isAmount(bytes) ? { nodes, resource, bytes } : undefined;
}

const isAmount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

const isAmounts = (value: unknown): value is number[] => Array.isArray(value) && value.every(isAmount);
