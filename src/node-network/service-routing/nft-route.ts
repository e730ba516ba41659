/** The nftables chains and elements of one service port, which depend only on that service. */
import { createHash } from 'node:crypto';
import type { NftChain, NftSet } from '../nftables/table-draft.ts';
import type { ExternalAddress, ServiceRoute } from './compute-routes.ts';
import { isInPrefix, isSpecialAddress, nftAddress, nftWord } from './ip-family.ts';
import type { NftServiceFacts } from './nft-base.ts';
import { MARK, setNames } from './nft-base.ts';
import type { Backend } from './select-backends.ts';

export interface NftElement {
  readonly set: string;
  readonly key: string;
  readonly value: string;
}

export interface NftRoute {
  readonly elements: readonly NftElement[];
  /** The chains. They are shared by all services with the same properties, or belong to this one. */
  readonly chains: ReadonlyMap<string, NftChain>;
  readonly sets: ReadonlyMap<string, NftSet>;
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 24);

/**
 * Renders a route. `isReserved` decides whether a service may not use this external address; by default it refuses the
 * cluster's own addresses.
 */
export function renderNftRoute(
  route: ServiceRoute,
  facts: NftServiceFacts,
  isReserved: (address: ExternalAddress) => boolean = (address) => isClusters(address, facts),
): NftRoute {
  return new RouteWriter(route, facts, isReserved).write();
}

function isClusters({ ip, isNodes }: ExternalAddress, { podCidr, serviceCidr, kept }: NftServiceFacts): boolean {
  if (isSpecialAddress(ip)) return true;
  return (
    isNodes !== true && (isInPrefix(ip, podCidr) || isInPrefix(ip, serviceCidr) || kept.some((port) => port.ip === ip))
  );
}

/** The maps with the endpoints for cluster-internal or for external traffic. */
interface Entrance {
  /** The part of a map key before the endpoint number. It identifies the service. */
  readonly key: string;
  readonly lookup: string;
  readonly entries: string;
  readonly closed: string;
  readonly all: string;
  readonly local: string;
  readonly name: 'service' | 'node-port';
}

class RouteWriter {
  readonly #isReserved: (address: ExternalAddress) => boolean;
  readonly #route: ServiceRoute;
  readonly #facts: NftServiceFacts;
  readonly #word: 'ip' | 'ip6';
  readonly #elements: NftElement[] = [];
  readonly #chains = new Map<string, NftChain>();
  readonly #sets = new Map<string, NftSet>();

  constructor(route: ServiceRoute, facts: NftServiceFacts, isReserved: (address: ExternalAddress) => boolean) {
    this.#isReserved = isReserved;
    this.#route = route;
    this.#facts = facts;
    this.#word = nftWord[facts.family];
  }

  write(): NftRoute {
    const { clusterIp, all, local, internalLocal, externalIps, nodePort } = this.#route;
    this.#inside(this.#service(clusterIp), internalLocal ? local : all);
    for (const address of externalIps)
      if (!this.#isReserved(address)) this.#outside(this.#service(address.ip), address.sourceRanges);
    if (nodePort !== undefined) this.#outside(this.#nodePort(nodePort));
    for (const { ip, local: isLocal } of all) if (isLocal) this.#element(setNames.hairpins, `${ip} . ${ip}`, '');
    return { elements: this.#elements, chains: this.#chains, sets: this.#sets };
  }

  #service(ip: string): Entrance {
    const { protocol, port } = this.#route;
    return {
      key: `${ip} . ${protocol} . ${port}`,
      lookup: `${this.#word} daddr . meta l4proto . th dport`,
      entries: setNames.services,
      closed: setNames.closed,
      all: setNames.backends,
      local: setNames.localBackends,
      name: 'service',
    };
  }

  #nodePort(port: number): Entrance {
    return {
      key: `${this.#route.protocol} . ${port}`,
      lookup: 'meta l4proto . th dport',
      entries: setNames.nodePorts,
      closed: setNames.closedNodePorts,
      all: setNames.nodeBackends,
      local: setNames.localNodeBackends,
      name: 'node-port',
    };
  }

  /** Adds the cluster IP, for clients inside the cluster. */
  #inside(entrance: Entrance, backends: readonly Backend[]): void {
    if (backends.length === 0) return this.#close(entrance);
    const { podCidr, bridgeNetfilter } = this.#facts;
    const mark = `${bridgeNetfilter ? `${this.#word} saddr != ${podCidr} ` : ''}meta mark set meta mark or ${MARK}`;
    const chain = this.#chain(`cluster-${entrance.name}`, [mark], entrance, entrance.all, backends);
    this.#element(entrance.entries, entrance.key, `goto ${chain}`);
  }

