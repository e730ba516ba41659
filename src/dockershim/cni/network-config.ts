import { KubeletError } from '../../base/errors.ts';
import { isRecord, parseRecord } from '../../base/json-record.ts';

/** One plugin of a network, with its configuration from the file. */
export interface PluginConfig {
  readonly type: string;
  readonly capabilities: Readonly<Record<string, boolean>>;
  readonly config: Readonly<Record<string, unknown>>;
}

export interface NetworkConfig {
  readonly name: string;
  readonly cniVersion: string;
  readonly disableCheck: boolean;
  readonly plugins: readonly PluginConfig[];
}

/** A file in the folder of network configurations. */
export interface ConfigFile {
  readonly name: string;
  readonly text: string;
}

export type ChosenNetwork =
  | { readonly kind: 'found'; readonly network: NetworkConfig; readonly file: string }
  | { readonly kind: 'none'; readonly why: string };

const extensions = ['.conf', '.conflist', '.json'];
/** The name of the program in the plugin folder. It must be a plain file name. */
const pluginName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
/** The characters that the CNI specification allows in a network's name. */
const networkName = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/;

/** The first valid file in alphabetical order, as in every CNI runtime (cri-dockerd: network/cni/cni.go). */
export function chooseNetwork(files: readonly ConfigFile[]): ChosenNetwork {
  const problems: string[] = [];
  const candidates = files
    .filter(({ name }) => extensions.some((extension) => name.endsWith(extension)))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
  for (const { name, text } of candidates) {
    try {
      return { kind: 'found', network: parseNetwork(text), file: name };
    } catch (error) {
      problems.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  const why = problems.length > 0 ? problems.join('; ') : 'no file with the ending .conf, .conflist or .json';
  return { kind: 'none', why };
}

/** A list of plugins, or the older form with one. Throws `Invalid` with the reason. */
export function parseNetwork(text: string): NetworkConfig {
  const parsed = parseRecord(text);
  if (parsed === undefined) throw new KubeletError('Invalid', 'not a JSON object');
  const { name, cniVersion = '0.1.0', plugins, disableCheck } = parsed;
  if (typeof name !== 'string' || !networkName.test(name))
    throw new KubeletError('Invalid', 'the network has no valid name');
  if (typeof cniVersion !== 'string') throw new KubeletError('Invalid', 'cniVersion is not a string');
  const list: readonly unknown[] = Array.isArray(plugins) ? plugins : [parsed];
  if (list.length === 0) throw new KubeletError('Invalid', 'the network has no plugins');
  return { name, cniVersion, disableCheck: disableCheck === true, plugins: list.map(parsePlugin) };
}

function parsePlugin(value: unknown): PluginConfig {
  if (!isRecord(value)) throw new KubeletError('Invalid', 'a plugin is not an object');
  const { type, capabilities } = value;
  if (typeof type !== 'string' || !pluginName.test(type))
    throw new KubeletError('Invalid', 'a plugin has no valid type');
  const named = isRecord(capabilities) ? capabilities : {};
  return {
    type,
    capabilities: Object.fromEntries(Object.entries(named).map(([key, isOn]) => [key, isOn === true])),
    config: value,
  };
}
