// Controls the CSI driver for tests (csi-driver-process.ts): start, script, recorded calls, stop.
import { existsSync, mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DriverProcess } from './driver-process.ts';

export interface CsiDriverSetting {
  readonly name: string;
  /** The folder with its data, script and recorded calls. */
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

/** A received request with its method name. */
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

export class TestCsiDriver extends DriverProcess<CsiDriverSetting, CsiCall> {
  readonly setting: CsiDriverSetting;

  /**
   * `rootDir`: the agent's folder in which drivers register; `registerIn`: a folder there, which is created at the
   * start.
   */
  constructor(
    name: string,
    rootDir: string,
    options: { capabilities?: CsiDriverSetting['capabilities']; registerIn?: string } = {},
  ) {
    super('csi-driver-process.ts');
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

  protected override isUp(): boolean {
    return existsSync(this.setting.registrationSocket) && existsSync(join(this.setting.folder, 'script'));
  }

  calls(op?: string, volumeId?: string): CsiCall[] {
    return this.recorded(isCall(op, volumeId));
  }

  /** Waits for `count` such calls; fails with all recorded calls. */
  asked(op: string, volumeId: string, count = 1, timeoutMs = 20_000): Promise<CsiCall[]> {
    return this.whenRecorded(`${op} ${volumeId}`, isCall(op, volumeId), count, timeoutMs);
  }
}

const isCall =
  (op: string | undefined, volumeId: string | undefined) =>
  (call: CsiCall): boolean =>
    (op === undefined || call.op === op) && (volumeId === undefined || call.volumeId === volumeId);
