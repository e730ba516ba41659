import type { ConfigFile } from './network-config.ts';
import type { PluginCall } from './plugin-call.ts';

/** The machine, as far as its network is concerned. */
export interface CniHost {
  /** The files of the folder of network configurations; a missing folder has none. */
  readConfigs(): Promise<readonly ConfigFile[]>;
  /** Where plugins are looked for, separated by colons. */
  readonly pluginPath: string;
  /** Rejects only when the plugin cannot be started or does not end in time. */
  run(call: PluginCall): Promise<{ readonly exitCode: number; readonly stdout: string; readonly stderr: string }>;
}
