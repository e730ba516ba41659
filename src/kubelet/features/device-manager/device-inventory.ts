import { quantityOf } from '../../../api/quantity.ts';
import type { ResourceList } from '../../../api/core/resource-requirements.ts';
import type { PluginDevice } from '../../ports/device-plugins.ts';

/** How long a resource counts after its plugin left (upstream: devicemanager/types.go endpointStopGracePeriod). */
const STOP_GRACE_MS = 5 * 60_000;

/** The devices of one resource, as its plugin last listed them. */
export interface ResourceDevices {
  readonly devices: ReadonlyMap<string, PluginDevice>;
  /** The monotonic time when its plugin left; undefined while it is connected. None of the devices is healthy then. */
  readonly leftAtMs: number | undefined;
}

export type Inventory = ReadonlyMap<string, ResourceDevices>;

/** The node's extended resources of device plugins. */
export interface DeviceCapacity {
  readonly capacity: ResourceList;
  readonly allocatable: ResourceList;
  /** Resources whose plugins left more than 5 minutes ago, so that the node no longer has them. */
  readonly removed: readonly string[];
}

/** Creates a resource known from an earlier run. It has no devices until its plugin registers again. */
export function restoredResource(nowMs: number): ResourceDevices {
  return { devices: new Map(), leftAtMs: nowMs };
}

/** Whether the resource is known only from an earlier run, because its plugin has not registered since. */
export function isRestored({ devices, leftAtMs }: ResourceDevices): boolean {
  return devices.size === 0 && leftAtMs !== undefined;
}

/** Creates a resource from the list of its plugin. If two devices have the same id, the last one is used. */
export function listedResource(devices: readonly PluginDevice[]): ResourceDevices {
  return { devices: new Map(devices.map((device) => [device.id, device])), leftAtMs: undefined };
}

/** Marks the devices of a disconnected plugin as unhealthy. */
export function leftResource(resource: ResourceDevices, nowMs: number): ResourceDevices {
  const devices = [...resource.devices].map(([id, device]): [string, PluginDevice] => [
    id,
    { ...device, healthy: false },
  ]);
  return { devices: new Map(devices), leftAtMs: resource.leftAtMs ?? nowMs };
}

/** Returns the ids of healthy devices, sorted. */
export function healthyDevices(resource: ResourceDevices | undefined): string[] {
  return [...(resource?.devices.values() ?? [])]
    .filter(({ healthy }) => healthy)
    .map(({ id }) => id)
    .sort();
}

/**
 * Returns the devices that changed their health between two lists or appeared, because their pods need a new status. A
 * device that vanished keeps the health that was shown last.
 */
export function changedDevices(before: ResourceDevices | undefined, after: ResourceDevices): string[] {
  return [...after.devices.values()]
    .filter(({ id, healthy }) => before?.devices.get(id)?.healthy !== healthy)
    .map(({ id }) => id);
}

/**
 * Computes the capacity (all devices) and the allocatable amount (healthy ones). A resource counts for 5 minutes after
 * its plugin left (upstream: manager.go GetCapacity). `nowMs` is monotonic.
 */
export function computeDeviceCapacity(inventory: Inventory, nowMs: number): DeviceCapacity {
  const capacity: ResourceList = {};
  const allocatable: ResourceList = {};
  const removed: string[] = [];
  for (const [name, resource] of inventory) {
    if (isExpired(resource, nowMs)) {
      removed.push(name);
      continue;
    }
    capacity[name] = quantityOf(resource.devices.size, 'DecimalSI');
    allocatable[name] = quantityOf(healthyDevices(resource).length, 'DecimalSI');
  }
  return { capacity, allocatable, removed: removed.sort() };
}

/** Returns the monotonic time when the next resource expires, or undefined if none will. */
export function nextExpiryMs(inventory: Inventory): number | undefined {
  const times = [...inventory.values()].flatMap(({ leftAtMs }) =>
    leftAtMs === undefined ? [] : [leftAtMs + STOP_GRACE_MS],
  );
  return times.length === 0 ? undefined : Math.min(...times);
}

export function isExpired({ leftAtMs }: ResourceDevices, nowMs: number): boolean {
  return leftAtMs !== undefined && nowMs - leftAtMs > STOP_GRACE_MS;
}
