import { goJson } from '../../../api/go-json.ts';
import { fnv32a } from '../../../base/fnv32a.ts';
import { goSortedEntries } from '../../model/go-checksum.ts';
import { isRecord, parseRecord } from '../../../base/json-record.ts';
import type { DeviceAllocation } from '../../ports/device-plugins.ts';
import type { HeldDevices, HeldEntry } from './pod-devices.ts';

/** The content of upstream's checkpoint `kubelet_internal_checkpoint`. */
export interface DeviceCheckpointData {
  readonly held: readonly HeldEntry[];
  /** The healthy devices of the last registration, by resource. */
  readonly registered: ReadonlyMap<string, readonly string[]>;
}

/** Converts allocations to bytes and back, as the plugin's own message. */
export interface AllocationCodec {
  encodeAllocation(allocation: DeviceAllocation): Uint8Array;
  decodeAllocation(bytes: Uint8Array): DeviceAllocation;
}

/** One entry of the file. Go writes a nil list or map as null, and includes that in the checksum. */
interface FileEntry {
  readonly PodUID: string;
  readonly ContainerName: string;
  readonly ResourceName: string;
  readonly DeviceIDs: [node: number, ids: string[] | null][] | null;
  readonly AllocResp: Uint8Array | null;
}

interface FileData {
  readonly PodDeviceEntries: FileEntry[] | null;
  readonly RegisteredDevices: readonly (readonly [resource: string, ids: string[] | null])[] | null;
}

/**
 * Encodes upstream's checkpoint (cm/devicemanager/checkpoint): JSON with an FNV-32a checksum of the data as Go's object
 * dumper prints it.
 */
export function encodeDeviceCheckpoint(data: DeviceCheckpointData, codec: AllocationCodec): string {
  const file: FileData = {
    PodDeviceEntries: data.held.length === 0 ? null : data.held.map((entry) => toFile(entry, codec)).sort(byPlace),
    RegisteredDevices: goSortedEntries(data.registered).map(([resource, ids]) => [resource, [...ids]]),
  };
  return goJson({ Data: jsonOf(file), Checksum: fnv32a(dumpData(file)) });
}

/**
 * Decodes a checkpoint. Returns undefined for invalid text: truncated, with a wrong checksum, or with another
 * structure.
 */
export function decodeDeviceCheckpoint(text: string, codec: AllocationCodec): DeviceCheckpointData | undefined {
  const outer = parseRecord(text);
  if (outer === undefined) return undefined;
  const file = readData(outer['Data']);
  if (file === undefined || outer['Checksum'] !== fnv32a(dumpData(file))) return undefined;
  try {
    return {
      held: (file.PodDeviceEntries ?? []).map((entry) => fromFile(entry, codec)),
      registered: new Map((file.RegisteredDevices ?? []).map(([resource, ids]) => [resource, ids ?? []])),
    };
  } catch {
    return undefined; // return undefined; // The response cannot be decoded.
  }
}

function toFile({ uid, container, resource, held }: HeldEntry, codec: AllocationCodec): FileEntry {
  return {
    PodUID: uid,
    ContainerName: container,
    ResourceName: resource,
    DeviceIDs: [...held.byNode].sort(([left], [right]) => left - right).map(([node, ids]) => [node, [...ids]]),
    AllocResp: codec.encodeAllocation(held.allocation),
  };
}

function fromFile(entry: FileEntry, codec: AllocationCodec): HeldEntry {
  const byNode = new Map((entry.DeviceIDs ?? []).map(([node, ids]) => [node, ids ?? []]));
  const held: HeldDevices = {
    ids: [...new Set([...byNode.values()].flat())].sort(),
    byNode,
    allocation: codec.decodeAllocation(entry.AllocResp ?? new Uint8Array()),
  };
  return { uid: entry.PodUID, container: entry.ContainerName, resource: entry.ResourceName, held };
}

function byPlace(left: FileEntry, right: FileEntry): number {
  const place = ({ PodUID, ContainerName, ResourceName }: FileEntry) => `${PodUID}/${ContainerName}/${ResourceName}`;
  return place(left) < place(right) ? -1 : 1;
}

