import { createHash } from 'node:crypto';
import type { IpFamily } from './ip-family.ts';
import { familyOf, isInPrefix, isSpecialAddress } from './ip-family.ts';
import type { Backend } from './select-backends.ts';
import type { NodeLoadBalancer } from './node-load-balancer.ts';
import type { ExternalAddress, RouteProtocol, ServiceRoute } from './compute-routes.ts';

/**
 * The part of the node's packet filter that this program owns: chains with its prefix, and the jumps to them from the
 * built-in chains.
 */
export interface Ruleset {
  readonly nat: TableRules;
  readonly filter: TableRules;
}

export const tables = ['nat', 'filter'] as const;
export type Table = (typeof tables)[number];

export interface TableRules {
  /** Each rule as `iptables -A CHAIN` takes it, without those two words. */
  readonly chains: ReadonlyMap<string, readonly string[]>;
  readonly jumps: readonly Jump[];
}

export interface Jump {
  readonly from: string;
  /** One of `chains`. */
  readonly to: string;
  /** The match part of the rule, before `-j`. */
  readonly match?: string;
}

export interface RulesFacts {
  /** At most 14 characters; all chains are called `PREFIX-...`. */
  readonly chainPrefix: string;
  /** IPv4 unless given. Each family has rules of its own. */
  readonly family?: IpFamily | undefined;
  /** Addresses of pods: traffic from elsewhere gets the node's address, so that answers come back this way. */
  readonly podCidr: string;
  /** The service range: traffic to an unassigned address is rejected at once. */
  readonly serviceCidr: string;
  /**
   * Bridged packets pass the filter, too. If false, replies between two pods of one bridge bypass it, so all traffic is
   * masqueraded.
   */
  readonly bridgeNetfilter: boolean;
  /** Ports of the node that pods may always reach, despite its firewall: the API server and DNS. */
  readonly admitted?: readonly AdmittedPort[];
  /** Other ports that the node serves on its own addresses: no service can take them. */
  readonly kept?: readonly AdmittedPort[];
  /** The addresses of the node, one per family, that services of the type LoadBalancer get. */
  readonly loadBalancerAddresses?: readonly string[];
  /**
   * Of IPv4: node ports answer on 127.0.0.1, too. Only where the pods' bridge routes loopback addresses
   * (`route_localnet`). Packets that this would admit from the bridge are dropped (CVE-2020-8558).
   */
  readonly loopbackNodePorts?: boolean;
}

export interface AdmittedPort {
  readonly ip: string;
  readonly protocol: 'tcp' | 'udp';
  readonly port: number;
}

/** Length of the digest in the name of a service chain, after the kind. */
export const DIGEST_LENGTH = 12;

/** Matches packets from other hosts to a loopback address, except replies (upstream: the rule of KUBE-FIREWALL). */
const FROM_OUTSIDE = '! -s 127.0.0.0/8 -d 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP';

/** Upstream's mark for packets to masquerade with the node's address. Other programs use it with the same meaning. */
const MARK = '0x4000/0x4000';

/**
 * Whether an address that a service claims from outside is the cluster's own: the node's, a pod's, another service's,
 * or one without other endpoints.
 */
export function isReserved({ ip, isNodes }: ExternalAddress, facts: RulesFacts): boolean {
  const { podCidr, serviceCidr, admitted = [] } = facts;
  if (isNodes === true) return isSpecialAddress(ip);
  const isOwn = isInPrefix(ip, podCidr) || isInPrefix(ip, serviceCidr) || admitted.some((port) => port.ip === ip);
  return isOwn || isSpecialAddress(ip);
}

/** The load balancer of the node, if it has one: each port that the node serves on one of the addresses is reserved. */
export function nodeLoadBalancer({
  loadBalancerAddresses: addresses = [],
  admitted = [],
  kept = [],
}: Pick<RulesFacts, 'loadBalancerAddresses' | 'admitted' | 'kept'>): NodeLoadBalancer | undefined {
  if (addresses.length === 0) return undefined;
  const own = [...admitted, ...kept].filter(({ ip }) => addresses.includes(ip));
  return { addresses, reserved: new Set(own.map(({ port, protocol }) => `${port}/${protocol}`)) };
}

/**
 * Renders routes; the same routes always give the same rules, and the rules of one service depend on that service
 * alone.
 */
export function renderRuleset(routes: readonly ServiceRoute[], facts: RulesFacts): Ruleset {
  const writer = new RulesWriter(facts);
  for (const route of routes) writer.add(route);
  return writer.finish();
}

