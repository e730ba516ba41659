import type { Node } from '../../../api/core/node.ts';
import type { NodeSelector } from '../../../api/core/scheduling.ts';
import type { Device, ResourceSlice } from '../../../api/resource/resource-slice.ts';
import { deviceKey } from '../../../api/resource/device-key.ts';
import { compileNodeSelector } from '../framework/node-matcher.ts';

/** Where a device can be used: on one node, on selected nodes, or (undefined) on all. */
export type DeviceReach = { readonly nodeName: string } | { readonly nodeSelector: NodeSelector } | undefined;

export interface PoolDevice {
  /** `driver/pool/device`. */
  readonly key: string;
  readonly driver: string;
  readonly pool: string;
  readonly device: Device;
  readonly reach: DeviceReach;
}

/** The newest generation of one pool of a driver. */
export interface DevicePool {
  readonly driver: string;
  readonly name: string;
  /** All slices of the generation exist. */
  readonly isComplete: boolean;
  readonly devices: readonly PoolDevice[];
  /** How much there is of each counter: by `counterSet/counter`. */
  readonly counters: ReadonlyMap<string, string>;
}

/** The pools in the order of their names, so that equal clusters give equal allocations. */
export function gatherPools(slices: Iterable<ResourceSlice>): readonly DevicePool[] {
  const newest = new Map<string, ResourceSlice[]>();
  for (const slice of slices) {
    const { driver, pool } = slice.spec;
    const key = `${driver}/${pool.name}`;
    const known = newest.get(key);
    const generation = known?.[0]?.spec.pool.generation ?? -1;
    if (pool.generation > generation) newest.set(key, [slice]);
    else if (pool.generation === generation) known?.push(slice);
  }
  return [...newest].sort(([left], [right]) => (left < right ? -1 : 1)).flatMap(([, group]) => poolOf(group));
}

function poolOf(group: readonly ResourceSlice[]): readonly DevicePool[] {
  const slices = [...group].sort((left, right) => (left.metadata.name < right.metadata.name ? -1 : 1));
  const [first] = slices;
  if (first === undefined) return [];
  const { driver, pool } = first.spec;
  const counters = new Map<string, string>();
  for (const { spec } of slices)
    for (const set of spec.sharedCounters ?? [])
      for (const [name, { value }] of Object.entries(set.counters ?? {})) counters.set(`${set.name}/${name}`, value);
  const devices = slices.flatMap(({ spec }) =>
    (spec.devices ?? []).map((device): PoolDevice => {
      const key = deviceKey({ driver, pool: pool.name, device: device.name });
      return {
        key,
        driver,
        pool: pool.name,
        device,
        reach: reachOf(spec.perDeviceNodeSelection === true ? device : spec),
      };
    }),
  );
  return [{ driver, name: pool.name, isComplete: slices.length === pool.resourceSliceCount, devices, counters }];
}

function reachOf({ nodeName, nodeSelector }: Pick<Device, 'nodeName' | 'nodeSelector'>): DeviceReach {
  if (nodeName !== undefined) return { nodeName };
  return nodeSelector === undefined ? undefined : { nodeSelector };
}

/** The pools with only the devices that the node can use. */
export function poolsOfNode(pools: readonly DevicePool[], node: Node): readonly DevicePool[] {
  const reaches = (reach: DeviceReach): boolean => {
    if (reach === undefined) return true;
    if ('nodeName' in reach) return reach.nodeName === node.metadata.name;
    return compileNodeSelector(reach.nodeSelector)(node);
  };
  return pools.flatMap((pool) => {
    const devices = pool.devices.filter(({ reach }) => reaches(reach));
    return devices.length === 0 ? [] : [{ ...pool, devices }];
  });
}
