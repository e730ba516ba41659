import type { ConfigFile } from './network-config.ts';
import type { PluginCall } from './plugin-call.ts';

/** The parts of the machine that concern its network. */
export interface CniHost {
  /** The files in the folder of network configurations; empty for a missing folder. */
  readConfigs(): Promise<readonly ConfigFile[]>;
  /** The folders that are searched for plugins, separated by colons. */
  readonly pluginPath: string;
  /** Rejects only when the plugin cannot be started or does not end in time. */
  run(call: PluginCall): Promise<{ readonly exitCode: number; readonly stdout: string; readonly stderr: string }>;
}
