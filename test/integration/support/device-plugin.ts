// A handle on the device plugin for tests (device-plugin-process.ts): start, change its devices, script, ask what it was
// asked, end.
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ScriptedFault } from './csi-driver.ts';
import { waitUntil } from './patience.ts';

export interface TestDevice {
  readonly id: string;
  /** true unless given. */
  readonly healthy?: boolean;
  /** NUMA nodes. */
  readonly nodes?: readonly number[];
}

export interface DevicePluginSetting {
  readonly resource: string;
  readonly folder: string;
  readonly socket: string;
  readonly kubeletSocket: string;
  /** With it, the plugin registers through the plugin watcher. */
  readonly registrationSocket?: string;
  readonly preStart?: boolean;
  readonly preferred?: readonly string[];
  readonly version?: string;
  /** Instead of the name of its socket. */
  readonly endpoint?: string;
  /** Registers again when the kubelet was restarted; true unless given. */
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

const children = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

export class TestDevicePlugin {
  readonly setting: DevicePluginSetting;
  #child: ChildProcess | undefined;

  constructor(
    resource: string,
    rootDir: string,
    devices: readonly TestDevice[],
    options: Partial<Omit<DevicePluginSetting, 'registrationSocket'>> & { watched?: boolean } = {},
  ) {
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

  /** What it lists from now on. */
  list(devices: readonly TestDevice[]): void {
    writeFileSync(join(this.setting.folder, '.devices'), JSON.stringify(devices));
    renameSync(join(this.setting.folder, '.devices'), join(this.setting.folder, 'devices.json'));
  }

  /** Returns when it listens and has tried to register. */
  async start(): Promise<void> {
    const { folder } = this.setting;
    const errors = openSync(join(folder, 'errors'), 'w');
    rmSync(join(folder, 'up'), { force: true });
    const child = spawn(
      process.execPath,
      [join(import.meta.dirname, 'device-plugin-process.ts'), JSON.stringify(this.setting)],
      { stdio: ['ignore', 'ignore', errors] },
    );
    closeSync(errors);
    this.#child = child;
    // It ends with this process, and does not keep it from ending.
    child.unref();
    children.add(child);
    const up = await waitUntil(() => child.exitCode !== null || existsSync(join(folder, 'up')), 15_000);
    if (!up || child.exitCode !== null)
      throw new Error(`the device plugin did not start: ${readFileSync(join(folder, 'errors'), 'utf8')}`);
  }

  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.ref();
    const gone = new Promise((resolve) => child.once('close', resolve));
    child.kill(signal);
    await gone;
  }

  async dispose(): Promise<void> {
    await this.stop();
    rmSync(this.setting.folder, { recursive: true, force: true });
  }

  fault(op: string, fault: ScriptedFault): void {
    mkdirSync(join(this.setting.folder, 'script'), { recursive: true });
    writeFileSync(join(this.setting.folder, 'script', op), JSON.stringify(fault));
  }

  heal(op: string): void {
    rmSync(join(this.setting.folder, 'script', op), { force: true });
  }

  calls(op?: string): DevicePluginCall[] {
    const file = join(this.setting.folder, 'calls.jsonl');
    if (!existsSync(file)) return [];
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as DevicePluginCall)
      .filter((call) => op === undefined || call.op === op);
  }

  /** Until it was asked that so often; fails with all it was asked. */
  async asked(op: string, count = 1, timeoutMs = 20_000): Promise<DevicePluginCall[]> {
    if (await waitUntil(() => this.calls(op).length >= count, timeoutMs, 20)) return this.calls(op);
    throw new Error(
      `${op} was not called ${count} times:\n${this.calls()
        .map((call) => JSON.stringify(call))
        .join('\n')}`,
    );
  }
}