class RulesWriter {
  readonly #facts: RulesFacts;
  readonly #family: IpFamily;
  readonly #nat = new Map<string, string[]>();
  readonly #services: string[] = [];
  readonly #nodePorts: string[] = [];
  readonly #refused: string[] = [];

  constructor(facts: RulesFacts) {
    const { family = 'IPv4', admitted = [], kept = [] } = facts;
    const ofFamily = ({ ip }: AdmittedPort): boolean => familyOf(ip) === family;
    this.#facts = { ...facts, admitted: admitted.filter(ofFamily), kept: kept.filter(ofFamily) };
    this.#family = family;
  }

  add(route: ServiceRoute): void {
    const internal = route.internalLocal ? route.local : route.all;
    const external = route.externalLocal ? route.local : route.all;
    const comment = `-m comment --comment "${route.name}"`;
    const to = (ip: string): string =>
      `-d ${host(ip)} -p ${route.protocol} -m ${route.protocol} --dport ${route.port} ${comment}`;
    // With policy "Local" and no local endpoint, the packet is dropped, not rejected: another node may have
    // endpoints (as upstream does).
    const verdict = route.all.length > 0 ? '-j DROP' : refusal(route.protocol, this.#family);
    if (internal.length > 0)
      this.#services.push(`${to(route.clusterIp)} -j ${this.#chainOf(route, route.internalLocal ? 'L' : 'S')}`);
    else this.#refused.push(`${to(route.clusterIp)} ${verdict}`);
    for (const { ip, sourceRanges } of route.externalIps.filter((each) => !isReserved(each, this.#facts))) {
      if (external.length === 0) this.#refused.push(`${to(ip)} ${verdict}`);
      else
        for (const from of sourceRanges?.map((range) => `-s ${range} `) ?? [''])
          this.#services.push(`${from}${to(ip)} -j ${this.#externalChain(route)}`);
    }
    if (route.nodePort === undefined) return;
    const toNode = `-p ${route.protocol} -m ${route.protocol} --dport ${route.nodePort} ${comment}`;
    if (external.length > 0) this.#nodePorts.push(`${toNode} -j ${this.#externalChain(route)}`);
    else this.#refused.push(`-m addrtype --dst-type LOCAL ${toNode} ${verdict}`);
  }

  finish(): Ruleset {
    const { chainPrefix, serviceCidr, podCidr } = this.#facts;
    const isIpv4 = this.#family === 'IPv4';
    const loopbackNodePorts = isIpv4 && this.#facts.loopbackNodePorts === true;
    const [services, nodePorts, mark, masquerade, refused] = [
      'SERVICES',
      'NODEPORTS',
      'MARK',
      'POSTROUTING',
      'REJECT',
    ].map((name) => `${chainPrefix}-${name}`) as [string, string, string, string, string];
    const { admitted: ports = [], kept = [] } = this.#facts;
    // Ports that the cluster itself serves on the node come first: no service can take them by address or node port.
    const untouched = [...ports, ...kept].map(
      ({ ip, protocol, port }) => `-d ${host(ip)} -p ${protocol} -m ${protocol} --dport ${port} -j RETURN`,
    );
    this.#nat.set(services, [
      ...untouched,
      ...this.#services,
      ...(loopbackNodePorts ? [`-s 127.0.0.0/8 -d 127.0.0.1/32 -j ${nodePorts}`] : []),
      // Other addresses of the loopback network cannot leave the machine: a node port on them would lead nowhere.
      `! -d ${isIpv4 ? '127.0.0.0/8' : '::1/128'} -m addrtype --dst-type LOCAL -j ${nodePorts}`,
    ]);
    this.#nat.set(nodePorts, this.#nodePorts);
    this.#nat.set(mark, [`-j MARK --set-xmark ${MARK}`]);
    this.#nat.set(masquerade, [
      `-m mark ! --mark ${MARK} -j RETURN`,
      '-j MARK --set-xmark 0x4000/0x0',
      '-j MASQUERADE --random-fully',
    ]);
    const rest = (['tcp', 'udp', 'sctp'] as const).map(
      (protocol) => `-d ${serviceCidr} -p ${protocol} ${refusal(protocol, this.#family)}`,
    );
    const admit = `${chainPrefix}-ADMIT`;
    const admitted = ports.map(
      ({ ip, protocol, port }) =>
        `-s ${podCidr} -d ${host(ip)} -p ${protocol} -m ${protocol} --dport ${port} -j ACCEPT`,
    );
    return {
      nat: {
        chains: this.#nat,
        jumps: [
          { from: 'PREROUTING', to: services },
          { from: 'OUTPUT', to: services },
          { from: 'POSTROUTING', to: masquerade },
        ],
      },
      filter: {
        chains: new Map([
          [refused, [...untouched, ...this.#refused, ...rest]],
          [admit, [...(loopbackNodePorts ? [FROM_OUTSIDE] : []), ...admitted]],
        ]),
        jumps: [
          ...['INPUT', 'FORWARD', 'OUTPUT'].map((from) => ({ from, to: refused, match: '-m conntrack --ctstate NEW' })),
          { from: 'INPUT', to: admit },
        ],
      },
    };
  }

  /** External traffic: masqueraded to any endpoint, or (Local) to this node's endpoints with the client's address. */
  #externalChain(route: ServiceRoute): string {
    const chain = this.#name('X', route);
    if (this.#nat.has(chain)) return chain;
    const rules: string[] = [];
    this.#nat.set(chain, rules);
    if (!route.externalLocal) {
      rules.push(`-j ${this.#markChain}`, `-j ${this.#chainOf(route, 'S')}`);
      return chain;
    }
    // Pods and the node itself are inside the cluster: for them the policy does not count.
    const cluster = this.#chainOf(route, 'S');
    rules.push(
      `-s ${this.#facts.podCidr} -j ${cluster}`,
      `-m addrtype --src-type LOCAL -j ${this.#markChain}`,
      `-m addrtype --src-type LOCAL -j ${cluster}`,
      `-j ${this.#chainOf(route, 'L')}`,
    );
    return chain;
  }

  /** Chooses among all endpoints (S) or those of this node (L). */
  #chainOf(route: ServiceRoute, which: 'S' | 'L'): string {
    const chain = this.#name(which, route);
    if (this.#nat.has(chain)) return chain;
    const rules: string[] = [];
    this.#nat.set(chain, rules);
    const backends = which === 'S' ? route.all : route.local;
    const { podCidr, bridgeNetfilter } = this.#facts;
    const toService = `-d ${host(route.clusterIp)} -p ${route.protocol} -m ${route.protocol} --dport ${route.port}`;
    rules.push(
      bridgeNetfilter ? `! -s ${podCidr} ${toService} -j ${this.#markChain}` : `${toService} -j ${this.#markChain}`,
    );
    const chains = backends.map((backend) => this.#backendChain(route, backend));
    if (route.affinitySeconds !== undefined)
      for (const each of chains)
        rules.push(`-m recent --name ${each} --rcheck --seconds ${route.affinitySeconds} --reap --rsource -j ${each}`);
    chains.forEach((each, index) => {
      const left = chains.length - index;
      rules.push(
        left === 1 ? `-j ${each}` : `-m statistic --mode random --probability ${(1 / left).toFixed(10)} -j ${each}`,
      );
    });
    return chain;
  }

  #backendChain(route: ServiceRoute, { ip, port }: Backend): string {
    const chain = this.#name('E', route, `${ip}:${port}`);
    if (this.#nat.has(chain)) return chain;
    const remember = route.affinitySeconds === undefined ? '' : `-m recent --name ${chain} --set --rsource `;
    // A pod that reaches itself through its service would reply to itself directly, from an address it does not expect.
    this.#nat.set(chain, [
      `-s ${host(ip)} -j ${this.#markChain}`,
      `-p ${route.protocol} -m ${route.protocol} ${remember}-j DNAT --to-destination ${destination(ip, port)}`,
    ]);
    return chain;
  }

  get #markChain(): string {
    return `${this.#facts.chainPrefix}-MARK`;
  }

  /**
   * Names of chains have at most 28 characters, so they contain a digest of the service's name. It has 72 bits,
   * because a name with the digest of another would get its traffic.
   */
  #name(kind: 'S' | 'L' | 'X' | 'E', route: ServiceRoute, backend = ''): string {
    const digest = createHash('sha256')
      .update(`${route.name}/${route.protocol}/${backend}`)
      .digest('base64url')
      .slice(0, DIGEST_LENGTH);
    return `${this.#facts.chainPrefix}-${kind}${digest}`;
  }
}

function refusal(protocol: RouteProtocol, family: IpFamily): string {
  if (protocol === 'tcp') return '-j REJECT --reject-with tcp-reset';
  return `-j REJECT --reject-with ${family === 'IPv4' ? 'icmp-port-unreachable' : 'icmp6-port-unreachable'}`;
}

const host = (ip: string): string => `${ip}/${familyOf(ip) === 'IPv4' ? 32 : 128}`;
const destination = (ip: string, port: number): string =>
  familyOf(ip) === 'IPv4' ? `${ip}:${port}` : `[${ip}]:${port}`;
