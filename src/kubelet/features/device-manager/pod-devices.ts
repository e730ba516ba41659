import type { PodUid } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import type { DeviceAllocation, PluginDevice } from '../../ports/device-plugins.ts';

/** The devices of one resource that a container has. */
export interface HeldDevices {
  /** The ids, sorted. */
  readonly ids: readonly string[];
  /** The ids by NUMA node; devices without topology are under -1. A device near several nodes is listed under each. */
  readonly byNode: ReadonlyMap<number, readonly string[]>;
  /** The plugin's response to Allocate. */
  readonly allocation: DeviceAllocation;
}

/** One entry of the checkpoint. */
export interface HeldEntry {
  readonly uid: string;
  readonly container: string;
  readonly resource: string;
  readonly held: HeldDevices;
}

type Containers = Map<string, Map<string, HeldDevices>>;

/** The key of devices without topology (upstream: nodeWithoutTopology). */
const WITHOUT_TOPOLOGY = -1;

export function heldDevices(
  ids: readonly string[],
  devices: ReadonlyMap<string, PluginDevice>,
  allocation: DeviceAllocation,
): HeldDevices {
  const byNode = new Map<number, string[]>();
  const sorted = [...ids].sort();
  for (const id of sorted) {
    const nodes = devices.get(id)?.numaNodes ?? [];
    for (const node of nodes.length === 0 ? [WITHOUT_TOPOLOGY] : new Set(nodes)) {
      const listed = byNode.get(node);
      if (listed === undefined) byNode.set(node, [id]);
      else listed.push(id);
    }
  }
  return { ids: sorted, byNode, allocation };
}

/**
 * Records which container has which devices. A device may belong to several containers of one pod, but never to two
 * pods.
 */
export class PodDevices {
  readonly #pods = new Map<PodUid, Containers>();

  constructor(entries: readonly HeldEntry[] = []) {
    for (const entry of entries) this.insert(podUid(entry.uid), entry);
  }

  insert(uid: PodUid, { container, resource, held }: Omit<HeldEntry, 'uid'>): void {
    const containers: Containers = this.#pods.get(uid) ?? new Map<string, Map<string, HeldDevices>>();
    const resources = containers.get(container) ?? new Map<string, HeldDevices>();
    resources.set(resource, held);
    containers.set(container, resources);
    this.#pods.set(uid, containers);
  }

  get(uid: PodUid, container: string, resource: string): HeldDevices | undefined {
    return this.#pods.get(uid)?.get(container)?.get(resource);
  }

  /** Returns the devices of a container by resource. */
  ofContainer(uid: PodUid, container: string): ReadonlyMap<string, HeldDevices> {
    return this.#pods.get(uid)?.get(container) ?? new Map();
  }

  /** Returns the devices of the resource that containers have, with their pods. */
  inUse(resource: string): ReadonlyMap<string, PodUid> {
    const used = new Map<string, PodUid>();
    for (const [uid, containers] of this.#pods)
      for (const resources of containers.values())
        for (const id of resources.get(resource)?.ids ?? []) used.set(id, uid);
    return used;
  }

  /** Returns how many devices of each resource are in use. */
  counts(): ReadonlyMap<string, number> {
    const ids = new Map<string, Set<string>>();
    for (const { resource, held } of this.entries()) {
      const known = ids.get(resource) ?? new Set<string>();
      for (const id of held.ids) known.add(id);
      ids.set(resource, known);
    }
    return new Map([...ids].map(([resource, known]) => [resource, known.size]));
  }

  pods(): PodUid[] {
    return [...this.#pods.keys()];
  }

  /** Removes the devices of a pod. Returns whether it had any. */
  remove(uid: PodUid): boolean {
    return this.#pods.delete(uid);
  }

  /** Removes the devices of one resource from a container whose allocation failed. */
  removeResource(uid: PodUid, container: string, resource: string): void {
    const containers = this.#pods.get(uid);
    const resources = containers?.get(container);
    resources?.delete(resource);
    if (resources?.size === 0) containers?.delete(container);
    if (containers?.size === 0) this.#pods.delete(uid);
  }

  entries(): HeldEntry[] {
    return [...this.#pods].flatMap(([uid, containers]) =>
      [...containers].flatMap(([container, resources]) =>
        [...resources].map(([resource, held]) => ({ uid, container, resource, held })),
      ),
    );
  }
}
