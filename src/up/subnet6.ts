/** The IPv6 ranges of a cluster: unique local addresses (RFC 4193) with the instance's id as the global id. Pure. */
import { KubeletError } from '../base/errors.ts';
import { overlapsPrefix, parseIpPrefix } from '../base/ip-prefix.ts';
import type { Route, Subnet } from './subnet.ts';

export interface Ranges6 {
  /** Of the bridge: the node's pods, or the nodes themselves. */
  readonly subnet: Subnet;
  readonly serviceRange: string;
  /** Of the pods of several nodes: 256 nodes. */
  readonly podRange: string;
  /** The DNS address of each node, the same on all nodes. */
  readonly localNames: string;
}

const CANDIDATES = 256;

/** `prefix` is the first 48 bits. */
const rangesIn = (prefix: string): Ranges6 => ({
  subnet: { cidr: `${prefix}::/64`, gateway: `${prefix}::1`, prefixLength: 64 },
  serviceRange: `${prefix}:1::/112`,
  podRange: `${prefix}:100::/56`,
  localNames: `${prefix}:2::10`,
});

/** The ranges of a subnet that was chosen earlier. */
export const rangesOfSubnet = ({ cidr }: Subnet): Ranges6 => rangesIn(cidr.replace(/::\/64$/, ''));

/** The ranges of one instance: `fd84` and the id. Further candidates differ in the last digits. */
export function chooseRanges6(id: string, routes: readonly Route[], ownDevices: readonly string[]): Ranges6 {
  const first = Number.parseInt(id.slice(4, 8), 16);
  for (let step = 0; step < CANDIDATES; step += 1) {
    const last = ((first + step) & 0xffff).toString(16);
    const prefix = ['fd84', Number.parseInt(id.slice(0, 4), 16).toString(16), last].join(':');
    if (isPrefixFree(`${prefix}::/48`, routes, ownDevices)) return rangesIn(prefix);
  }
  throw new KubeletError('Conflict', `every IPv6 range from fd84:${id.slice(0, 4)}::/32 that was tried is in use`);
}

export const isSubnetFree6 = ({ cidr }: Subnet, routes: readonly Route[], ownDevices: readonly string[]): boolean =>
  isPrefixFree(cidr.replace(/::\/64$/, '::/48'), routes, ownDevices);

function isPrefixFree(cidr: string, routes: readonly Route[], ownDevices: readonly string[]): boolean {
  const own = parseIpPrefix(cidr);
  return (
    own !== undefined &&
    !routes.some(({ dst, dev }) => {
      if (dev !== undefined && ownDevices.includes(dev)) return false;
      const other = parseIpPrefix(dst.includes('/') ? dst : `${dst}/128`);
      // A much larger route (a default route, all unique local addresses) only applies to addresses without a more
      // specific route.
      const isWide = other !== undefined && other.last - other.first >= 1n << 80n;
      return other !== undefined && !isWide && overlapsPrefix(own, other);
    })
  );
}
