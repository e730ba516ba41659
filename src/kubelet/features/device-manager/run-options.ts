import type { DeviceAllocation } from '../../ports/device-plugins.ts';
import type { HeldDevices } from './pod-devices.ts';

/** What a container needs to use its devices. It has the structure of one plugin's response. */
export type DeviceRunOptions = DeviceAllocation;

export const noRunOptions: DeviceRunOptions = { envs: {}, mounts: [], devices: [], annotations: {}, cdiDevices: [] };

/**
 * Merges the responses of all plugins that serve a container. If two set the same variable, path or annotation, the
 * first one by name of the resource is used (upstream: pod_devices.go deviceRunContainerOptions, in no fixed order).
 */
export function computeRunOptions(held: ReadonlyMap<string, HeldDevices>): DeviceRunOptions {
  const envs = new Map<string, string>();
  const annotations = new Map<string, string>();
  const mounts = new Map<string, DeviceAllocation['mounts'][number]>();
  const devices = new Map<string, DeviceAllocation['devices'][number]>();
  const cdiDevices = new Set<string>();
  const parts = [...held].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, { allocation }]) => allocation);
  for (const part of parts) {
    for (const [name, value] of sortedEntries(part.envs)) addFirst(envs, name, value);
    for (const [name, value] of sortedEntries(part.annotations)) addFirst(annotations, name, value);
    for (const mount of part.mounts) addFirst(mounts, mount.containerPath, mount);
    for (const device of part.devices) addFirst(devices, device.containerPath, device);
    for (const name of part.cdiDevices) cdiDevices.add(name);
  }
  return {
    envs: Object.fromEntries(envs),
    annotations: Object.fromEntries(annotations),
    mounts: [...mounts.values()],
    devices: [...devices.values()],
    cdiDevices: [...cdiDevices],
  };
}

function addFirst<Value>(map: Map<string, Value>, key: string, value: Value): void {
  if (!map.has(key)) map.set(key, value);
}

function sortedEntries(record: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(record).sort(([left], [right]) => (left < right ? -1 : 1));
}