function jsonOf({ PodDeviceEntries, RegisteredDevices }: FileData): unknown {
  return {
    PodDeviceEntries:
      PodDeviceEntries?.map(({ DeviceIDs, AllocResp, ...rest }) => ({
        ...rest,
        DeviceIDs: recordOf(DeviceIDs),
        AllocResp: AllocResp === null ? null : Buffer.from(AllocResp).toString('base64'),
      })) ?? null,
    RegisteredDevices: recordOf(RegisteredDevices),
  };
}

/** Builds an object with the keys sorted as text, as Go writes them. */
function recordOf(
  entries: readonly (readonly [number | string, string[] | null])[] | null,
): Record<string, unknown> | null {
  if (entries === null) return null;
  const named = entries.map(([key, ids]): [string, unknown] => [String(key), ids]);
  return Object.fromEntries(goSortedEntries(named));
}

function readData(value: unknown): FileData | undefined {
  if (!isRecord(value)) return undefined;
  const entries = value['PodDeviceEntries'] ?? null;
  const registered = readLists(value['RegisteredDevices'] ?? null);
  if (registered === undefined || !(entries === null || Array.isArray(entries))) return undefined;
  const read = entries === null ? null : entries.map(readEntry);
  if (read?.some((entry) => entry === undefined) === true) return undefined;
  return {
    PodDeviceEntries: read?.filter((entry) => entry !== undefined) ?? null,
    RegisteredDevices: registered === null ? null : goSortedEntries(registered),
  };
}

function readEntry(value: unknown): FileEntry | undefined {
  if (!isRecord(value)) return undefined;
  const { PodUID, ContainerName, ResourceName, DeviceIDs = null, AllocResp = null } = value;
  if (typeof PodUID !== 'string' || typeof ContainerName !== 'string' || typeof ResourceName !== 'string')
    return undefined;
  const lists = readLists(DeviceIDs);
  if (lists === undefined || !(AllocResp === null || typeof AllocResp === 'string')) return undefined;
  const nodes = lists?.map(([node, ids]): [number, string[] | null] => [Number(node), ids]) ?? null;
  if (nodes?.some(([node]) => !Number.isSafeInteger(node)) === true) return undefined;
  return {
    PodUID,
    ContainerName,
    ResourceName,
    DeviceIDs: nodes?.sort(([left], [right]) => left - right) ?? null,
    AllocResp: AllocResp === null ? null : Buffer.from(AllocResp, 'base64'),
  };
}

/** Reads a map of lists of strings; undefined if the value is something else. */
function readLists(value: unknown): [string, string[] | null][] | null | undefined {
  if (value === null) return null;
  if (!isRecord(value)) return undefined;
  const lists: [string, string[] | null][] = [];
  for (const [key, list] of Object.entries(value)) {
    if (list === null) lists.push([key, null]);
    else if (Array.isArray(list) && list.every((id) => typeof id === 'string')) lists.push([key, list]);
    else return undefined;
  }
  return lists;
}

/** Prints the data as Go's object dumper does: types, fields, sorted maps, `<nil>` for absent values. */
function dumpData({ PodDeviceEntries, RegisteredDevices }: FileData): string {
  const entries = PodDeviceEntries === null ? '<nil>' : `[${PodDeviceEntries.map(dumpEntry).join(' ')}]`;
  return (
    `(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)${entries} ` +
    `RegisteredDevices:(map[string][]string)${dumpMap(RegisteredDevices)}}`
  );
}

function dumpEntry({ PodUID, ContainerName, ResourceName, DeviceIDs, AllocResp }: FileEntry): string {
  const bytes = AllocResp === null ? '<nil>' : `[${AllocResp.join(' ')}]`;
  return (
    `{PodUID:(string)${PodUID} ContainerName:(string)${ContainerName} ResourceName:(string)${ResourceName} ` +
    `DeviceIDs:(checkpoint.DevicesPerNUMA)${dumpMap(DeviceIDs)} AllocResp:([]uint8)${bytes}}`
  );
}

function dumpMap(entries: readonly (readonly [number | string, string[] | null])[] | null): string {
  if (entries === null) return '<nil>';
  const shown = entries.map(([key, ids]) => `${key}:${ids === null ? '<nil>' : `[${ids.join(' ')}]`}`);
  return `map[${shown.join(' ')}]`;
}
