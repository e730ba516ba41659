import { isRecord, parseRecord } from '../../../base/json-record.ts';
import type { ResourceList, ResourceRequirements } from '../../../api/core/resource-requirements.ts';
import type { PodAllocation } from '../../../api/pod-allocation.ts';
import { parseQuantity } from '../../../api/quantity.ts';
import { fnv32a } from '../../../base/fnv32a.ts';
import { goJson } from '../../../api/go-json.ts';

/**
 * Encodes the content of upstream's checkpoints `allocated_pods_state` and `actuated_pods_state`
 * (allocation/state/checkpoint.go). It is JSON within JSON, with an FNV-32a checksum of the inner text as Go's object
 * dumper prints it.
 */
export function encodeCheckpoint(pods: ReadonlyMap<string, PodAllocation>): string {
  const entries: Record<string, unknown> = {};
  for (const uid of [...pods.keys()].sort()) {
    const { containers = {}, pod = undefined } = pods.get(uid) ?? {};
    entries[uid] = {
      ContainerResources: Object.fromEntries(sortedEntries(containers).map(([name, own]) => [name, ordered(own)])),
      PodLevelResources: pod === undefined ? null : ordered(pod),
    };
  }
  // Go omits an empty map with `omitempty`.
  const data = goJson(pods.size === 0 ? {} : { entries });
  return goJson({ data, checksum: checksumOf(data) });
}

/**
 * Decodes a checkpoint. Returns undefined for invalid text: truncated, with a wrong checksum, or with another
 * structure.
 */
export function decodeCheckpoint(text: string): Map<string, PodAllocation> | undefined {
  const outer = parseRecord(text);
  if (outer === undefined || typeof outer['data'] !== 'string' || outer['checksum'] !== checksumOf(outer['data']))
    return undefined;
  const inner = parseRecord(outer['data']);
  if (inner === undefined) return undefined;
  const entries = inner['entries'] ?? {};
  if (!isRecord(entries)) return undefined;
  const pods = new Map<string, PodAllocation>();
  for (const [uid, entry] of Object.entries(entries)) {
    const pod = decodePod(entry);
    if (pod === undefined) return undefined;
    pods.set(uid, pod);
  }
  return pods;
}

function decodePod(entry: unknown): PodAllocation | undefined {
  if (!isRecord(entry)) return undefined;
  const all = entry['ContainerResources'] ?? {};
  if (!isRecord(all)) return undefined;
  const containers: Record<string, ResourceRequirements> = {};
  for (const [name, value] of Object.entries(all)) {
    const own = decodeRequirements(value);
    if (own === undefined) return undefined;
    containers[name] = own;
  }
  const podLevel = entry['PodLevelResources'] ?? undefined;
  if (podLevel === undefined) return { containers };
  const pod = decodeRequirements(podLevel);
  return pod === undefined ? undefined : { containers, pod };
}

function decodeRequirements(value: unknown): ResourceRequirements | undefined {
  if (!isRecord(value)) return undefined;
  const found: ResourceRequirements = {};
  for (const which of ['limits', 'requests'] as const) {
    const list = value[which] ?? undefined;
    if (list === undefined) continue;
    const amounts = decodeList(list);
    if (amounts === undefined) return undefined;
    found[which] = amounts;
  }
  return found;
}

function decodeList(value: unknown): ResourceList | undefined {
  if (!isRecord(value)) return undefined;
  const list: ResourceList = {};
  for (const [name, amount] of Object.entries(value)) {
    if (typeof amount !== 'string' || !isQuantity(amount)) return undefined;
    list[name] = amount;
  }
  return list;
}

function isQuantity(text: string): boolean {
  try {
    parseQuantity(text);
    return true;
  } catch {
    return false;
  }
}

/** Sorts the keys as Go writes them. Claims are left out: they cannot change in place and are only in the spec. */
function ordered({ limits, requests }: ResourceRequirements): ResourceRequirements {
  return {
    ...(limits === undefined ? {} : { limits: sortedList(limits) }),
    ...(requests === undefined ? {} : { requests: sortedList(requests) }),
  };
}

function sortedList(list: ResourceList): ResourceList {
  return Object.fromEntries(sortedEntries(list));
}

function sortedEntries<T>(record: Readonly<Record<string, T>>): [string, T][] {
  return Object.entries(record).sort(([left], [right]) => (left < right ? -1 : 1));
}

function checksumOf(data: string): number {
  return fnv32a(`(string)${data}`);
}
