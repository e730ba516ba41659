/** The iptables rules of one route. They depend only on that route, so they are rendered once for each change of it. */
import { createHash } from 'node:crypto';
import type { ExternalAddress, RouteProtocol, ServiceRoute } from './compute-routes.ts';
import type { IpFamily } from './ip-family.ts';
import { familyOf, isInPrefix, isSpecialAddress } from './ip-family.ts';
import type { RulesFacts } from './rules-facts.ts';
import type { Backend } from './select-backends.ts';

export interface RouteRules {
  /** The chains by name, to which the rules of the lists below jump. */
  readonly chains: ReadonlyMap<string, readonly string[]>;
  /** The rules by address, for clients anywhere. */
  readonly services: readonly string[];
  readonly nodePorts: readonly string[];
  /** The rules in the table filter. */
  readonly refused: readonly string[];
}

/** Length of the digest in the name of a service chain, after the kind. */
export const DIGEST_LENGTH = 12;

export function renderRoute(route: ServiceRoute, facts: RulesFacts): RouteRules {
  const writer = new RouteWriter(facts);
  writer.add(route);
  return writer;
}

/**
 * Whether an external address that a service claims is the cluster's own: the node's, a pod's, another service's, or
 * one without other endpoints.
 */
export function isReserved({ ip, isNodes }: ExternalAddress, facts: RulesFacts): boolean {
  const { podCidr, serviceCidr, admitted = [] } = facts;
  if (isNodes === true) return isSpecialAddress(ip);
  const isOwn = isInPrefix(ip, podCidr) || isInPrefix(ip, serviceCidr) || admitted.some((port) => port.ip === ip);
  return isOwn || isSpecialAddress(ip);
}

class RouteWriter implements RouteRules {
  readonly chains = new Map<string, string[]>();
  readonly services: string[] = [];
  readonly nodePorts: string[] = [];
  readonly refused: string[] = [];
  readonly #facts: RulesFacts;
  readonly #family: IpFamily;

  constructor(facts: RulesFacts) {
    this.#facts = facts;
    this.#family = facts.family ?? 'IPv4';
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
      this.services.push(`${to(route.clusterIp)} -j ${this.#chainOf(route, route.internalLocal ? 'L' : 'S')}`);
    else this.refused.push(`${to(route.clusterIp)} ${verdict}`);
    for (const { ip, sourceRanges } of route.externalIps.filter((each) => !isReserved(each, this.#facts))) {
      if (external.length === 0) this.refused.push(`${to(ip)} ${verdict}`);
      else
        for (const from of sourceRanges?.map((range) => `-s ${range} `) ?? [''])
          this.services.push(`${from}${to(ip)} -j ${this.#externalChain(route)}`);
    }
    if (route.nodePort === undefined) return;
    const toNode = `-p ${route.protocol} -m ${route.protocol} --dport ${route.nodePort} ${comment}`;
    if (external.length > 0) this.nodePorts.push(`${toNode} -j ${this.#externalChain(route)}`);
    else this.refused.push(`-m addrtype --dst-type LOCAL ${toNode} ${verdict}`);
  }

  /**
   * Adds the chain of external traffic: masqueraded to any endpoint, or (Local) to this node's endpoints with the
   * client's address.
   */
  #externalChain(route: ServiceRoute): string {
    const chain = this.#name('X', route);
    if (this.chains.has(chain)) return chain;
    const rules: string[] = [];
    this.chains.set(chain, rules);
    if (!route.externalLocal) {
      rules.push(`-j ${this.#markChain}`, `-j ${this.#chainOf(route, 'S')}`);
      return chain;
    }
    // Pods and the node are inside the cluster, so the policy does not apply to them.
    const cluster = this.#chainOf(route, 'S');
    rules.push(
      `-s ${this.#facts.podCidr} -j ${cluster}`,
      `-m addrtype --src-type LOCAL -j ${this.#markChain}`,
      `-m addrtype --src-type LOCAL -j ${cluster}`,
      `-j ${this.#chainOf(route, 'L')}`,
    );
    return chain;
  }

  /** Adds the chain that chooses among all endpoints (S) or those of this node (L). */
  #chainOf(route: ServiceRoute, which: 'S' | 'L'): string {
    const chain = this.#name(which, route);
    if (this.chains.has(chain)) return chain;
    const rules: string[] = [];
    this.chains.set(chain, rules);
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
    if (this.chains.has(chain)) return chain;
    const remember = route.affinitySeconds === undefined ? '' : `-m recent --name ${chain} --set --rsource `;
    // A pod that reaches itself through its service would reply to itself directly, from an address it does not expect.
    this.chains.set(chain, [
      `-s ${host(ip)} -j ${this.#markChain}`,
      `-p ${route.protocol} -m ${route.protocol} ${remember}-j DNAT --to-destination ${destination(ip, port)}`,
    ]);
    return chain;
  }

  get #markChain(): string {
    return `${this.#facts.chainPrefix}-MARK`;
  }

  /**
   * Returns the name of a chain. Names have at most 28 characters, so they contain a digest of the service's name. It
   * has 72 bits, because a name with the same digest as another would get its traffic.
   */
  #name(kind: 'S' | 'L' | 'X' | 'E', route: ServiceRoute, backend = ''): string {
    const digest = createHash('sha256')
      .update(`${route.name}/${route.protocol}/${backend}`)
      .digest('base64url')
      .slice(0, DIGEST_LENGTH);
    return `${this.#facts.chainPrefix}-${kind}${digest}`;
  }
}

export function refusal(protocol: RouteProtocol, family: IpFamily): string {
  if (protocol === 'tcp') return '-j REJECT --reject-with tcp-reset';
  return `-j REJECT --reject-with ${family === 'IPv4' ? 'icmp-port-unreachable' : 'icmp6-port-unreachable'}`;
}

export const host = (ip: string): string => `${ip}/${familyOf(ip) === 'IPv4' ? 32 : 128}`;
const destination = (ip: string, port: number): string =>
  familyOf(ip) === 'IPv4' ? `${ip}:${port}` : `[${ip}]:${port}`;
