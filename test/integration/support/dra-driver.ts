// A handle on the DRA driver for tests (dra-driver-process.ts): start, ask what it was asked, change its health, end.
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from './patience.ts';

export interface DraDriverSetting {
  readonly name: string;
  readonly node: string;
  readonly folder: string;
  /** Where it writes its CDI file. */
  readonly cdiFolder: string;
  readonly socket: string;
  readonly registrationSocket: string;
  /** What it prepares for every claim. */
  readonly devices: readonly string[];
}

export interface DraDriverCall {
  readonly op: string;
  readonly claims?: readonly { namespace: string; name: string; uid: string }[];
}

export class TestDraDriver {
  readonly setting: DraDriverSetting;
  #child: ChildProcess | undefined;

  constructor(rootDir: string, setting: Pick<DraDriverSetting, 'name' | 'node' | 'cdiFolder' | 'devices'>) {
    const home = join(rootDir, 'plugins', setting.name);
    mkdirSync(home, { recursive: true });
    this.setting = {
      ...setting,
      folder: mkdtempSync(join(tmpdir(), 'kts-dra-')),
      socket: join(home, 'dra.sock'),
      registrationSocket: join(rootDir, 'plugins_registry', `${setting.name}-reg.sock`),
    };
  }

  /** Returns when it listens. */
  async start(): Promise<void> {
    const { folder } = this.setting;
    const errors = openSync(join(folder, 'errors'), 'w');
    rmSync(join(folder, 'up'), { force: true });
    const child = spawn(
      process.execPath,
      [join(import.meta.dirname, 'dra-driver-process.ts'), JSON.stringify(this.setting)],
      { stdio: ['ignore', 'ignore', errors] },
    );
    closeSync(errors);
    this.#child = child;
    // It ends with this process, and does not keep it from ending.
    child.unref();
    process.once('exit', () => child.kill('SIGKILL'));
    const up = await waitUntil(() => child.exitCode !== null || existsSync(join(folder, 'up')), 15_000);
    if (!up || child.exitCode !== null)
      throw new Error(`the DRA driver did not start: ${readFileSync(join(folder, 'errors'), 'utf8')}`);
  }

  /** SIGTERM removes its sockets, SIGKILL leaves them. */
  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.ref();
    const gone = new Promise((resolve) => child.once('close', resolve));
    child.kill(signal);
    await gone;
  }

  /** The process and its folder go. */
  async dispose(): Promise<void> {
    await this.stop();
    rmSync(this.setting.folder, { recursive: true, force: true });
  }

  /** What it reports from now on. */
  setHealth(health: 'well' | 'sick'): void {
    writeFileSync(join(this.setting.folder, 'health'), health);
  }

  calls(op: string): DraDriverCall[] {
    const file = join(this.setting.folder, 'calls.jsonl');
    if (!existsSync(file)) return [];
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as DraDriverCall)
      .filter((call) => call.op === op);
  }

  async asked(op: string, count = 1): Promise<DraDriverCall[]> {
    if (await waitUntil(() => this.calls(op).length >= count, 20_000, 20)) return this.calls(op);
    throw new Error(`${op} was not called ${count} times`);
  }
}
