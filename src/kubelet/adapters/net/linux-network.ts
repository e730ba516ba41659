import { lookup } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import os from 'node:os';
import { isOutward } from '../../../base/ip-address.ts';
import type { NodeNetwork } from '../../ports/node-network.ts';

type Interfaces = NodeJS.Dict<os.NetworkInterfaceInfo[]>;

export interface NetworkTexts {
  /** The content of `/proc/net/route` and `/proc/net/ipv6_route`; '' if missing. */
  readonly routes: string;
  readonly v6Routes: string;
  /**
   * The content of `/proc/net/fib_trie`. Unlike `interfaces`, it includes the addresses of interfaces without a
   * carrier.
   */
  readonly v4Trie: string;
  readonly interfaces: Interfaces;
}

/** The machine's network as the kernel reports it. */
export const linuxNetwork: NodeNetwork = {
  read: () =>
    computeNetwork({
      routes: textOf('/proc/net/route'),
      v6Routes: textOf('/proc/net/ipv6_route'),
      v4Trie: textOf('/proc/net/fib_trie'),
      interfaces: os.networkInterfaces(),
    }),
  resolve: async (name) => {
    try {
      return (await lookup(name, { all: true })).map(({ address }) => address);
    } catch {
      return []; // return []; // The name does not resolve.
    }
  },
};

/**
 * Returns, in each family, the first address that others can reach on the first interface with a default route
 * (upstream: apimachinery util/net ResolveBindAddress). Without routes it is on any external interface; upstream finds
 * none then.
 */
export function computeNetwork({
  routes,
  v6Routes,
  v4Trie,
  interfaces,
}: NetworkTexts): ReturnType<NodeNetwork['read']> {
  const shown = Object.values(interfaces).flatMap((addresses) => (addresses ?? []).map(({ address }) => address));
  const own = [...new Set([...shown, ...localV4(v4Trie)])];
  const v4 = firstGlobal(interfaces, defaultV4(routes), 'IPv4');
  const v6 = firstGlobal(interfaces, defaultV6(v6Routes), 'IPv6');
  return { own, defaults: { ...(v4 !== undefined && { v4 }), ...(v6 !== undefined && { v6 }) } };
}

/** Returns the kernel's own addresses. Each is above a line that marks it as local. */
function localV4(text: string): string[] {
  return [...text.matchAll(/\|-- (\d+\.\d+\.\d+\.\d+)\n\s+\/32 host LOCAL/g)].map(([, address = '']) => address);
}

/** Returns the names of interfaces, in the order of the routes. */
function defaultV4(text: string): string[] {
  return text
    .split('\n')
    .slice(1)
    .map((line) => line.split(/\s+/))
    .filter(([, destination]) => destination === '00000000')
    .map(([name = '']) => name);
}

function defaultV6(text: string): string[] {
  const isZero = (hex: string | undefined): boolean => hex !== undefined && /^0{32}$/.test(hex);
  const fields = text.split('\n').map((line) => line.trim().split(/\s+/));
  return fields.filter((each) => isZero(each[0]) && !isZero(each[4])).map((each) => each[9] ?? '');
}

/** Whether the interface belongs to containers, and so is not external. */
const isOfContainers = (name: string): boolean => /^(veth|cni|docker|br-|kts|kubelet)/.test(name);

function firstGlobal(interfaces: Interfaces, routed: readonly string[], family: 'IPv4' | 'IPv6'): string | undefined {
  const names = routed.length > 0 ? routed : Object.keys(interfaces).filter((name) => !isOfContainers(name));
  return names.flatMap((name) => interfaces[name] ?? []).find((each) => each.family === family && isGlobal(each))
    ?.address;
}

function isGlobal({ address, internal }: os.NetworkInterfaceInfo): boolean {
  return !internal && isOutward(address);
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // return ''; // The kernel does not support this family.
  }
}