  /**
   * Adds external traffic: masqueraded to any endpoint, or (Local) to this node's endpoints with the client's address.
   */
  #outside(entrance: Entrance, ranges?: readonly string[]): void {
    const { all, local, externalLocal } = this.#route;
    if (all.length === 0) return this.#close(entrance);
    const mark = `meta mark set meta mark or ${MARK}`;
    let chain: string;
    if (!externalLocal) chain = this.#chain(`external-${entrance.name}`, [mark], entrance, entrance.all, all);
    else {
      // Pods and the node are inside the cluster, so the policy does not apply to them.
      const inside = this.#chain(`plain-${entrance.name}`, [], entrance, entrance.all, all);
      const marked = this.#chain(`external-${entrance.name}`, [mark], entrance, entrance.all, all);
      const kept =
        local.length === 0 ? undefined : this.#chain(`local-${entrance.name}`, [], entrance, entrance.local, local);
      chain = `split-${digest([inside, marked, kept].join(' '))}`;
      this.#chains.set(chain, {
        rules: [
          `${this.#word} saddr ${this.#facts.podCidr} goto ${inside}`,
          `fib saddr type local goto ${marked}`,
          ...(kept === undefined ? [] : [`goto ${kept}`]),
        ],
      });
      if (kept === undefined) this.#element(entrance.closed, entrance.key, 'drop');
    }
    if (ranges !== undefined) {
      const guarded = `sources-${digest([this.#facts.family, chain, ...ranges].join(' '))}`;
      const list = ranges.length === 0 ? [] : [`${this.#word} saddr { ${ranges.join(', ')} } goto ${chain}`];
      this.#chains.set(guarded, { rules: list });
      chain = guarded;
    }
    this.#element(entrance.entries, entrance.key, `goto ${chain}`);
  }

  /**
   * Adds an entry without endpoints. With policy Local another node may have endpoints, so packets are dropped and not
   * rejected (as upstream does).
   */
  #close({ closed, key }: Entrance): void {
    this.#element(closed, key, this.#route.all.length > 0 ? 'drop' : 'goto refuse');
  }

  #element(set: string, key: string, value: string): void {
    this.#elements.push({ set, key, value });
  }

  /** Adds the chain that chooses among the endpoints, and their entries in the map. */
  #chain(
    name: string,
    before: readonly string[],
    entrance: Entrance,
    map: string,
    backends: readonly Backend[],
  ): string {
    if (this.#route.affinitySeconds !== undefined) return this.#sticky(name, before, entrance, backends);
    for (const [index, { ip, port }] of backends.entries())
      this.#element(map, `${entrance.key} . ${index}`, `${ip} . ${port}`);
    const chain = `${name}-${backends.length}`;
    const choice = `${entrance.lookup} . numgen random mod ${backends.length}`;
    this.#chains.set(chain, {
      rules: [...before, `meta l4proto { tcp, udp, sctp } dnat ${this.#word} to ${choice} map @${map}`],
    });
    return chain;
  }

  /** Adds session affinity: each endpoint has a set of its clients, whose elements time out. */
  #sticky(name: string, before: readonly string[], entrance: Entrance, backends: readonly Backend[]): string {
    const { name: route, protocol, affinitySeconds } = this.#route;
    const { family } = this.#facts;
    const ends = backends.map(({ ip, port }) => {
      const end = `sticky-${digest([family, route, protocol, ip, port].join(' '))}`;
      this.#sets.set(`${end}-clients`, {
        kind: 'set',
        body: `type ${nftAddress[family]}; size 65536; flags dynamic,timeout; timeout ${affinitySeconds}s;`,
      });
      const target = family === 'IPv6' ? `[${ip}]:${port}` : `${ip}:${port}`;
      this.#chains.set(end, {
        rules: [
          `update @${end}-clients { ${this.#word} saddr }`,
          `meta l4proto ${protocol} dnat ${this.#word} to ${target}`,
        ],
      });
      return end;
    });
    const chain = `${name}-${digest([family, route, protocol, entrance.name, ...ends].join(' '))}`;
    const left = (index: number): number => ends.length - index;
    this.#chains.set(chain, {
      rules: [
        ...before,
        ...ends.map((end) => `${this.#word} saddr @${end}-clients goto ${end}`),
        ...ends.map((end, index) =>
          left(index) === 1 ? `goto ${end}` : `numgen random mod ${left(index)} 0 goto ${end}`,
        ),
      ],
    });
    return chain;
  }
}
