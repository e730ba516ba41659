import { isRecord } from '../../base/json-record.ts';
import { Protocol } from '../../cri/generated/cri-v1.ts';
import type { PortMapping } from '../../cri/generated/cri-v1.ts';
import type { NetworkConfig, PluginConfig } from './network-config.ts';

/** The interface inside every pod (the CRI's convention). */
const POD_INTERFACE = 'eth0';

export interface Attachment {
  readonly containerId: string;
  /** The path of the network namespace; empty when it is gone. */
  readonly netns: string;
  readonly pod: { readonly name: string; readonly namespace: string; readonly uid: string };
  readonly portMappings: readonly PortMapping[];
  readonly dns: { readonly servers: readonly string[]; readonly searches: readonly string[] };
}

export interface PluginCall {
  readonly program: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly input: string;
}

export type CniCommand = 'ADD' | 'DEL';

/** One start of a plugin (the CNI specification, section 2). `previous`: the result of the plugin before it. */
export function pluginCall(
  command: CniCommand,
  given: {
    readonly network: NetworkConfig;
    readonly plugin: PluginConfig;
    readonly attachment: Attachment;
    readonly previous: unknown;
    readonly pluginPath: string;
  },
): PluginCall {
  const { network, plugin, attachment, previous, pluginPath } = given;
  const { capabilities: _capabilities, ...config } = plugin.config;
  const runtimeConfig = runtimeConfigOf(plugin, attachment);
  const input = {
    ...config,
    name: network.name,
    cniVersion: network.cniVersion,
    ...(Object.keys(runtimeConfig).length > 0 && { runtimeConfig }),
    ...(previous !== undefined && { prevResult: previous }),
  };
  return {
    program: plugin.type,
    input: JSON.stringify(input),
    environment: {
      CNI_COMMAND: command,
      CNI_CONTAINERID: attachment.containerId,
      CNI_NETNS: attachment.netns,
      CNI_IFNAME: POD_INTERFACE,
      CNI_PATH: pluginPath,
      CNI_ARGS: [
        'IgnoreUnknown=1',
        `K8S_POD_NAMESPACE=${attachment.pod.namespace}`,
        `K8S_POD_NAME=${attachment.pod.name}`,
        `K8S_POD_INFRA_CONTAINER_ID=${attachment.containerId}`,
        `K8S_POD_UID=${attachment.pod.uid}`,
      ].join(';'),
    },
  };
}

/** The arguments for the capabilities that a plugin declares (the CNI conventions). */
function runtimeConfigOf({ capabilities }: PluginConfig, attachment: Attachment): Record<string, unknown> {
  const mappings = attachment.portMappings.filter(({ hostPort }) => hostPort > 0);
  const { servers, searches } = attachment.dns;
  return {
    ...(capabilities['portMappings'] === true && mappings.length > 0 && { portMappings: mappings.map(portMapping) }),
    ...(capabilities['dns'] === true && servers.length > 0 && { dns: { servers, searches } }),
  };
}

const protocols: Readonly<Record<Protocol, string>> = {
  [Protocol.TCP]: 'tcp',
  [Protocol.UDP]: 'udp',
  [Protocol.SCTP]: 'sctp',
};

function portMapping({ protocol, containerPort, hostPort, hostIp }: PortMapping): Record<string, unknown> {
  return { hostPort, containerPort, protocol: protocols[protocol] ?? 'tcp', ...(hostIp !== '' && { hostIP: hostIp }) };
}

/** The addresses of a result in any version of the specification, without prefix lengths. */
export function addressesOf(result: unknown): string[] {
  if (!isRecord(result)) return [];
  const { ips, ip4, ip6 } = result;
  const listed: unknown[] = Array.isArray(ips)
    ? ips.map((each: unknown) => (isRecord(each) ? each['address'] : undefined))
    : [ip4, ip6].map((each) => (isRecord(each) ? each['ip'] : undefined));
  return listed.filter((each) => typeof each === 'string').map((each) => each.split('/', 1)[0] ?? '');
}

/** The error text of a failed plugin: the message of its error, else its output. */
export function pluginError(output: { readonly stdout: string; readonly stderr: string }, parsed: unknown): string {
  if (isRecord(parsed) && typeof parsed['msg'] === 'string') {
    const details = parsed['details'];
    return typeof details === 'string' && details !== '' ? `${parsed['msg']}; ${details}` : parsed['msg'];
  }
  return (output.stderr.trim() || output.stdout.trim() || 'it wrote nothing').slice(0, 1024);
}
