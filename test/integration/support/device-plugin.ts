// Controls the device plugin for tests (device-plugin-process.ts): start, devices, script, recorded calls, stop.
import { mkdtempSync, renameSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DriverProcess } from './driver-process.ts';

export interface TestDevice {
  readonly id: string;
  /** Default true. */
  readonly healthy?: boolean;
  /** The NUMA nodes of the device. */
  readonly nodes?: readonly number[];
}

export interface DevicePluginSetting {
  readonly resource: string;
  readonly folder: string;
  readonly socket: string;
  readonly kubeletSocket: string;
  /** If set, the plugin registers through the plugin watcher. */
  readonly registrationSocket?: string;
  readonly preStart?: boolean;
  readonly preferred?: readonly string[];
  readonly version?: string;
  /** In place of the name of its socket. */
  readonly endpoint?: string;
  /** Whether it registers again when the kubelet was restarted; default true. */
  readonly follows?: boolean;
}

export interface DevicePluginCall {
  readonly op: string;
  readonly ids?: string[];
  readonly message?: string;
  readonly containerRequests?: {
    availableDeviceIDs: string[];
    mustIncludeDeviceIDs: string[];
    allocationSize: number;
  }[];
}

export class TestDevicePlugin extends DriverProcess<DevicePluginSetting, DevicePluginCall> {
  readonly setting: DevicePluginSetting;

  constructor(
    resource: string,
    rootDir: string,
    devices: readonly TestDevice[],
    options: Partial<Omit<DevicePluginSetting, 'registrationSocket'>> & { watched?: boolean } = {},
  ) {
    super('device-plugin-process.ts');
    const { watched = false, ...more } = options;
    const folder = mkdtempSync(join(tmpdir(), 'kts-device-'));
    const name = resource.replace('/', '-');
    this.setting = {
      resource,
      folder,
      socket: join(rootDir, 'device-plugins', `${name}.sock`),
      kubeletSocket: join(rootDir, 'device-plugins', 'kubelet.sock'),
      ...(watched && { registrationSocket: join(rootDir, 'plugins_registry', `${name}-reg.sock`) }),
      ...more,
    };
    this.list(devices);
  }

  /** Sets the devices that it lists. */
  list(devices: readonly TestDevice[]): void {
    writeFileSync(join(this.setting.folder, '.devices'), JSON.stringify(devices));
    renameSync(join(this.setting.folder, '.devices'), join(this.setting.folder, 'devices.json'));
  }

  calls(op?: string): DevicePluginCall[] {
    return this.recorded((call) => op === undefined || call.op === op);
  }

  /** Waits for `count` such calls; fails with all recorded calls. */
  asked(op: string, count = 1, timeoutMs = 20_000): Promise<DevicePluginCall[]> {
    return this.whenRecorded(op, (call) => call.op === op, count, timeoutMs);
  }
}
