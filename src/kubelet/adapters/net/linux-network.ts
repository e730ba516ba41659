import { lookup } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import os from 'node:os';
import { isOutward } from '../../../base/ip-address.ts';
import type { NodeNetwork } from '../../ports/node-network.ts';

type Interfaces = NodeJS.Dict<os.NetworkInterfaceInfo[]>;

export interface NetworkTexts {
  /** `/proc/net/route` and `/proc/net/ipv6_route`; '' if missing. */
  readonly routes: string;
  readonly v6Routes: string;
  /** `/proc/net/fib_trie`, which includes addresses of interfaces without a carrier; `interfaces` does not. */
  readonly v4Trie: string;
  readonly interfaces: Interfaces;
}

/** The machine's network as reported by the kernel. */
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
      return []; // A name that does not resolve.
    }
  },
};

/**
 * The first address on the first interface with a default route that others can reach, in each family; without routes
 * on any external interface (upstream: apimachinery util/net ResolveBindAddress; without routes it finds none).
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

/** Each of the kernel's own addresses is above a line that marks it as local. */
function localV4(text: string): string[] {
  return [...text.matchAll(/\|-- (\d+\.\d+\.\d+\.\d+)\n\s+\/32 host LOCAL/g)].map(([, address = '']) => address);
}

/** Names of interfaces, in the order of the routes. */
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

/** Interfaces of containers are not external. */
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
    return ''; // A kernel without that family.
  }
}
