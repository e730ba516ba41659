// A handle on the CSI driver for tests (csi-driver-process.ts): start, script, ask what it was asked, end.
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from './patience.ts';

export interface CsiDriverSetting {
  readonly name: string;
  /** Its data, script and record of calls. */
  readonly folder: string;
  readonly csiSocket: string;
  readonly registrationSocket: string;
  readonly capabilities: readonly (
    | 'STAGE_UNSTAGE_VOLUME'
    | 'GET_VOLUME_STATS'
    | 'EXPAND_VOLUME'
    | 'SINGLE_NODE_MULTI_WRITER'
    | 'VOLUME_MOUNT_GROUP'
  )[];
}

/** `once`: for one call; otherwise until `heal`. */
export interface ScriptedFault {
  readonly kind: 'fail' | 'hang' | 'die';
  readonly code?: string;
  readonly message?: string;
  readonly once?: boolean;
}

/** A request as it came, with the RPC's name. */
export interface CsiCall {
  readonly op: string;
  readonly volumeId?: string;
  readonly targetPath?: string;
  readonly stagingTargetPath?: string;
  readonly volumePath?: string;
  readonly readonly?: boolean;
  readonly secrets?: Record<string, string>;
  readonly volumeContext?: Record<string, string>;
  readonly publishContext?: Record<string, string>;
  readonly volumeCapability?: {
    block?: object;
    mount?: { fsType: string; mountFlags: string[]; volumeMountGroup: string };
    accessMode?: { mode: number };
  };
  readonly pluginRegistered?: boolean;
}

export class TestCsiDriver {
  readonly setting: CsiDriverSetting;
  #child: ChildProcess | undefined;

  /** `rootDir`: the agent's, below which drivers register; `registerIn`: a folder there, made at the start. */
  constructor(
    name: string,
    rootDir: string,
    options: { capabilities?: CsiDriverSetting['capabilities']; registerIn?: string } = {},
  ) {
    const { capabilities = ['STAGE_UNSTAGE_VOLUME', 'EXPAND_VOLUME', 'GET_VOLUME_STATS'], registerIn = '' } = options;
    const folder = mkdtempSync(join(tmpdir(), 'kts-csi-'));
    const home = join(rootDir, 'plugins', name);
    mkdirSync(home, { recursive: true });
    this.setting = {
      name,
      folder,
      csiSocket: join(home, 'csi.sock'),
      registrationSocket: join(rootDir, 'plugins_registry', registerIn, `${name}-reg.sock`),
      capabilities,
    };
  }

  /** Returns when it listens. */
  async start(): Promise<void> {
    const { folder, registrationSocket } = this.setting;
    const errors = openSync(join(folder, 'errors'), 'w');
    const child = spawn(
      process.execPath,
      [join(import.meta.dirname, 'csi-driver-process.ts'), JSON.stringify(this.setting)],
      { stdio: ['ignore', 'ignore', errors] },
    );
    closeSync(errors);
    this.#child = child;
    // It ends with this process, and does not keep it from ending.
    child.unref();
    process.once('exit', () => child.kill('SIGKILL'));
    const up = await waitUntil(
      () => child.exitCode !== null || (existsSync(registrationSocket) && existsSync(join(folder, 'script'))),
      15_000,
    );
    if (!up || child.exitCode !== null)
      throw new Error(`the CSI driver did not start: ${readFileSync(join(folder, 'errors'), 'utf8')}`);
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

  fault(op: string, fault: ScriptedFault): void {
    mkdirSync(join(this.setting.folder, 'script'), { recursive: true });
    writeFileSync(join(this.setting.folder, 'script', op), JSON.stringify(fault));
  }

  heal(op: string): void {
    rmSync(join(this.setting.folder, 'script', op), { force: true });
  }

  calls(op?: string, volumeId?: string): CsiCall[] {
    const file = join(this.setting.folder, 'calls.jsonl');
    if (!existsSync(file)) return [];
    const all = readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as CsiCall);
    return all.filter(
      (call) => (op === undefined || call.op === op) && (volumeId === undefined || call.volumeId === volumeId),
    );
  }

  /** Until it was asked that; fails with all it was asked. */
  async asked(op: string, volumeId: string, count = 1, timeoutMs = 20_000): Promise<CsiCall[]> {
    if (await waitUntil(() => this.calls(op, volumeId).length >= count, timeoutMs, 20)) return this.calls(op, volumeId);
    throw new Error(
      `${op} ${volumeId} was not called ${count} times:\n${this.calls()
        .map((call) => JSON.stringify(call))
        .join('\n')}`,
    );
  }
}
