import type { Node } from '../../../api/core/node.ts';
import type { ResourceSlice } from '../../../api/resource/resource-slice.ts';
import { poolOf, restrictedTo } from './device-pools.ts';
import type { DevicePool } from './device-pools.ts';

/** The pools that a node can use, sorted by name, each with only the devices that the node can use. */
export interface DevicePools {
  forNode(node: Node): readonly DevicePool[];
}

/**
 * An index of ResourceSlices. The cost of a change is proportional to the pool, and the cost of a look-up to the pools
 * of the node.
 */
export class SliceIndex implements DevicePools {
  /** The slices: pool → slice name → slice. */
  readonly #slices = new Map<string, Map<string, ResourceSlice>>();
  /** The pools whose devices are all on one node: node → pool name → pool. */
  readonly #ofNode = new Map<string, Map<string, DevicePool>>();
  /** The nodes under which a pool is indexed. */
  readonly #nodesOf = new Map<string, readonly string[]>();
  /** The pools with devices that several nodes can use. */
  readonly #shared = new Map<string, DevicePool>();

  /** Applies a watch event: a slice was added (`before` undefined), changed, or deleted (`after` undefined). */
  set(before: ResourceSlice | undefined, after: ResourceSlice | undefined): void {
    const keys = new Set<string>();
    if (before !== undefined) {
      const key = poolKeyOf(before);
      const group = this.#slices.get(key);
      group?.delete(before.metadata.name);
      if (group?.size === 0) this.#slices.delete(key);
      keys.add(key);
    }
    if (after !== undefined) {
      const key = poolKeyOf(after);
      const group = this.#slices.get(key) ?? new Map<string, ResourceSlice>();
      this.#slices.set(key, group.set(after.metadata.name, after));
      keys.add(key);
    }
    for (const key of keys) this.#rebuild(key);
  }

  forNode(node: Node): readonly DevicePool[] {
    const own = this.#ofNode.get(node.metadata.name);
    const found: [string, DevicePool][] = own === undefined ? [] : [...own];
    for (const [key, pool] of this.#shared) {
      const reachable = restrictedTo(pool, node);
      if (reachable !== undefined) found.push([key, reachable]);
    }
    return found.sort(([left], [right]) => (left < right ? -1 : 1)).map(([, pool]) => pool);
  }

  #rebuild(key: string): void {
    for (const node of this.#nodesOf.get(key) ?? []) {
      const pools = this.#ofNode.get(node);
      pools?.delete(key);
      if (pools?.size === 0) this.#ofNode.delete(node);
    }
    this.#nodesOf.delete(key);
    this.#shared.delete(key);
    const pool = poolOf([...(this.#slices.get(key)?.values() ?? [])]);
    if (pool === undefined || pool.devices.length === 0) return;
    const byNode = Map.groupBy(pool.devices, ({ reach }) =>
      reach !== undefined && 'nodeName' in reach ? reach.nodeName : undefined,
    );
    if (byNode.has(undefined)) {
      this.#shared.set(key, pool);
      return;
    }
    const nodes: string[] = [];
    for (const [node, devices] of byNode) {
      if (node === undefined) continue;
      const pools = this.#ofNode.get(node) ?? new Map<string, DevicePool>();
      this.#ofNode.set(node, pools.set(key, { ...pool, devices }));
      nodes.push(node);
    }
    this.#nodesOf.set(key, nodes);
  }
}

const poolKeyOf = ({ spec: { driver, pool } }: ResourceSlice): string => `${driver}/${pool.name}`;

/** Indexes an immutable set of slices. */
export function poolsOfSlices(slices: Iterable<ResourceSlice>): DevicePools {
  const index = new SliceIndex();
  for (const slice of slices) index.set(undefined, slice);
  return index;
}
