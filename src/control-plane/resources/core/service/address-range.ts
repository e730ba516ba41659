import { formatIp, parseSloppyIp } from '../../../../base/ip-address.ts';

/** A range of addresses that services get theirs from, as numbers to choose by. */
export interface AddressRange {
  readonly cidr: string;
  readonly family: 'IPv4' | 'IPv6';
  /** How many addresses may be given out, counted from the one after the network's own. */
  readonly size: number;
  /** The address with that number, from 0. */
  at(index: number): string;
  contains(ip: string): boolean;
}

/** Of a larger network only so many are given out (upstream: RangeSize for IPv6). */
const MAX_IPV6_ADDRESSES = 65_536;

export function parseAddressRange(cidr: string): AddressRange {
  const [text = '', prefix = ''] = cidr.split('/');
  const family = text.includes(':') ? 'IPv6' : 'IPv4';
  const bits = family === 'IPv4' ? 32n : 128n;
  const hostBits = bits - BigInt(prefix);
  const network = (parseAddress(text) >> hostBits) << hostBits;
  const total = 1n << hostBits;
  // Neither the network's own address nor, in IPv4, that of everybody.
  const usable = Number(total > 2n ? total - (family === 'IPv4' ? 2n : 1n) : 0n);
  return {
    cidr,
    family,
    size: family === 'IPv4' ? usable : Math.min(usable, MAX_IPV6_ADDRESSES),
    at: (index) => formatAddress(network + 1n + BigInt(index), family),
    contains: (ip) => {
      if (familyOf(ip) !== family) return false;
      const offset = parseAddress(ip) - network;
      return offset > 0n && offset < total && (family === 'IPv6' || offset < total - 1n);
    },
  };
}

export function familyOf(ip: string): 'IPv4' | 'IPv6' {
  return ip.includes(':') ? 'IPv6' : 'IPv4';
}

/** 0 for what is no address. */
const parseAddress = (text: string): bigint =>
  [...(parseSloppyIp(text) ?? [])].reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);

function formatAddress(value: bigint, family: 'IPv4' | 'IPv6'): string {
  const length = family === 'IPv4' ? 4 : 16;
  return formatIp(
    Uint8Array.from({ length }, (_, index) => Number((value >> BigInt(8 * (length - 1 - index))) & 255n)),
  );
}

/**
 * The numbers below `size` in the order in which they are to be tried: from a random one through the upper part, then
 * likewise through the first `reserved`, which are left for those who choose their address themselves as long as
 * possible (upstream: KEP 3070).
 */
export function* candidates(size: number, reserved: number, random: () => number): Generator<number> {
  for (const [first, end] of [
    [reserved, size],
    [0, Math.min(reserved, size)],
  ] as const) {
    const count = end - first;
    if (count <= 0) continue;
    const start = Math.floor(random() * count);
    for (let step = 0; step < count; step++) yield first + ((start + step) % count);
  }
}

/** How many addresses at the beginning are given out last. */
export function reservedAddresses(size: number): number {
  return size <= 16 ? 0 : Math.min(256, Math.max(16, Math.floor(size / 16)));
}

export function reservedPorts(size: number): number {
  return size <= 16 ? 0 : Math.min(128, Math.max(16, Math.floor(size / 32)));
}
