import { parseSloppyIp } from './ip-address.ts';

/** A range of addresses as numbers. */
export interface IpPrefix {
  readonly bits: 32 | 128;
  readonly first: bigint;
  readonly last: bigint;
}

interface IpNumber {
  readonly bits: 32 | 128;
  readonly value: bigint;
}

function numberOf(ip: string): IpNumber | undefined {
  const bytes = parseSloppyIp(ip);
  if (bytes === undefined) return undefined;
  const value = [...bytes].reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  return { bits: bytes.length === 4 ? 32 : 128, value };
}

/** Undefined if the text is not a range such as `10.0.0.0/8`. */
export function parseIpPrefix(cidr: string): IpPrefix | undefined {
  const slash = cidr.indexOf('/');
  const [ip, length] = [numberOf(cidr.slice(0, Math.max(slash, 0))), cidr.slice(slash + 1)];
  if (slash < 0 || ip === undefined || !/^\d{1,3}$/.test(length) || Number(length) > ip.bits) return undefined;
  const hostBits = BigInt(ip.bits - Number(length));
  const first = (ip.value >> hostBits) << hostBits;
  return { bits: ip.bits, first, last: first + (1n << hostBits) - 1n };
}

/**
 * Whether services can get the address from the range: not its first address, and in IPv4 not its last, the broadcast
 * address (upstream: servicecidr.PrefixContainsIP).
 */
export function hasServiceAddress({ bits, first, last }: IpPrefix, ip: string): boolean {
  const number = numberOf(ip);
  if (number === undefined || number.bits !== bits) return false;
  return number.value > first && (bits === 32 ? number.value < last : number.value <= last);
}

/** Whether the first range contains the second. */
export function containsPrefix(outer: IpPrefix, inner: IpPrefix): boolean {
  return outer.bits === inner.bits && outer.first <= inner.first && inner.last <= outer.last;
}

export function overlapsPrefix(left: IpPrefix, right: IpPrefix): boolean {
  return left.bits === right.bits && left.first <= right.last && right.first <= left.last;
}

/** Maps ranges to owners. A look-up and an addition take as many steps as an address has bits. */
export class PrefixOwners {
  readonly #ranges = new Map<string, string>();
  /** The first owner of a range within each of these. */
  readonly #within = new Map<string, string>();

  /** The owner of a range that overlaps this one, or undefined. */
  overlapping(prefix: IpPrefix): string | undefined {
    const inner = this.#within.get(nameOf(prefix));
    if (inner !== undefined) return inner;
    const outer = containingRanges(prefix).find((each) => this.#ranges.has(each));
    return outer === undefined ? undefined : this.#ranges.get(outer);
  }

  add(prefix: IpPrefix, owner: string): void {
    this.#ranges.set(nameOf(prefix), owner);
    for (const each of containingRanges(prefix)) if (!this.#within.has(each)) this.#within.set(each, owner);
  }
}

const nameOf = ({ bits, first, last }: IpPrefix): string => `${bits} ${first} ${last}`;

/** The range itself, and each shorter prefix of it. */
function containingRanges({ bits, first, last }: IpPrefix): string[] {
  const names: string[] = [];
  for (let size = last - first + 1n; size <= 1n << BigInt(bits); size *= 2n) {
    const start = (first / size) * size;
    names.push(nameOf({ bits, first: start, last: start + size - 1n }));
  }
  return names;
}
