import { parseArgs } from 'node:util';
import { errorMessage } from '../../base/errors.ts';
import type { ParsedArguments } from '../../base/run-main.ts';
import { policyTable } from '../network-policy/policy-enforcer.ts';
import type { AdmittedPort } from '../service-routing/rules-facts.ts';
import type { IpFamily } from '../service-routing/ip-family.ts';
import { addressOf, familyOf, rangeOf } from '../service-routing/ip-family.ts';
import type { OverlayOptions } from '../overlay/overlay-manager.ts';
import type { DnsOptions } from './dns-flags.ts';
import { readDnsOptions } from './dns-flags.ts';
import { readOverlayOptions } from './overlay-flags.ts';
import { isPort } from '../service-routing/select-backends.ts';

/** The ranges of one IP family. */
export interface FamilyRanges {
  readonly family: IpFamily;
  readonly podCidr: string;
  readonly serviceCidr: string;
}

export interface RoutingOptions {
  readonly chainPrefix: string;
  /** The ranges, one entry per family. */
  readonly ranges: readonly FamilyRanges[];
  readonly admitted: readonly AdmittedPort[];
  readonly kept: readonly AdmittedPort[];
  /** The addresses for services of type LoadBalancer; if it is empty, they get none from this node. */
  readonly loadBalancerAddresses: readonly string[];
  readonly loopbackNodePorts: boolean;
  readonly zone: string | undefined;
  readonly backend: 'iptables' | 'nftables';
}

export interface NodeNetworkOptions {
  readonly kubeconfig: string;
  readonly nodeName: string;
  /** The options of the name service; undefined if it is off. */
  readonly dns: DnsOptions | undefined;
  /** The options of the network between nodes; undefined if it is off. */
  readonly overlay: OverlayOptions | undefined;
  /** The options of service routing; undefined if it is off. */
  readonly routing: RoutingOptions | undefined;
  /** The name of the nftables table. The table of an earlier run is removed when policies are not enforced. */
  readonly policyTable: string;
  /** The options of network policies; undefined if they are not enforced. */
  readonly policy: { readonly podBridge: string | undefined } | undefined;
}

export const USAGE = `usage: kubelet-node-network --kubeconfig FILE --node-name NAME [FLAGS]

Cluster DNS, service routing and network policies on one node, for a cluster without CoreDNS, kube-proxy and a network plugin for policies.

  --kubeconfig FILE        kubeconfig of the API server; lists and watches services, endpointslices and namespaces, and for policies
                           networkpolicies and pods; with a load balancer it updates the status of services
  --node-name NAME         this node, whose endpoints are local
  --dns-listen IP:PORT     serve DNS on this address, repeatable (default: no DNS)
  --dns-local-address IP   serve DNS on port 53 of this address too, for pods of this node; it is put on a device of its own, repeatable
  --dns-local-device NAME  name of that device (default nodelocaldns)
  --dns-upstream IP[:PORT] name server for all other names, repeatable (default: those of --resolv-conf)
  --dns-stub-domain DOMAIN=IP[:PORT],...
                           name servers for the names of a domain, repeatable
  --dns-cache-seconds N    longest time to cache answers of other name servers (default 30; 0: no cache)
  --cluster-domain NAME    DNS zone of the cluster (default cluster.local)
  --resolv-conf FILE       name servers for all other names (default /etc/resolv.conf)
  --pod-cidr RANGE[,RANGE]
                           pod addresses of this node, one range per IP family; with --service-cidr: route services
  --service-cidr RANGE[,RANGE]
                           service addresses, of the same families
  --node-zone NAME         zone of the node (its label topology.kubernetes.io/zone), for topology hints of endpoints
  --service-backend NAME   iptables (default) or nftables: how services are routed
  --admit IP:PORT/PROTO    let pods reach this port of the node although its firewall drops the traffic; tcp or udp, [IP] for IPv6, repeatable
  --keep IP:PORT/PROTO     port that the node itself serves and no service may take; repeatable
  --load-balancer-address IP[,IP]
                           addresses of the node, one per IP family, that services of the type LoadBalancer get (default: none)
  --loopback-node-ports    IPv4 node ports answer on 127.0.0.1, too; needs net.ipv4.conf.BRIDGE.route_localnet=1
  --overlay vxlan|host-gw|observe
                           reach the pods of other nodes, as flannel's kube subnet manager does; observe: without being a node
  --cluster-cidr RANGE[,RANGE]
                           ranges of all pods, one per IP family; needed with --overlay
  --public-ip IP[,IP]      addresses by which other nodes reach this one (default: the node's internal addresses)
  --overlay-vni NUMBER     VXLAN network identifier (default 1)
  --overlay-port NUMBER    UDP port of VXLAN (default 8472)
  --subnet-file FILE       written for other programs (default /run/flannel/subnet.env; empty: not written)
  --cni-config FILE        CNI configuration to write (default: none is written)
  --cni-bridge NAME        the bridge of the pods in it (default cni0)
  --cni-network NAME       the name of the network in it (default cbr0)
  --cni-data-dir DIR       where host-local keeps its addresses (default: its own)
  --overlay-chain-prefix NAME
                           prefix of the iptables chains of the overlay (default KTO)
  --network-policy         enforce NetworkPolicies with nftables
  --pod-bridge NAME        bridge of the pods; policies then also block link-local addresses (fe80::/10) between them
  --chain-prefix NAME      prefix of the iptables chains and of tables of nftables, at most 14 characters (default KTS)
`;

