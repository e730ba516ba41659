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
