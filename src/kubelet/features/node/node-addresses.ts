import { annotations } from '../../../api/annotations.ts';
import type { NodeAddress } from '../../../api/core/node.ts';
import { addressScope, isSameIp, parseIp } from '../../../base/ip-address.ts';
import type { AddressScope } from '../../../base/ip-address.ts';

/** The facts about the machine's network. */
export interface NetworkFacts {
  /** All addresses of all interfaces. */
  readonly own: readonly string[];
  /** The addresses of the node's name; empty while unknown. */
  readonly named: readonly string[];
  /** The address of the interface with the default route, by family. */
  readonly defaults: { readonly v4?: string; readonly v6?: string };
}

export interface AddressRules {
  readonly hostname: string;
  /** The addresses of `--node-ip`: none, one, or one of each family. `0.0.0.0` and `::` only choose a family. */
  readonly nodeIps: readonly string[];
  /** Whether a cloud controller sets the addresses. */
  readonly externalCloudProvider: boolean;
}

export type AddressDecision =
  | { kind: 'set'; addresses: NodeAddress[] }
  | { kind: 'keep' }
  | { kind: 'unknown'; why: string };

const isV6 = (address: string): boolean => address.includes(':');
const isUnspecified = (address: string): boolean => parseIp(address)?.every((byte) => byte === 0) === true;

const problems: ReadonlyMap<AddressScope, string> = new Map<AddressScope, string>([
  ['loopback', "nodeIP can't be loopback address"],
  ['multicast', "nodeIP can't be a multicast address"],
  ['link-local-multicast', "nodeIP can't be a multicast address"],
  ['link-local', "nodeIP can't be a link-local unicast address"],
  ['unspecified', "nodeIP can't be an all zeros address"],
]);

/** Returns why an address cannot be the node's, or undefined if it can (upstream: validateNodeIP). */
function addressProblem(address: string, own: readonly string[]): string | undefined {
  const bytes = parseIp(address);
  const problem = bytes === undefined ? undefined : problems.get(addressScope(bytes));
  if (problem !== undefined) return problem;
  return own.some((each) => isSameIp(each, address))
    ? undefined
    : `node IP: "${address}" not found in the host's network interfaces`;
}

/** Computes the addresses (upstream: nodestatus.NodeAddress). `known` are those in the API. */
export function computeAddresses(
  rules: AddressRules,
  facts: NetworkFacts,
  known: readonly NodeAddress[],
): AddressDecision {
  const { hostname, nodeIps, externalCloudProvider } = rules;
  const given = nodeIps.filter((ip) => !isUnspecified(ip));
  for (const [index, ip] of given.entries()) {
    const problem = addressProblem(ip, facts.own);
    if (problem !== undefined)
      return { kind: 'unknown', why: `failed to validate ${index === 0 ? 'nodeIP' : 'secondaryNodeIP'}: ${problem}` };
  }
  if (externalCloudProvider && known.length > 0) return { kind: 'keep' };
  // Without a hint, the node waits for the cloud controller.
  if (externalCloudProvider && nodeIps.length === 0)
    return { kind: 'set', addresses: [{ type: 'Hostname', address: hostname }] };
  const internal = given.length > 0 ? given : [chooseAddress(rules, facts)].filter((address) => address !== undefined);
  if (internal.length === 0)
    return {
      kind: 'unknown',
      why: `can't get ip address of node ${hostname}. error: no default routes found in "/proc/net/route" or "/proc/net/ipv6_route"`,
    };
  return {
    kind: 'set',
    addresses: [
      ...internal.map((address) => ({ type: 'InternalIP', address })),
      { type: 'Hostname', address: hostname },
    ],
  };
}

/**
 * Chooses the address in upstream's order: a name that is an address, the addresses of the name, the address of the
 * default route.
 */
function chooseAddress(
  { hostname, nodeIps }: AddressRules,
  { own, named, defaults }: NetworkFacts,
): string | undefined {
  if (parseIp(hostname) !== undefined) return hostname;
  const wantsV6 = nodeIps[0] !== undefined && isV6(nodeIps[0]);
  const usable = named.filter((address) => addressProblem(address, own) === undefined);
  const byName = usable.find((address) => isV6(address) === wantsV6) ?? usable[0];
  return byName ?? (wantsV6 ? (defaults.v6 ?? defaults.v4) : (defaults.v4 ?? defaults.v6));
}

/** Sets the annotation with the hint for a cloud controller, or removes one of an earlier run. */
export function withAddressHint(
  given: Readonly<Record<string, string>> | undefined,
  { nodeIps, externalCloudProvider }: AddressRules,
): Record<string, string> | undefined {
  const hint = nodeIps.filter((ip) => !isUnspecified(ip)).join(',');
  if (externalCloudProvider && hint !== '') return { ...given, [annotations.providedNodeIp]: hint };
  if (given === undefined) return undefined;
  const { [annotations.providedNodeIp]: _stale, ...rest } = given;
  return rest;
}

/**
 * Returns the node's addresses for its pods: the first one, and the first of the other family (upstream: util/node
 * GetNodeHostIPs).
 */
export function hostIpsOf(addresses: readonly NodeAddress[]): string[] {
  const all = [
    ...addresses.filter(({ type }) => type === 'InternalIP'),
    ...addresses.filter(({ type }) => type === 'ExternalIP'),
  ].map(({ address }) => address);
  const [first] = all;
  if (first === undefined) return [];
  const second = all.find((address) => isV6(address) !== isV6(first));
  return second === undefined ? [first] : [first, second];
}