const text = { type: 'string' } as const;
const flag = { type: 'boolean', default: false } as const;
const flagTypes = {
  kubeconfig: text,
  'node-name': text,
  'dns-listen': { type: 'string', multiple: true, default: [] as string[] },
  'dns-local-address': { type: 'string', multiple: true, default: [] as string[] },
  'dns-local-device': text,
  'dns-upstream': { type: 'string', multiple: true, default: [] as string[] },
  'dns-stub-domain': { type: 'string', multiple: true, default: [] as string[] },
  'dns-cache-seconds': text,
  'cluster-domain': text,
  'resolv-conf': text,
  'pod-cidr': text,
  'service-cidr': text,
  'chain-prefix': text,
  'service-backend': text,
  'node-zone': text,
  admit: { type: 'string', multiple: true, default: [] as string[] },
  keep: { type: 'string', multiple: true, default: [] as string[] },
  'load-balancer-address': text,
  'loopback-node-ports': flag,
  'network-policy': flag,
  'pod-bridge': text,
  overlay: text,
  'cluster-cidr': text,
  'public-ip': text,
  'overlay-vni': text,
  'overlay-port': text,
  'subnet-file': text,
  'cni-config': text,
  'cni-bridge': text,
  'cni-network': text,
  'cni-data-dir': text,
  'overlay-chain-prefix': text,
  help: flag,
} as const;

export function parseNodeNetwork(args: readonly string[]): ParsedArguments<NodeNetworkOptions> {
  try {
    const { values } = parseArgs({ args: [...args], options: flagTypes });
    if (values.help === true) return { kind: 'help' };
    const {
      kubeconfig,
      'node-name': nodeName,
      'pod-cidr': podCidrs,
      'service-cidr': serviceCidrs,
      'chain-prefix': chainPrefix = 'KTS',
      'service-backend': backend = 'iptables',
    } = values;
    if (backend !== 'iptables' && backend !== 'nftables')
      return wrong(`--service-backend: ${JSON.stringify(backend)} is neither iptables nor nftables`);
    if (kubeconfig === undefined || nodeName === undefined) return wrong('--kubeconfig and --node-name are required');
    if ((podCidrs === undefined) !== (serviceCidrs === undefined))
      return wrong('--pod-cidr and --service-cidr must be set together');
    const ranges = readRanges(podCidrs ?? '', serviceCidrs ?? '');
    if (typeof ranges === 'string') return wrong(ranges);
    const overlay = readOverlayOptions(values, nodeName);
    if (typeof overlay === 'string') return wrong(overlay);
    const dns = readDnsOptions(values);
    if (typeof dns === 'string') return wrong(dns);
    if (dns === undefined && ranges.length === 0 && !values['network-policy'] && overlay === undefined)
      return wrong('set --dns-listen, --pod-cidr, --network-policy or --overlay: otherwise there is nothing to do');
    const podBridge = values['pod-bridge'];
    if (podBridge !== undefined && !/^[A-Za-z0-9_.-]{1,15}$/.test(podBridge))
      return wrong(`--pod-bridge: ${JSON.stringify(podBridge)} is not the name of a network interface`);
    if (!/^[A-Za-z][A-Za-z0-9-]{0,13}$/.test(chainPrefix))
      return wrong(
        `--chain-prefix: ${JSON.stringify(chainPrefix)} is not a name of at most 14 letters, digits and dashes`,
      );
    const routing = readRouting(values, { ranges, chainPrefix, backend });
    if (typeof routing === 'string') return wrong(routing);
    return {
      kind: 'run',
      options: {
        kubeconfig,
        nodeName,
        dns,
        overlay,
        routing,
        policyTable: policyTable(chainPrefix),
        policy: values['network-policy'] ? { podBridge } : undefined,
      },
    };
  } catch (error) {
    return wrong(errorMessage(error));
  }
}

