import type { PluginDevice } from '../../ports/device-plugins.ts';

/** All facts that determine which devices a container gets. */
export interface SelectionFacts {
  /** The total number of devices of the resource that the container requests. */
  readonly needed: number;
  /** Devices of the pod's init containers that the container may reuse. */
  readonly reusable: readonly string[];
  /** Healthy devices that no other container has. */
  readonly free: readonly string[];
  readonly devices: ReadonlyMap<string, PluginDevice>;
  /** The NUMA nodes that the topology manager chose; undefined if it chose none. */
  readonly affinity: readonly number[] | undefined;
}

export type Selection =
  | { readonly kind: 'chosen'; readonly ids: readonly string[] }
  /** The plugin chooses among the candidates. Call `completeSelection` with its answer. */
  | { readonly kind: 'ask'; readonly available: readonly string[]; readonly mustInclude: readonly string[] }
  | { readonly kind: 'short'; readonly requested: number; readonly available: number };

/** The devices in the order in which they are taken. Aligned devices are near one of the chosen NUMA nodes. */
interface Groups {
  readonly aligned: readonly string[];
  readonly unaligned: readonly string[];
  readonly withoutTopology: readonly string[];
}

/**
 * Selects the devices of a container: those of the pod's init containers first, then those near the chosen NUMA nodes,
 * then the others (upstream: manager.go devicesToAllocate). If more devices than needed qualify, the plugin chooses
 * among them. Without a preference of the plugin, devices are taken in the order of their ids.
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
 * Completes the selection with the plugin's preference. Preferred devices that are not available are ignored, and
 * missing ones are filled up. The result has exactly the needed number of distinct devices, or is `short` if too few
 * are free.
 */
export function completeSelection(
  facts: SelectionFacts,
  preferred: readonly string[],
): Exclude<Selection, { kind: 'ask' }> {
  const first = selectDevices(facts);
  if (first.kind !== 'ask') return first;
  const groups = computeGroups({ ...facts, free: first.available });
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
  if (affinity === undefined) return { aligned: [], unaligned: [], withoutTopology: free };
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
