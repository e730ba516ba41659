import { KubeletError } from '../../base/errors.ts';
import { parseRecord } from '../../base/json-record.ts';
import type { CniHost } from './cni-host.ts';
import { chooseNetwork } from './network-config.ts';
import type { ChosenNetwork, NetworkConfig, PluginConfig } from './network-config.ts';
import { addressesOf, pluginCall, pluginError } from './plugin-call.ts';
import type { Attachment, CniCommand } from './plugin-call.ts';

export interface Attached {
  readonly network: NetworkConfig;
  /** The result of the last plugin. */
  readonly result: unknown;
  readonly ips: readonly string[];
}

/** Attaches pods to the network of the machine: runs the plugins of the first valid configuration. */
export class CniNetwork {
  readonly #host: CniHost;

  constructor(host: CniHost) {
    this.#host = host;
  }

  /** Read with each call, because the file of a network may be written long after the shim started. */
  async choose(): Promise<ChosenNetwork> {
    return chooseNetwork(await this.#host.readConfigs());
  }

  /** The network that pods are attached to now. Rejects with `Unavailable` when there is none. */
  async chosen(): Promise<NetworkConfig> {
    const chosen = await this.choose();
    if (chosen.kind === 'found') return chosen.network;
    throw new KubeletError('Unavailable', `the network plugin is not ready: cni config uninitialized: ${chosen.why}`);
  }

  /**
   * Runs the plugins in order, each with the result of the one before it. Rejects with `Internal` when one fails. The
   * caller then detaches, which also calls the plugins that did not run.
   */
  async attach(attachment: Attachment, network: NetworkConfig): Promise<Attached> {
    let result: unknown;
    for (const plugin of network.plugins)
      result = await this.#run('ADD', { network, plugin, attachment, previous: result });
    return { network, result, ips: addressesOf(result) };
  }

  /** Runs the plugins in reverse order. If one fails, the others still run; the first failure is thrown at the end. */
  async detach(attachment: Attachment, { network, result }: Pick<Attached, 'network' | 'result'>): Promise<void> {
    const failures: unknown[] = [];
    for (const plugin of network.plugins.toReversed()) {
      try {
        await this.#run('DEL', { network, plugin, attachment, previous: result });
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  async #run(
    command: CniCommand,
    given: {
      readonly network: NetworkConfig;
      readonly plugin: PluginConfig;
      readonly attachment: Attachment;
      readonly previous: unknown;
    },
  ): Promise<unknown> {
    const output = await this.#host.run(pluginCall(command, { ...given, pluginPath: this.#host.pluginPath }));
    const parsed = parseRecord(output.stdout);
    if (output.exitCode === 0) return parsed;
    const { network, plugin } = given;
    throw new KubeletError(
      'Internal',
      `plugin type="${plugin.type}" name="${network.name}" failed (${command === 'ADD' ? 'add' : 'delete'}): ${pluginError(output, parsed)}`,
      { op: `CNI ${command}` },
    );
  }
}
