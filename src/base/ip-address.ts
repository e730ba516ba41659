/**
 * An address as bytes: four, or sixteen. Addresses are compared and checked as bytes, because one address has many
 * notations.
 */
export type IpBytes = Uint8Array;

/** The scope of an address, including the scopes of IPv4 addresses embedded in it. `other` is everything else. */
export type AddressScope =
  | 'unspecified'
  | 'loopback'
  | 'link-local'
  | 'link-local-multicast'
  | 'multicast'
  | 'broadcast'
  | 'other';

/** Parses the standard notations: dotted decimals without leading zeros, and RFC 4291's of IPv6 without a zone. */
export const parseIp = (text: string): IpBytes | undefined =>
  text.includes(':') ? parseIpv6(text, decimal) : parseQuad(text, decimal);

/**
 * Parses like Go's ParseIPSloppy: leading zeros are decimal. It is for fields that upstream has always parsed this way.
 */
export const parseSloppyIp = (text: string): IpBytes | undefined =>
  text.includes(':') ? parseIpv6(text, sloppyDecimal) : parseQuad(text, sloppyDecimal);

/**
 * Parses every notation that the system accepts in place of a host name: those of inet_aton (`127.1`, `0x7f000001`,
 * `0177.0.0.1`, `2130706433`), and IPv6 with a zone, which is ignored.
 */
export function parseHostAddress(host: string): IpBytes | undefined {
  return host.includes(':') ? parseIpv6(host.split('%', 1)[0] ?? '', decimal) : parseNumbers(host);
}

/** Formats an address as RFC 5952 defines. */
export function formatIp(bytes: IpBytes): string {
  if (bytes.length === 4) return bytes.join('.');
  const mapped = unmapped(bytes);
  if (mapped.length === 4) return `::ffff:${mapped.join('.')}`;
  return shortenZeros(
    Array.from({ length: 8 }, (_, index) =>
      (((bytes[2 * index] ?? 0) << 8) | (bytes[2 * index + 1] ?? 0)).toString(16),
    ),
  );
}

/**
 * An address in its one canonical form: no leading zeros in IPv4, IPv6 after RFC 5952, and IPv4-mapped IPv6 addresses
 * as IPv4. Undefined for an invalid address. Parsing is lenient: leading zeros are decimal.
 */
export function canonicalIp(text: string): string | undefined {
  const bytes = parseSloppyIp(text);
  return bytes === undefined ? undefined : formatIp(unmapped(bytes));
}

/** Whether both strings denote the same address. An IPv4-mapped IPv6 address equals the IPv4 address. */
export function isSameIp(left: string, right: string): boolean {
  const [first, second] = [parseSloppyIp(left), parseSloppyIp(right)];
  return first !== undefined && second !== undefined && Buffer.compare(unmapped(first), unmapped(second)) === 0;
}

/** The IPv4 address of an IPv4-mapped IPv6 address (`::ffff:0:0/96`); any other address unchanged. */
export function unmapped(bytes: IpBytes): IpBytes {
  return bytes.length === 16 && startsWith(bytes, mappedPrefix) ? bytes.subarray(12) : bytes;
}

export function addressScope(bytes: IpBytes): AddressScope {
  if (bytes.length === 4) return ipv4Scope(bytes);
  const own = ipv6Scope(bytes);
  if (own !== 'other') return own;
  return (
    embeddedIpv4(bytes)
      .map(ipv4Scope)
      .find((scope) => scope !== 'other') ?? 'other'
  );
}

/** Whether the string is an address with the scope `other`: not unspecified, loopback, link-local or the like. */
export function isOutward(text: string): boolean {
  const bytes = parseIp(text);
  return bytes !== undefined && addressScope(bytes) === 'other';
}

function ipv4Scope(bytes: IpBytes): AddressScope {
  const [first = 0, second = 0, third = 0] = bytes;
  // 0.0.0.0/8 means "this network". A connection to 0.0.0.0 reaches this machine.
  if (first === 0) return 'unspecified';
  if (first === 127) return 'loopback';
  if (first === 169 && second === 254) return 'link-local';
  if (first >= 224 && first <= 239)
    return first === 224 && second === 0 && third === 0 ? 'link-local-multicast' : 'multicast';
  return bytes.every((byte) => byte === 255) ? 'broadcast' : 'other';
}

