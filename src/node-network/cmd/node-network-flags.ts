import { parseArgs } from 'node:util';
import { errorMessage } from '../../base/errors.ts';
import type { ParsedArguments } from '../../base/run-main.ts';
import { policyTable } from '../network-policy/policy-enforcer.ts';
import type { AdmittedPort } from '../service-routing/ruleset.ts';
import { rangeOf } from '../service-routing/ip-family.ts';
import { isIpv4, isIpv4Range } from '../service-routing/ipv4-range.ts';
import type { OverlayOptions } from '../overlay/overlay-manager.ts';
import type { DnsOptions } from './dns-flags.ts';
import { readDnsOptions } from './dns-flags.ts';
import { readOverlayOptions } from './overlay-flags.ts';
import { isPort } from '../service-routing/select-backends.ts';

export interface NodeNetworkOptions {
  readonly kubeconfig: string;
  readonly nodeName: string;
  /** Undefined: no name service. */
  readonly dns: DnsOptions | undefined;
  /** Undefined: no network between nodes. */
  readonly overlay: OverlayOptions | undefined;
  /** Undefined: no service routing. */
  readonly routing:
    | {
        readonly chainPrefix: string;
        readonly podCidr: string;
        readonly serviceCidr: string;
        readonly admitted: readonly AdmittedPort[];
        readonly kept: readonly AdmittedPort[];
        /** Undefined: services of the type LoadBalancer get no address here. */
        readonly loadBalancerAddress: string | undefined;
        readonly loopbackNodePorts: boolean;
        readonly zone: string | undefined;
        readonly backend: 'iptables' | 'nftables';
        /** Of IPv6, with nftables alone. */
        readonly second: { readonly podCidr: string; readonly serviceCidr: string } | undefined;
      }
    | undefined;
  /** Of nftables; one that an earlier run left is removed when policies are not enforced. */
  readonly policyTable: string;
  /** Undefined: network policies are not enforced. */
  readonly policy: { readonly podBridge: string | undefined } | undefined;
}

