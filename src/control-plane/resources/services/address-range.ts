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
const maxIpv6Addresses = 65_536;

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
    size: family === 'IPv4' ? usable : Math.min(usable, maxIpv6Addresses),
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

function parseAddress(text: string): bigint {
  if (!text.includes(':')) return text.split('.').reduce((sum, part) => (sum << 8n) + BigInt(part), 0n);
  const [head = '', tail] = text.split('::');
  const groups = (half: string): bigint[] =>
    half === ''
      ? []
      : half
          .split(':')
          .flatMap((group) => (group.includes('.') ? halves(parseAddress(group)) : [BigInt(`0x${group}`)]));
  const first = groups(head);
  const last = groups(tail ?? '');
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - first.length - last.length }, () => 0n);
  return [...first, ...zeros, ...last].reduce((sum, group) => (sum << 16n) + group, 0n);
}

const halves = (ipv4: bigint): bigint[] => [ipv4 >> 16n, ipv4 & 0xffffn];

function formatAddress(value: bigint, family: 'IPv4' | 'IPv6'): string {
  if (family === 'IPv4') return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 255n)).join('.');
  const groups = Array.from({ length: 8 }, (_, index) => ((value >> BigInt(112 - index * 16)) & 0xffffn).toString(16));
  return shortenZeros(groups);
}

/** RFC 5952: the longest run of at least two zeros becomes two colons, the first of equals. */
function shortenZeros(groups: readonly string[]): string {
  let best = { start: -1, length: 1 };
  for (let start = 0; start < groups.length; start++) {
    let length = 0;
    while (groups[start + length] === '0') length++;
    if (length > best.length) best = { start, length };
  }
  if (best.start < 0) return groups.join(':');
  return `${groups.slice(0, best.start).join(':')}::${groups.slice(best.start + best.length).join(':')}`;
}

/**
 * The numbers below `size` in the order in which they are to be tried: from a random one through the upper part, then likewise through the first `reserved`,
 * which are left for those who choose their address themselves as long as possible (upstream: KEP 3070).
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