interface RoutingFlags {
  readonly admit: readonly string[];
  readonly keep: readonly string[];
  readonly 'load-balancer-address'?: Parameters<typeof balancerAddresses>[0];
  readonly 'loopback-node-ports': boolean;
  readonly 'node-zone'?: string | undefined;
}

/** Reads the options of routing. A string is the error. */
function readRouting(
  values: RoutingFlags,
  base: Pick<RoutingOptions, 'ranges' | 'chainPrefix' | 'backend'>,
): RoutingOptions | undefined | string {
  const [admitted, kept] = [values.admit, values.keep].map((given) => given.flatMap((each) => nodePortOf(each) ?? []));
  if (admitted?.length !== values.admit.length || kept?.length !== values.keep.length)
    return '--admit and --keep: not of the form IP:PORT/tcp or IP:PORT/udp';
  const loadBalancerAddresses = balancerAddresses(values['load-balancer-address'], base.ranges);
  if (typeof loadBalancerAddresses === 'string') return loadBalancerAddresses;
  if (base.ranges.length === 0) return undefined;
  return {
    ...base,
    admitted,
    kept,
    loadBalancerAddresses,
    loopbackNodePorts: values['loopback-node-ports'],
    zone: values['node-zone'],
  };
}

const wrong = (error: string): ParsedArguments<NodeNetworkOptions> => ({ kind: 'error', errors: [error] });

/** Reads the ranges; none if both flags are empty. A string is the error. */
function readRanges(podCidrs: string, serviceCidrs: string): readonly FamilyRanges[] | string {
  const [pods, services] = [podCidrs, serviceCidrs].map((list) => list.split(',').filter((each) => each !== ''));
  const ranges: FamilyRanges[] = [];
  for (const [index, given] of (pods ?? []).entries()) {
    const family = familyOf(given);
    const [podCidr, serviceCidr] = [given, services?.[index] ?? ''].map((range) => rangeOf(range, family));
    if (podCidr === undefined)
      return `--pod-cidr: ${JSON.stringify(given)} is not a range such as 10.244.0.0/16 or fd00:10:244::/56`;
    if (serviceCidr === undefined)
      return `--service-cidr: ${JSON.stringify(services?.[index] ?? '')} is not an ${family} range, as --pod-cidr has one in this place`;
    if (ranges.some((each) => each.family === family)) return `--pod-cidr: two ranges of ${family}`;
    ranges.push({ family, podCidr, serviceCidr });
  }
  return services?.length === pods?.length ? ranges : '--service-cidr: more ranges than --pod-cidr';
}

/** Reads the addresses of the load balancer. A string is the error. */
function balancerAddresses(given: string | undefined, ranges: readonly FamilyRanges[]): readonly string[] | string {
  const addresses: string[] = [];
  for (const text of given?.split(',') ?? []) {
    const ip = addressOf(text, familyOf(text));
    if (ip === undefined) return `--load-balancer-address: ${JSON.stringify(text)} is not an IP address`;
    if (ranges.length > 0 && !ranges.some(({ family }) => family === familyOf(ip)))
      return `--load-balancer-address: ${ip} is of no family of --service-cidr`;
    if (addresses.some((each) => familyOf(each) === familyOf(ip)))
      return `--load-balancer-address: two addresses of ${familyOf(ip)}`;
    addresses.push(ip);
  }
  return addresses;
}

function nodePortOf(text: string): AdmittedPort | undefined {
  const [, six, four = '', port = '', protocol] =
    /^(?:\[([\da-fA-F:.]+)\]|([\d.]+)):(\d{1,5})\/(tcp|udp)$/.exec(text) ?? [];
  const ip = six === undefined ? addressOf(four, 'IPv4') : addressOf(six, 'IPv6');
  return ip !== undefined && isPort(Number(port)) && (protocol === 'tcp' || protocol === 'udp')
    ? { ip, protocol, port: Number(port) }
    : undefined;
}