export const USAGE = `usage: kubelet-node-network --kubeconfig FILE --node-name NAME [FLAGS]

Cluster DNS, service routing and network policies on one node, for a cluster without CoreDNS, kube-proxy and a network plugin for policies.

  --kubeconfig FILE        kubeconfig of the API server; lists and watches services, endpointslices and namespaces, and for policies
                           networkpolicies and pods; with a load balancer it updates the status of services
  --node-name NAME         this node, whose endpoints are local
  --dns-listen IP:PORT     serve DNS on this address (default: no DNS)
  --dns-local-address IP   serve DNS on port 53 of this address too, for pods of this node; it is put on a device of its own
  --dns-local-device NAME  name of that device (default nodelocaldns)
  --dns-upstream IP[:PORT] name server for all other names, repeatable (default: those of --resolv-conf)
  --dns-stub-domain DOMAIN=IP[:PORT],...
                           name servers for the names of a domain, repeatable
  --dns-cache-seconds N    longest time to cache answers of other name servers (default 30; 0: no cache)
  --cluster-domain NAME    DNS zone of the cluster (default cluster.local)
  --resolv-conf FILE       name servers for all other names (default /etc/resolv.conf)
  --pod-cidr RANGE[,RANGE6]
                           pod addresses of this node; with --service-cidr: route services
  --service-cidr RANGE[,RANGE6]
                           service addresses; the second range is of IPv6, and with nftables alone
  --node-zone NAME         zone of the node (its label topology.kubernetes.io/zone), for topology hints of endpoints
  --service-backend NAME   iptables (default) or nftables: how services are routed
  --admit IP:PORT/PROTO    let pods reach this port of the node although its firewall drops the traffic; tcp or udp, repeatable
  --keep IP:PORT/PROTO     port that the node itself serves and no service may take; repeatable
  --load-balancer-address IP
                           address of the node that services of the type LoadBalancer get (default: none)
  --loopback-node-ports    node ports answer on 127.0.0.1, too; needs net.ipv4.conf.BRIDGE.route_localnet=1
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
  'dns-listen': text,
  'dns-local-address': text,
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
    const [podCidr, podCidr6, ...morePods] = podCidrs?.split(',') ?? [];
    const [serviceCidr, serviceCidr6, ...moreServices] = serviceCidrs?.split(',') ?? [];
    if (backend !== 'iptables' && backend !== 'nftables')
      return wrong(`--service-backend: ${JSON.stringify(backend)} is neither iptables nor nftables`);
    const second = secondRanges(podCidr6, serviceCidr6);
    if (
      second === 'wrong' ||
      morePods.length + moreServices.length > 0 ||
      (second !== undefined && backend === 'iptables')
    )
      return wrong(
        '--pod-cidr and --service-cidr: a second range of both is of IPv6, and needs --service-backend=nftables',
      );
    if (kubeconfig === undefined || nodeName === undefined) return wrong('--kubeconfig and --node-name are required');
    if ((podCidr === undefined) !== (serviceCidr === undefined))
      return wrong('--pod-cidr and --service-cidr must be set together');
    const overlay = readOverlayOptions(values, nodeName);
    if (typeof overlay === 'string') return wrong(overlay);
    const dns = readDnsOptions(values);
    if (typeof dns === 'string') return wrong(dns);
    if (dns === undefined && podCidr === undefined && !values['network-policy'] && overlay === undefined)
      return wrong('set --dns-listen, --pod-cidr, --network-policy or --overlay: otherwise there is nothing to do');
    const podBridge = values['pod-bridge'];
    if (podBridge !== undefined && !/^[A-Za-z0-9_.-]{1,15}$/.test(podBridge))
      return wrong(`--pod-bridge: ${JSON.stringify(podBridge)} is not the name of a network interface`);
    for (const [flag, range] of [
      ['pod-cidr', podCidr],
      ['service-cidr', serviceCidr],
    ] as const)
      if (range !== undefined && !isIpv4Range(range))
        return wrong(`--${flag}: ${JSON.stringify(range)} is not an IPv4 range such as 10.96.0.0/16`);
    if (!/^[A-Za-z][A-Za-z0-9-]{0,13}$/.test(chainPrefix))
      return wrong(
        `--chain-prefix: ${JSON.stringify(chainPrefix)} is not a name of at most 14 letters, digits and dashes`,
      );
    const [admitted, kept] = [values.admit, values.keep].map((given) =>
      given.flatMap((each) => nodePortOf(each) ?? []),
    );
    if (admitted?.length !== values.admit.length || kept?.length !== values.keep.length)
      return wrong('--admit and --keep: not of the form IP:PORT/tcp or IP:PORT/udp');
    const loadBalancerAddress = values['load-balancer-address'];
    if (loadBalancerAddress !== undefined && !isIpv4(loadBalancerAddress))
      return wrong(`--load-balancer-address: ${JSON.stringify(loadBalancerAddress)} is not an IPv4 address`);
    const routing =
      podCidr === undefined || serviceCidr === undefined
        ? undefined
        : {
            chainPrefix,
            podCidr,
            serviceCidr,
            admitted,
            kept,
            loadBalancerAddress,
            loopbackNodePorts: values['loopback-node-ports'],
            zone: values['node-zone'],
            backend: backend === 'nftables' ? ('nftables' as const) : ('iptables' as const),
            second,
          };
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

const wrong = (error: string): ParsedArguments<NodeNetworkOptions> => ({ kind: 'error', errors: [error] });

function secondRanges(
  podCidr: string | undefined,
  serviceCidr: string | undefined,
): { readonly podCidr: string; readonly serviceCidr: string } | 'wrong' | undefined {
  if (podCidr === undefined && serviceCidr === undefined) return undefined;
  const [pods, services] = [podCidr, serviceCidr].map((range) => rangeOf(range ?? '', 'IPv6'));
  return pods === undefined || services === undefined ? 'wrong' : { podCidr: pods, serviceCidr: services };
}

function nodePortOf(text: string): AdmittedPort | undefined {
  const [, ip = '', port = '', protocol] = /^([\d.]+):(\d{1,5})\/(tcp|udp)$/.exec(text) ?? [];
  return isIpv4(ip) && isPort(Number(port)) && (protocol === 'tcp' || protocol === 'udp')
    ? { ip, protocol, port: Number(port) }
    : undefined;
}
