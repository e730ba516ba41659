import { addressScope, canonicalIp, parseIp } from '../../base/ip-address.ts';
import { containsPrefix, parseIpPrefix } from '../../base/ip-prefix.ts';

/** As EndpointSlices and Services name it. */
export type IpFamily = 'IPv4' | 'IPv6';

/** Returns the family of an address or a range. */
export const familyOf = (ip: string): IpFamily => (ip.includes(':') ? 'IPv6' : 'IPv4');

/** The family's name in nftables. */
export const nftWord = { IPv4: 'ip', IPv6: 'ip6' } as const;
export const nftAddress = { IPv4: 'ipv4_addr', IPv6: 'ipv6_addr' } as const;

/**
 * Returns the address in canonical form, if the text is an address of the family. It is checked because rules contain
 * it.
 */
export function addressOf(text: unknown, family: IpFamily): string | undefined {
  if (typeof text !== 'string' || parseIp(text) === undefined) return undefined;
  const ip = canonicalIp(text);
  return ip !== undefined && ip.includes(':') === (family === 'IPv6') ? ip : undefined;
}

/** Returns the range in canonical form, if the text is one of the family. */
export function rangeOf(text: string, family: IpFamily): string | undefined {
  const [base = '', length = '', ...more] = text.split('/');
  const ip = addressOf(base, family);
  return ip === undefined || more.length > 0 || parseIpPrefix(`${ip}/${length}`) === undefined
    ? undefined
    : `${ip}/${Number(length)}`;
}

/** Whether the range never contains an address of a pod or of another machine. */
export function isSpecialAddress(ip: string): boolean {
  const bytes = parseIp(ip);
  return bytes === undefined || addressScope(bytes) !== 'other' || (bytes.length === 4 && (bytes[0] ?? 0) >= 240);
}

export function isInPrefix(ip: string, range: string): boolean {
  const [outer, inner] = [parseIpPrefix(range), parseIpPrefix(`${ip}/${ip.includes(':') ? 128 : 32}`)];
  return outer !== undefined && inner !== undefined && containsPrefix(outer, inner);
}
