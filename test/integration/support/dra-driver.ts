// Controls the DRA driver for tests (dra-driver-process.ts): start, recorded calls, health, stop.
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DriverProcess } from './driver-process.ts';

export interface DraDriverSetting {
  readonly name: string;
  readonly node: string;
  readonly folder: string;
  /** The folder for its CDI file. */
  readonly cdiFolder: string;
  readonly socket: string;
  readonly registrationSocket: string;
  /** The devices that it prepares for every claim. */
  readonly devices: readonly string[];
}

export interface DraDriverCall {
  readonly op: string;
  readonly claims?: readonly { namespace: string; name: string; uid: string }[];
}

export class TestDraDriver extends DriverProcess<DraDriverSetting, DraDriverCall> {
  readonly setting: DraDriverSetting;

  constructor(rootDir: string, setting: Pick<DraDriverSetting, 'name' | 'node' | 'cdiFolder' | 'devices'>) {
    super('dra-driver-process.ts');
    const home = join(rootDir, 'plugins', setting.name);
    mkdirSync(home, { recursive: true });
    this.setting = {
      ...setting,
      folder: mkdtempSync(join(tmpdir(), 'kts-dra-')),
      socket: join(home, 'dra.sock'),
      registrationSocket: join(rootDir, 'plugins_registry', `${setting.name}-reg.sock`),
    };
  }

  /** Sets the health that it reports. */
  setHealth(health: 'well' | 'sick'): void {
    writeFileSync(join(this.setting.folder, 'health'), health);
  }

  calls(op: string): DraDriverCall[] {
    return this.recorded((call) => call.op === op);
  }

  asked(op: string, count = 1): Promise<DraDriverCall[]> {
    return this.whenRecorded(op, (call) => call.op === op, count, 20_000);
  }
}
