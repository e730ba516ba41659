/** Reads nodes as flannel's kube subnet manager describes them, in annotations (upstream: flannel pkg/subnet/kube). */
import { formatIp, parseIp } from '../../base/ip-address.ts';
import { parseIpPrefix } from '../../base/ip-prefix.ts';
import type { Node } from '../../api/core/node.ts';

export type Backend = 'vxlan' | 'host-gw';
export type Family = 'ipv4' | 'ipv6';
export const families = ['ipv4', 'ipv6'] as const;

const PREFIX = 'flannel.alpha.coreos.com/';
const annotationNames = {
  backendType: `${PREFIX}backend-type`,
  managed: `${PREFIX}kube-subnet-manager`,
  data: { ipv4: `${PREFIX}backend-data`, ipv6: `${PREFIX}backend-v6-data` },
  publicIp: { ipv4: `${PREFIX}public-ip`, ipv6: `${PREFIX}public-ipv6` },
  /** An address that an administrator sets. It has precedence over the detected one. */
  overwrite: { ipv4: `${PREFIX}public-ip-overwrite`, ipv6: `${PREFIX}public-ipv6-overwrite` },
} as const;

/** How one node is reached in one IP family. All texts are in canonical form. */
export interface Endpoint {
  readonly range: string;
  readonly publicIp: string;
  /** The MAC address of its VXLAN device. */
  readonly mac: string | undefined;
}

export interface Peer {
  readonly name: string;
  /** When the node was created, RFC 3339. */
  readonly since: string;
  readonly backend: string;
  readonly ipv4?: Endpoint;
  readonly ipv6?: Endpoint;
}

/** Returns the ranges of the node's pods. */
export const podRanges = ({ spec }: Node): readonly string[] => spec?.podCIDRs ?? (spec?.podCIDR ? [spec.podCIDR] : []);

/**
 * Returns the peer of a node; undefined for a node without overlay. Invalid annotations are ignored, because other
 * programs write them.
 */
export function peerOf(node: Node): Peer | undefined {
  const { metadata } = node;
  const annotations = new Map(Object.entries(metadata.annotations ?? {}));
  if (annotations.get(annotationNames.managed) !== 'true') return undefined;
  const endpoint = (family: Family): Endpoint | undefined => {
    const range = rangeOf(podRanges(node), family);
    const publicIp = addressOf(annotations.get(annotationNames.publicIp[family]), family);
    if (range === undefined || publicIp === undefined) return undefined;
    return { range, publicIp, mac: macOf(annotations.get(annotationNames.data[family])) };
  };
  const [ipv4, ipv6] = [endpoint('ipv4'), endpoint('ipv6')];
  return {
    name: metadata.name,
    since: metadata.creationTimestamp ?? '',
    backend: annotations.get(annotationNames.backendType) ?? '',
    ...(ipv4 !== undefined && { ipv4 }),
    ...(ipv6 !== undefined && { ipv6 }),
  };
}

/** Returns the first range of the family, in canonical form. */
export function rangeOf(cidrs: readonly string[], family: Family): string | undefined {
  for (const cidr of cidrs) {
    const prefix = parseIpPrefix(cidr);
    if (prefix === undefined || (prefix.bits === 32) !== (family === 'ipv4')) continue;
    return `${formatAddress(prefix.first, prefix.bits)}/${Number(cidr.slice(cidr.indexOf('/') + 1))}`;
  }
  return undefined;
}

/**
 * Returns an address of the range: its own address, by which its node is reached on the VXLAN device, or the one after
 * it.
 */
export function addressIn(range: string, offset: 0 | 1): string {
  const prefix = parseIpPrefix(range);
  return prefix === undefined ? '' : formatAddress(prefix.first + BigInt(offset), prefix.bits);
}

function formatAddress(value: bigint, bits: 32 | 128): string {
  const length = bits / 8;
  return formatIp(Uint8Array.from({ length }, (_, at) => Number((value >> BigInt(8 * (length - 1 - at))) & 255n)));
}

function addressOf(text: string | undefined, family: Family): string | undefined {
  const bytes = text === undefined ? undefined : parseIp(text);
  if (bytes === undefined || (bytes.length === 4) !== (family === 'ipv4')) return undefined;
  return formatIp(bytes);
}

const LONGEST_DATA = 4096;

function macOf(data: string | undefined): string | undefined {
  if (data === undefined || data.length > LONGEST_DATA) return undefined;
  try {
    const parsed: unknown = JSON.parse(data);
    const mac =
      typeof parsed === 'object' && parsed !== null && 'VtepMAC' in parsed ? String(parsed.VtepMAC).toLowerCase() : '';
    // The lowest bit of the first byte marks multicast addresses, which no machine has.
    return /^[0-9a-f][02468ace](:[0-9a-f]{2}){5}$/.test(mac) && mac !== '00:00:00:00:00:00' ? mac : undefined;
  } catch {
    return undefined; // The text is from another program and invalid; the node cannot be reached by VXLAN.
  }
}

export interface OwnFacts {
  readonly backend: Backend;
  readonly vni: number;
  readonly endpoints: Readonly<Partial<Record<Family, Endpoint>>>;
}

/** Returns the annotations from which other nodes read how to reach this node. Null removes an outdated one. */
export function ownAnnotations({ backend, vni, endpoints }: OwnFacts): Record<string, string | null> {
  const result: Record<string, string | null> = {
    [annotationNames.managed]: 'true',
    [annotationNames.backendType]: backend,
  };
  for (const family of families) {
    const endpoint = endpoints[family];
    const isVxlan = backend === 'vxlan' && endpoint?.mac !== undefined;
    // flannel writes `null` for a backend without data.
    const data = isVxlan ? JSON.stringify({ VNI: vni, VtepMAC: endpoint.mac }) : family === 'ipv4' ? 'null' : null;
    result[annotationNames.data[family]] = data;
    result[annotationNames.publicIp[family]] = endpoint?.publicIp ?? null;
  }
  return result;
}

/** Returns the address that an administrator set instead of the detected one. */
export function overwrittenIp({ metadata }: Node, family: Family): string | undefined {
  return addressOf(metadata.annotations?.[annotationNames.overwrite[family]], family);
}
