import { quantityOf } from '../../../api/quantity.ts';
import type { ResourceList } from '../../../api/core/resource-requirements.ts';
import type { PluginDevice } from '../../ports/device-plugins.ts';

/** Upstream: devicemanager/types.go endpointStopGracePeriod. */
const STOP_GRACE_MS = 5 * 60_000;

/** The devices of one resource, as its plugin listed them last. */
export interface ResourceDevices {
  readonly devices: ReadonlyMap<string, PluginDevice>;
  /** Monotonic time at which its plugin left; undefined while it is connected. No device of it is healthy then. */
  readonly leftAtMs: number | undefined;
}

export type Inventory = ReadonlyMap<string, ResourceDevices>;

/** The extended resources of the node. */
export interface DeviceCapacity {
  readonly capacity: ResourceList;
  readonly allocatable: ResourceList;
  /** Resources whose plugins left so long ago that the node has none of them any more. */
  readonly removed: readonly string[];
}

/** Adds a resource known from an earlier run. It has no devices until its plugin registers again. */
export function restoredResource(nowMs: number): ResourceDevices {
  return { devices: new Map(), leftAtMs: nowMs };
}

/** Whether the resource is only known from an earlier run: its plugin has not registered since. */
export function isRestored({ devices, leftAtMs }: ResourceDevices): boolean {
  return devices.size === 0 && leftAtMs !== undefined;
}

/** What the plugin listed. Of devices with one id, the last counts. */
export function listedResource(devices: readonly PluginDevice[]): ResourceDevices {
  return { devices: new Map(devices.map((device) => [device.id, device])), leftAtMs: undefined };
}

/** The plugin disconnected: its devices are kept as unhealthy. */
export function leftResource(resource: ResourceDevices, nowMs: number): ResourceDevices {
  const devices = [...resource.devices].map(([id, device]): [string, PluginDevice] => [
    id,
    { ...device, healthy: false },
  ]);
  return { devices: new Map(devices), leftAtMs: resource.leftAtMs ?? nowMs };
}

/** Ids of healthy devices, sorted. */
export function healthyDevices(resource: ResourceDevices | undefined): string[] {
  return [...(resource?.devices.values() ?? [])]
    .filter(({ healthy }) => healthy)
    .map(({ id }) => id)
    .sort();
}

/**
 * Devices that changed their health between two lists, or appeared: their pods need a new status. A device that
 * vanished keeps the health that was shown last.
 */
export function changedDevices(before: ResourceDevices | undefined, after: ResourceDevices): string[] {
  return [...after.devices.values()]
    .filter(({ id, healthy }) => before?.devices.get(id)?.healthy !== healthy)
    .map(({ id }) => id);
}

/**
 * Capacity counts all devices, allocatable the healthy ones; a resource counts for 5 minutes after its plugin left
 * (upstream: manager.go GetCapacity). `nowMs` is monotonic.
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

/** When the next resource expires; undefined while none will. Monotonic. */
export function nextExpiryMs(inventory: Inventory): number | undefined {
  const times = [...inventory.values()].flatMap(({ leftAtMs }) =>
    leftAtMs === undefined ? [] : [leftAtMs + STOP_GRACE_MS],
  );
  return times.length === 0 ? undefined : Math.min(...times);
}

export function isExpired({ leftAtMs }: ResourceDevices, nowMs: number): boolean {
  return leftAtMs !== undefined && nowMs - leftAtMs > STOP_GRACE_MS;
}
