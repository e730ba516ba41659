import type { PluginDevice } from '../../ports/device-plugins.ts';

/** Everything that decides which devices a container gets. */
export interface SelectionFacts {
  /** How many devices of the resource it asks for in total. */
  readonly needed: number;
  /** Devices of the pod's init containers that it may take over. */
  readonly reusable: readonly string[];
  /** Healthy devices that no other container has. */
  readonly free: readonly string[];
  readonly devices: ReadonlyMap<string, PluginDevice>;
  /** NUMA nodes that the topology manager chose; undefined without a choice. */
  readonly affinity: readonly number[] | undefined;
}

export type Selection =
  | { readonly kind: 'chosen'; readonly ids: readonly string[] }
  /** The plugin chooses among the candidates; call `completeSelection` with its answer. */
  | { readonly kind: 'ask'; readonly available: readonly string[]; readonly mustInclude: readonly string[] }
  | { readonly kind: 'short'; readonly requested: number; readonly available: number };

/** Devices in the order in which they are taken. Aligned: near one of the chosen NUMA nodes. */
interface Groups {
  readonly aligned: readonly string[];
  readonly unaligned: readonly string[];
  readonly withoutTopology: readonly string[];
}

/**
 * Which devices a container gets: those of the pod's init containers first, then those near the chosen NUMA nodes, then
 * the others; the plugin chooses where the first two leave a choice (upstream: manager.go devicesToAllocate). Without a
 * preference of the plugin, ids are taken in order.
 */
export function selectDevices(facts: SelectionFacts): Selection {
  const reused = facts.reusable.slice(0, facts.needed);
  const open = facts.needed - reused.length;
  if (open <= 0) return { kind: 'chosen', ids: reused };
  const taken = new Set(reused);
  const free = facts.free.filter((id) => !taken.has(id));
  if (free.length < open) return { kind: 'short', requested: open, available: free.length };
  const { aligned } = computeGroups({ ...facts, free });
  if (open < aligned.length) return { kind: 'ask', available: [...aligned, ...reused], mustInclude: reused };
  if (open === aligned.length) return { kind: 'chosen', ids: [...reused, ...aligned] };
  const must = [...reused, ...aligned];
  return { kind: 'ask', available: [...new Set([...free, ...must])], mustInclude: must };
}

/**
 * The selection after the plugin's preference. Preferred devices that are not available are ignored, missing ones are
 * filled up. The result has exactly the needed number of distinct devices, or `short` if too few are free.
 */
export function completeSelection(
  facts: SelectionFacts,
  preferred: readonly string[],
): Exclude<Selection, { kind: 'ask' }> {
  const first = selectDevices(facts);
  if (first.kind !== 'ask') return first;
  const reusable = new Set(facts.reusable);
  const groups = computeGroups({ ...facts, free: first.available.filter((id) => !reusable.has(id)) });
  const chosen = new Set(first.mustInclude);
  const available = new Set(first.available);
  const order = [
    ...preferred.filter((id) => available.has(id)),
    ...groups.aligned,
    ...groups.unaligned,
    ...groups.withoutTopology,
  ];
  for (const id of order) {
    if (chosen.size >= facts.needed) break;
    chosen.add(id);
  }
  return { kind: 'chosen', ids: [...chosen] };
}

function computeGroups({ free, devices, affinity }: Pick<SelectionFacts, 'free' | 'devices' | 'affinity'>): Groups {
  const hasTopology = free.some((id) => (devices.get(id)?.numaNodes ?? []).length > 0);
  if (affinity === undefined || !hasTopology) return { aligned: [], unaligned: [], withoutTopology: free };
  const wanted = new Set(affinity);
  const aligned: string[] = [];
  const unaligned: string[] = [];
  const withoutTopology: string[] = [];
  for (const id of free) {
    const nodes = devices.get(id)?.numaNodes ?? [];
    if (nodes.length === 0) withoutTopology.push(id);
    else if (nodes.some((node) => wanted.has(node))) aligned.push(id);
    else unaligned.push(id);
  }
  return { aligned, unaligned, withoutTopology };
}
