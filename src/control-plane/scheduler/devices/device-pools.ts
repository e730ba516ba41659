import type { Node } from '../../../api/core/node.ts';
import type { NodeSelector } from '../../../api/core/scheduling.ts';
import type { Device, ResourceSlice } from '../../../api/resource/resource-slice.ts';
import { deviceKey } from '../../../api/resource/device-key.ts';
import { compileNodeSelector } from '../framework/node-matcher.ts';

/** The nodes that can use a device: one node, selected nodes, or all nodes (undefined). */
export type DeviceReach = { readonly nodeName: string } | { readonly nodeSelector: NodeSelector } | undefined;

export interface PoolDevice {
  /** The identity of the device: `driver/pool/device`. */
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
  /** Whether all slices of the generation exist and no device occurs twice. */
  readonly isComplete: boolean;
  readonly devices: readonly PoolDevice[];
  /** The devices that consume shared counters, on any node. */
  readonly counting: readonly PoolDevice[];
  /** The amount of each counter, by `counterSet/counter`. */
  readonly counters: ReadonlyMap<string, string>;
}

/** Builds the pool from the newest generation of its slices. Returns undefined if there are no slices. */
export function poolOf(group: readonly ResourceSlice[]): DevicePool | undefined {
  const generation = group.reduce((newest, { spec }) => Math.max(newest, Number(spec.pool.generation)), -1);
  const slices = group
    .filter(({ spec }) => Number(spec.pool.generation) === generation)
    .sort((left, right) => (left.metadata.name < right.metadata.name ? -1 : 1));
  const [first] = slices;
  if (first === undefined) return undefined;
  const { driver, pool } = first.spec;
  const counters = new Map<string, string>();
  for (const { spec } of slices)
    for (const set of spec.sharedCounters ?? [])
      for (const [name, { value }] of Object.entries(set.counters ?? {})) counters.set(`${set.name}/${name}`, value);
  const devices = slices.flatMap(({ spec }) =>
    (spec.devices ?? []).map((device): PoolDevice => {
      const key = deviceKey({ driver, pool: pool.name, device: device.name });
      const reach = reachOf(spec.perDeviceNodeSelection === true ? device : spec);
      return { key, driver, pool: pool.name, device, reach };
    }),
  );
  // A duplicate device is an error of the driver, which its next generation may fix.
  const isSound = new Set(devices.map(({ key }) => key)).size === devices.length;
  return {
    driver,
    name: pool.name,
    isComplete: isSound && slices.length === Number(pool.resourceSliceCount),
    devices,
    counting: devices.filter(({ device }) => (device.consumesCounters ?? []).length > 0),
    counters,
  };
}

function reachOf({ nodeName, nodeSelector }: Pick<Device, 'nodeName' | 'nodeSelector'>): DeviceReach {
  if (nodeName !== undefined) return { nodeName };
  return nodeSelector === undefined ? undefined : { nodeSelector };
}

/** Returns the pool with only the devices that the node can use, or undefined if there are none. */
export function restrictedTo(pool: DevicePool, node: Node): DevicePool | undefined {
  const reaches = (reach: DeviceReach): boolean => {
    if (reach === undefined) return true;
    if ('nodeName' in reach) return reach.nodeName === node.metadata.name;
    return compileNodeSelector(reach.nodeSelector)(node);
  };
  const devices = pool.devices.filter(({ reach }) => reaches(reach));
  return devices.length === 0 ? undefined : { ...pool, devices };
}
