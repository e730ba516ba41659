import { formatIp, parseSloppyIp } from '../../../../base/ip-address.ts';

/** A range of service addresses, numbered from 0. */
export interface AddressRange {
  readonly cidr: string;
  readonly family: 'IPv4' | 'IPv6';
  /** The number of addresses that can be allocated, beginning after the network address. */
  readonly size: number;
  /** Returns the address with that number, from 0. */
  at(index: number): string;
  contains(ip: string): boolean;
}

/** The maximum number of allocated addresses of a range (upstream: RangeSize for IPv6). */
const MAX_IPV6_ADDRESSES = 65_536;

export function parseAddressRange(cidr: string): AddressRange {
  const [text = '', prefix = ''] = cidr.split('/');
  const family = text.includes(':') ? 'IPv6' : 'IPv4';
  const bits = family === 'IPv4' ? 32n : 128n;
  const hostBits = bits - BigInt(prefix);
  const network = (parseAddress(text) >> hostBits) << hostBits;
  const total = 1n << hostBits;
  // Without the network address and, in IPv4, the broadcast address.
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

/** Parses an address; 0 for an invalid one. */
const parseAddress = (text: string): bigint =>
  [...(parseSloppyIp(text) ?? [])].reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);

function formatAddress(value: bigint, family: 'IPv4' | 'IPv6'): string {
  const length = family === 'IPv4' ? 4 : 16;
  return formatIp(
    Uint8Array.from({ length }, (_, index) => Number((value >> BigInt(8 * (length - 1 - index))) & 255n)),
  );
}

/**
 * Generates the numbers below `size` in the order of attempts: first the upper part, from a random number on, and then
 * in the same way the first `reserved` ones, which stay free as long as possible for explicitly requested addresses
 * (upstream: KEP 3070).
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

/** Returns how many addresses at the beginning of the range are allocated last. */
export function reservedAddresses(size: number): number {
  return size <= 16 ? 0 : Math.min(256, Math.max(16, Math.floor(size / 16)));
}

export function reservedPorts(size: number): number {
  return size <= 16 ? 0 : Math.min(128, Math.max(16, Math.floor(size / 32)));
}
