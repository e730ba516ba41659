/** Parses the output of `ip -j` and `bridge -j`. Pure. */
import { parseIp } from '../../base/ip-address.ts';
import type { ForwardingEntry, KernelLink, KernelNeighbour, KernelRoute } from './kernel-network.ts';

interface LinkJson {
  readonly ifname?: string;
  readonly address?: string;
  readonly mtu?: number;
  readonly flags?: readonly string[];
  readonly linkinfo?: { readonly info_kind?: string; readonly info_data?: VxlanJson };
  readonly addr_info?: readonly { readonly local?: string; readonly prefixlen?: number; readonly scope?: string }[];
}
interface VxlanJson {
  readonly id?: number;
  readonly port?: number;
  readonly local?: string;
  readonly local6?: string;
  readonly link?: string;
  readonly learning?: boolean;
}
interface RouteJson {
  readonly dst?: string;
  readonly gateway?: string;
  readonly dev?: string;
  readonly protocol?: string;
}
interface EntryJson {
  readonly dst?: string;
  readonly dev?: string;
  readonly lladdr?: string;
  readonly mac?: string;
  readonly ifname?: string;
}

/** Empty output is an empty list. */
const listOf = <T>(text: string): readonly T[] => (text.trim() === '' ? [] : (JSON.parse(text) as readonly T[]));

export function parseAddresses(text: string): KernelLink[] {
  return listOf<LinkJson>(text).flatMap((link) => {
    const { ifname, address = '', mtu = 0, flags = [], linkinfo, addr_info: infos = [] } = link;
    if (ifname === undefined) return [];
    const data = linkinfo?.info_kind === 'vxlan' ? linkinfo.info_data : undefined;
    const { id = 0, port = 0, local, local6, link: via = '', learning = true } = data ?? {};
    return [
      {
        name: ifname,
        mac: address,
        mtu,
        isUp: flags.includes('UP'),
        addresses: infos.flatMap(({ local: ip, prefixlen, scope }) =>
          ip === undefined || scope === 'link' ? [] : [`${ip}/${prefixlen}`],
        ),
        ...(data !== undefined && { vxlan: { vni: id, port, local: local ?? local6 ?? '', via, learning } }),
      },
    ];
  });
}

export function parseRoutes(text: string): KernelRoute[] {
  return listOf<RouteJson>(text).flatMap(({ dst, gateway, dev, protocol = '' }) => {
    if (dst === undefined || dev === undefined || dst === 'default') return [];
    const range = dst.includes('/') ? dst : `${dst}/${parseIp(dst)?.length === 16 ? 128 : 32}`;
    return [{ range, gateway, device: dev, protocol }];
  });
}

export function parseNeighbours(text: string): KernelNeighbour[] {
  return listOf<EntryJson>(text).flatMap(({ dst, dev, lladdr }) =>
    dst === undefined || dev === undefined || lladdr === undefined ? [] : [{ ip: dst, mac: lladdr, device: dev }],
  );
}

/** Parses the forwarding entries that name another machine. */
export function parseForwarding(text: string): ForwardingEntry[] {
  return listOf<EntryJson>(text).flatMap(({ mac, ifname, dst }) =>
    mac === undefined || ifname === undefined || dst === undefined ? [] : [{ mac, remote: dst, device: ifname }],
  );
}
