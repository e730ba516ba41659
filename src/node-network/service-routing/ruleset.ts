import type { ServiceRoute } from './compute-routes.ts';
import type { IpFamily } from './ip-family.ts';
import { familyOf } from './ip-family.ts';
import type { NodeLoadBalancer } from './node-load-balancer.ts';
import type { RouteRules } from './route-rules.ts';
import { host, refusal, renderRoute } from './route-rules.ts';
import type { AdmittedPort, RulesFacts } from './rules-facts.ts';

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
  /** The rules, each as in `iptables -A CHAIN`, without those two words. */
  readonly chains: ReadonlyMap<string, readonly string[]>;
  readonly jumps: readonly Jump[];
}

export interface Jump {
  readonly from: string;
  /** The name of one of `chains`. */
  readonly to: string;
  /** The match part of the rule, before `-j`. */
  readonly match?: string;
}

/** Matches packets from other hosts to a loopback address, except replies (upstream: the rule of KUBE-FIREWALL). */
const FROM_OUTSIDE = '! -s 127.0.0.0/8 -d 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP';

/** Upstream's mark for packets to masquerade with the node's address. Other programs use it with the same meaning. */
const MARK = '0x4000/0x4000';

/**
 * Returns the load balancer of the node, if it has one. Each port that the node serves on one of the addresses is
 * reserved.
 */
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
 * Renders routes. The same routes always give the same rules, and the rules of one service depend only on that service.
 */
export const renderRuleset = (routes: readonly ServiceRoute[], facts: RulesFacts): Ruleset =>
  new RulesetRenderer(facts).render(routes);

/** Caches the rules of each route object, so that a rendering is cheap if few routes are new objects. */
export class RulesetRenderer {
  readonly #facts: RulesFacts;
  readonly #family: IpFamily;
  readonly #rendered = new WeakMap<ServiceRoute, RouteRules>();

  constructor(facts: RulesFacts) {
    const { family = 'IPv4', admitted = [], kept = [] } = facts;
    const ofFamily = ({ ip }: AdmittedPort): boolean => familyOf(ip) === family;
    this.#facts = { ...facts, admitted: admitted.filter(ofFamily), kept: kept.filter(ofFamily) };
    this.#family = family;
  }

  render(routes: readonly ServiceRoute[]): Ruleset {
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
    // Ports that the cluster itself serves on the node come first, so that no service can claim them by address or node
    // port.
    const untouched = [...ports, ...kept].map(
      ({ ip, protocol, port }) => `-d ${host(ip)} -p ${protocol} -m ${protocol} --dport ${port} -j RETURN`,
    );
    const rules = routes.map((route) => this.#rulesOf(route));
    const nat = new Map<string, readonly string[]>();
    for (const { chains } of rules) for (const [name, own] of chains) if (!nat.has(name)) nat.set(name, own);
    nat.set(services, [
      ...untouched,
      ...rules.flatMap((each) => each.services),
      ...(loopbackNodePorts ? [`-s 127.0.0.0/8 -d 127.0.0.1/32 -j ${nodePorts}`] : []),
      // Other loopback addresses cannot leave the machine, so node ports on them would lead nowhere.
      `! -d ${isIpv4 ? '127.0.0.0/8' : '::1/128'} -m addrtype --dst-type LOCAL -j ${nodePorts}`,
    ]);
    nat.set(
      nodePorts,
      rules.flatMap((each) => each.nodePorts),
    );
    nat.set(mark, [`-j MARK --set-xmark ${MARK}`]);
    nat.set(masquerade, [
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
        chains: nat,
        jumps: [
          { from: 'PREROUTING', to: services },
          { from: 'OUTPUT', to: services },
          { from: 'POSTROUTING', to: masquerade },
        ],
      },
      filter: {
        chains: new Map([
          [refused, [...untouched, ...rules.flatMap((each) => each.refused), ...rest]],
          [admit, [...(loopbackNodePorts ? [FROM_OUTSIDE] : []), ...admitted]],
        ]),
        jumps: [
          ...['INPUT', 'FORWARD', 'OUTPUT'].map((from) => ({ from, to: refused, match: '-m conntrack --ctstate NEW' })),
          { from: 'INPUT', to: admit },
        ],
      },
    };
  }

  #rulesOf(route: ServiceRoute): RouteRules {
    const known = this.#rendered.get(route);
    if (known !== undefined) return known;
    const rules = renderRoute(route, this.#facts);
    this.#rendered.set(route, rules);
    return rules;
  }
}
