import { parseArgs } from 'node:util';
import type { AdmittedPort } from '../service-routing/ruleset.ts';
import { isIpv4, isPort } from '../service-routing/select-backends.ts';

export interface NodeNetworkOptions {
  readonly kubeconfig: string;
  readonly nodeName: string;
  /** Undefined: no name service. */
  readonly dns:
    | { readonly address: string; readonly port: number; readonly domain: string; readonly resolvConf: string }
    | undefined;
  /** Undefined: no service routing. */
  readonly routing:
    | {
        readonly chainPrefix: string;
        readonly podCidr: string;
        readonly serviceCidr: string;
        readonly admitted: readonly AdmittedPort[];
      }
    | undefined;
}

export type ParsedNodeNetwork =
  | { readonly kind: 'run'; readonly options: NodeNetworkOptions }
  | { readonly kind: 'help' }
  | { readonly kind: 'error'; readonly error: string };

export const usage = `usage: kubelet-node-network --kubeconfig FILE --node-name NAME [FLAGS]

Name service and service routing of one node, for a cluster that has neither CoreDNS nor kube-proxy.

  --kubeconfig FILE        how to reach the API server; services, endpointslices and namespaces are listed and watched
  --node-name NAME         whose endpoints are local
  --dns-listen IP:PORT     answer DNS here; absent: no name service
  --cluster-domain NAME    zone of the cluster (default cluster.local)
  --resolv-conf FILE       names the servers that are asked for all other names (default /etc/resolv.conf)
  --pod-cidr RANGE         addresses of this node's pods; with --service-cidr: route services by iptables
  --service-cidr RANGE     addresses of services
  --admit IP:PORT/PROTO    let pods reach this port of the node whatever its firewall says; tcp or udp, as often as wanted
  --chain-prefix NAME      of the chains in iptables, at most 14 characters (default KTS)
`;

export function parseNodeNetwork(args: readonly string[]): ParsedNodeNetwork {
  try {
    const text = { type: 'string' } as const;
    const { values } = parseArgs({
      args: [...args],
      options: {
        kubeconfig: text,
        'node-name': text,
        'dns-listen': text,
        'cluster-domain': text,
        'resolv-conf': text,
        'pod-cidr': text,
        'service-cidr': text,
        'chain-prefix': text,
        admit: { type: 'string', multiple: true, default: [] },
        help: { type: 'boolean' },
      },
    });
    if (values.help === true) return { kind: 'help' };
    const {
      kubeconfig,
      'node-name': nodeName,
      'dns-listen': listen,
      'pod-cidr': podCidr,
      'service-cidr': serviceCidr,
      'chain-prefix': chainPrefix = 'KTS',
    } = values;
    if (kubeconfig === undefined || nodeName === undefined) return wrong('--kubeconfig and --node-name are needed');
    if ((podCidr === undefined) !== (serviceCidr === undefined))
      return wrong('--pod-cidr and --service-cidr go together');
    if (listen === undefined && podCidr === undefined)
      return wrong('neither --dns-listen nor --pod-cidr: nothing to do');
    for (const [flag, range] of [
      ['pod-cidr', podCidr],
      ['service-cidr', serviceCidr],
    ] as const)
      if (range !== undefined && !isRange(range))
        return wrong(`--${flag}: ${JSON.stringify(range)} is no IPv4 range such as 10.96.0.0/16`);
    if (!/^[A-Za-z][A-Za-z0-9-]{0,13}$/.test(chainPrefix))
      return wrong(
        `--chain-prefix: ${JSON.stringify(chainPrefix)} is no name of at most 14 letters, digits and dashes`,
      );
    const [, address = '', port = ''] = /^(.*):(\d{1,5})$/.exec(listen ?? '') ?? [];
    if (listen !== undefined && (!isIpv4(address) || Number(port) > 65_535))
      return wrong(`--dns-listen: ${JSON.stringify(listen)} is no IP:PORT`);
    const admitted = values.admit.flatMap((each) => admittedPort(each) ?? []);
    if (admitted.length < values.admit.length) return wrong('--admit: not of the form IP:PORT/tcp or IP:PORT/udp');
    const dns = {
      address,
      port: Number(port),
      domain: values['cluster-domain'] ?? 'cluster.local',
      resolvConf: values['resolv-conf'] ?? '/etc/resolv.conf',
    };
    const routing =
      podCidr === undefined || serviceCidr === undefined ? undefined : { chainPrefix, podCidr, serviceCidr, admitted };
    return { kind: 'run', options: { kubeconfig, nodeName, dns: listen === undefined ? undefined : dns, routing } };
  } catch (error) {
    return wrong(error instanceof Error ? error.message : String(error));
  }
}

const wrong = (error: string): ParsedNodeNetwork => ({ kind: 'error', error });

function admittedPort(text: string): AdmittedPort | undefined {
  const [, ip = '', port = '', protocol] = /^([\d.]+):(\d{1,5})\/(tcp|udp)$/.exec(text) ?? [];
  return isIpv4(ip) && isPort(Number(port)) && (protocol === 'tcp' || protocol === 'udp')
    ? { ip, protocol, port: Number(port) }
    : undefined;
}

function isRange(range: string): boolean {
  const [ip = '', length = ''] = range.split('/');
  return isIpv4(ip) && /^\d{1,2}$/.test(length) && Number(length) <= 32;
}