function ipv6Scope(bytes: IpBytes): AddressScope {
  const [first = 0, second = 0] = bytes;
  if (bytes.subarray(0, 15).every((byte) => byte === 0) && (bytes[15] ?? 0) <= 1)
    return bytes[15] === 1 ? 'loopback' : 'unspecified';
  if (first === 0xfe && (second & 0xc0) === 0x80) return 'link-local';
  if (first !== 0xff) return 'other';
  return (second & 0x0f) === 1 ? 'loopback' : (second & 0x0f) === 2 ? 'link-local-multicast' : 'multicast';
}

const mappedPrefix = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

/**
 * Returns the IPv4 addresses that gateways and the kernel derive from an IPv6 address: mapped, compatible, translated,
 * NAT64, 6to4, Teredo, ISATAP.
 */
function embeddedIpv4(bytes: IpBytes): readonly IpBytes[] {
  const tail = bytes.subarray(12);
  if (
    startsWith(bytes, mappedPrefix) ||
    startsWith(bytes, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]) ||
    startsWith(bytes, [0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0])
  )
    return [tail];
  if (startsWith(bytes, [0, 0x64, 0xff, 0x9b])) return [tail];
  if (startsWith(bytes, [0x20, 0x02])) return [bytes.subarray(2, 6)];
  if (startsWith(bytes, [0x20, 0x01, 0, 0])) return [bytes.subarray(4, 8), tail.map((byte) => byte ^ 0xff)];
  return startsWith(bytes.subarray(9), [0, 0x5e, 0xfe]) && ((bytes[8] ?? 0) & 0xfd) === 0 ? [tail] : [];
}

const startsWith = (bytes: IpBytes, prefix: readonly number[]): boolean =>
  prefix.every((byte, index) => bytes[index] === byte);

type ReadNumber = (text: string) => number | undefined;

const decimal: ReadNumber = (text) => (/^(?:0|[1-9]\d{0,2})$/.test(text) ? Number(text) : undefined);

const sloppyDecimal: ReadNumber = (text) => (/^\d{1,9}$/.test(text) ? Number(text) : undefined);

/** Parses a number as C does: `0x` is hexadecimal, a leading zero octal. */
const cNumber: ReadNumber = (text) => {
  if (/^0x[\da-f]{0,16}$/i.test(text)) return Number(`0x0${text.slice(2)}`);
  if (/^0[0-7]{0,20}$/.test(text)) return Number(`0o0${text.slice(1)}`);
  return /^[1-9]\d{0,15}$/.test(text) ? Number(text) : undefined;
};

function parseQuad(text: string, read: ReadNumber): IpBytes | undefined {
  const bytes = text.split('.').map(read);
  return bytes.length === 4 && bytes.every((byte) => byte !== undefined && byte <= 255)
    ? Uint8Array.from(bytes as number[])
    : undefined;
}

/** Parses one to four numbers. The last one fills the remaining bytes (inet_aton). */
function parseNumbers(text: string): IpBytes | undefined {
  const numbers = text.split('.').map(cNumber);
  const last = numbers.pop();
  if (
    last === undefined ||
    numbers.length > 3 ||
    numbers.some((each) => each === undefined || each > 255) ||
    last >= 256 ** (4 - numbers.length)
  )
    return undefined;
  const value = numbers.reduce<number>((sum, each, index) => sum + (each ?? 0) * 256 ** (3 - index), last);
  return Uint8Array.from([24, 16, 8, 0].map((shift) => (value >>> shift) & 255));
}

function parseIpv6(text: string, read: ReadNumber): IpBytes | undefined {
  if (text.length > 45) return undefined;
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const [head, tail] = halves.map((half) => parseGroups(half, read));
  if (head === undefined || (halves.length === 2 && tail === undefined)) return undefined;
  // Two colons stand for at least one group, and dots only for the last two.
  const missing = 16 - head.length - (tail?.length ?? 0);
  if (
    (halves[1] !== undefined && halves[0]?.includes('.') === true) ||
    (tail === undefined ? missing !== 0 : missing < 2)
  )
    return undefined;
  return Uint8Array.from([...head, ...Array.from({ length: missing }, () => 0), ...(tail ?? [])]);
}

function parseGroups(half: string, read: ReadNumber): readonly number[] | undefined {
  if (half === '') return [];
  const groups = half.split(':');
  const bytes: number[] = [];
  for (const [index, group] of groups.entries()) {
    const quad = group.includes('.') && index === groups.length - 1 ? parseQuad(group, read) : undefined;
    if (quad !== undefined) bytes.push(...quad);
    else if (/^[\da-f]{1,4}$/i.test(group))
      bytes.push(Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255);
    else return undefined;
  }
  return bytes;
}

/** Shortens the longest run of at least two zeros to two colons, the first one among equals. */
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
