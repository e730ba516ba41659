/**
 * The fixed part of the table of services, through which packets enter it. Addresses and node ports are looked up in
 * maps, so the cost of a packet does not depend on the number of services.
 */
import type { NftChain, NftSet } from '../nftables/table-draft.ts';
import type { IpFamily } from './ip-family.ts';
import { nftAddress, nftWord } from './ip-family.ts';
import type { AdmittedPort } from './rules-facts.ts';

export interface NftServiceFacts {
  readonly family: IpFamily;
  /** The addresses of pods. Traffic from elsewhere gets the node's address, so that answers return through the node. */
  readonly podCidr: string;
  /** The service range. Traffic to an unassigned address is refused immediately. */
  readonly serviceCidr: string;
  /**
   * Whether bridged packets pass the filter. If not, all traffic is masqueraded, because replies between two pods of
   * one bridge would bypass the rules.
   */
  readonly bridgeNetfilter: boolean;
  /** Addresses and ports that the node itself serves. No service can use them. */
  readonly kept: readonly AdmittedPort[];
  /** Whether node ports answer on loopback addresses, only for IPv4. */
  readonly loopbackNodePorts: boolean;
}

/** Upstream's mark for packets to masquerade with the node's address. */
export const MARK = '0x4000';
export const setNames = {
  /** Maps address, protocol and port of a service to a verdict. */
  services: 'services',
  nodePorts: 'node-ports',
  /** Services without endpoints: refused, or dropped if another node may have some. */
  closed: 'closed-services',
  closedNodePorts: 'closed-node-ports',
  /** Maps the same and a number to an endpoint. */
  backends: 'backends',
  nodeBackends: 'node-backends',
  /** The endpoints of this node, for external traffic that must stay on it. */
  localBackends: 'local-backends',
  localNodeBackends: 'local-node-backends',
  /** Pairs of an endpoint with itself, for a pod that reaches itself through a service. */
  hairpins: 'hairpins',
  kept: 'kept-ports',
} as const;

export function baseSets(family: IpFamily): ReadonlyMap<string, NftSet> {
  const [word, address] = [nftWord[family], nftAddress[family]];
  const tuple = `${word} daddr . meta l4proto . th dport`;
  const endpoint = `${word} daddr . th dport`;
  const map = (body: string): NftSet => ({ kind: 'map', body });
  return new Map<string, NftSet>([
    [setNames.services, map(`type ${address} . inet_proto . inet_service : verdict;`)],
    [setNames.nodePorts, map('type inet_proto . inet_service : verdict;')],
    [setNames.closed, map(`type ${address} . inet_proto . inet_service : verdict;`)],
    [setNames.closedNodePorts, map('type inet_proto . inet_service : verdict;')],
    [setNames.backends, map(`typeof ${tuple} . numgen random mod 65536 : ${endpoint};`)],
    [setNames.localBackends, map(`typeof ${tuple} . numgen random mod 65536 : ${endpoint};`)],
    [setNames.nodeBackends, map(`typeof meta l4proto . th dport . numgen random mod 65536 : ${endpoint};`)],
    [setNames.localNodeBackends, map(`typeof meta l4proto . th dport . numgen random mod 65536 : ${endpoint};`)],
    [setNames.hairpins, { kind: 'set', body: `type ${address} . ${address};` }],
    [setNames.kept, { kind: 'set', body: `type ${address} . inet_proto . inet_service;` }],
  ]);
}

function routeRules(family: NftServiceFacts['family'], isLoopback: boolean): readonly string[] {
  const word = nftWord[family];
  const tuple = `${word} daddr . meta l4proto . th dport`;
  const loopback = family === 'IPv4' ? '127.0.0.0/8' : '::1/128';
  return [
    `${tuple} @${setNames.kept} return`,
    `${tuple} vmap @${setNames.services}`,
    ...(isLoopback
      ? [`ip saddr 127.0.0.0/8 ip daddr 127.0.0.1 meta l4proto . th dport vmap @${setNames.nodePorts}`]
      : []),
    // Other loopback addresses cannot leave the machine, so node ports on them would lead nowhere.
    `${word} daddr ${loopback} return`,
    `fib daddr type local meta l4proto . th dport vmap @${setNames.nodePorts}`,
  ];
}

export function baseChains(facts: NftServiceFacts): ReadonlyMap<string, NftChain> {
  const { family, serviceCidr, loopbackNodePorts } = facts;
  const word = nftWord[family];
  const tuple = `${word} daddr . meta l4proto . th dport`;
  const nat = (hook: string, priority: number, rules: readonly string[]): NftChain => ({
    head: `type nat hook ${hook} priority ${priority}; policy accept;`,
    rules,
  });
  const filter = (hook: string, rules: readonly string[]): NftChain => ({
    head: `type filter hook ${hook} priority -1; policy accept;`,
    rules,
  });
  const isLoopback = loopbackNodePorts && family === 'IPv4';
  return new Map([
    ['route', { rules: routeRules(family, isLoopback) }],
    ['refuse', { rules: ['meta l4proto tcp reject with tcp reset', 'reject'] }],
    [
      'closed',
      {
        rules: [
          `${tuple} @${setNames.kept} return`,
          `${tuple} vmap @${setNames.closed}`,
          `fib daddr type local meta l4proto . th dport vmap @${setNames.closedNodePorts}`,
          `${word} daddr ${serviceCidr} meta l4proto { tcp, udp, sctp } goto refuse`,
        ],
      },
    ],
    ['prerouting', nat('prerouting', -100, ['jump route'])],
    ['output', nat('output', -100, ['jump route'])],
    [
      'postrouting',
      nat('postrouting', 100, [
        `ct status dnat ${word} saddr . ${word} daddr @${setNames.hairpins} masquerade`,
        `meta mark and ${MARK} == ${MARK} masquerade`,
      ]),
    ],
    [
      'closed-input',
      filter('input', [
        // Packets from other hosts to a loopback address, except replies (CVE-2020-8558).
        ...(isLoopback ? ['ip saddr != 127.0.0.0/8 ip daddr 127.0.0.0/8 ct state new ct status != dnat drop'] : []),
        'ct state new jump closed',
      ]),
    ],
    ['closed-forward', filter('forward', ['ct state new jump closed'])],
    ['closed-output', filter('output', ['ct state new jump closed'])],
  ]);
}
