import type { IpBytes } from '../../base/ip-address.ts';
import { formatIp, parseIp } from '../../base/ip-address.ts';
import type { Library } from '../environment.ts';
import { globalFunction as fn, memberFunction as member } from '../environment.ts';
import type { CelType } from '../types.ts';
import { boolType, intType, opaque, stringType } from '../types.ts';
import { CelError, Opaque } from '../values.ts';

const ipType = opaque('net.IP');
const cidrType = opaque('net.CIDR');

class Ip extends Opaque {
  readonly type: CelType = ipType;
  readonly bytes: IpBytes;

  constructor(bytes: IpBytes) {
    super();
    this.bytes = bytes;
  }

  equals(other: Opaque): boolean {
    return other instanceof Ip && Buffer.compare(this.bytes, other.bytes) === 0;
  }

  override size(): number {
    return this.bytes.length;
  }
}

/** A CIDR range: an address in it and the length of the prefix. */
class Cidr extends Opaque {
  readonly type: CelType = cidrType;
  readonly address: IpBytes;
  readonly prefixLength: number;

  constructor(address: IpBytes, prefixLength: number) {
    super();
    this.address = address;
    this.prefixLength = prefixLength;
  }

  equals(other: Opaque): boolean {
    if (!(other instanceof Cidr) || this.prefixLength !== other.prefixLength) return false;
    return Buffer.compare(this.address, other.address) === 0;
  }

  override size(): number {
    return Math.ceil(this.prefixLength / 8);
  }

  masked(): Cidr {
    return new Cidr(maskBytes(this.address, this.prefixLength), this.prefixLength);
  }

  contains(bytes: IpBytes): boolean {
    if (bytes.length !== this.address.length) return false;
    return Buffer.compare(maskBytes(bytes, this.prefixLength), maskBytes(this.address, this.prefixLength)) === 0;
  }

  containsRange(other: Cidr): boolean {
    return this.prefixLength <= other.prefixLength && this.contains(other.address);
  }
}

function maskBytes(bytes: IpBytes, length: number): IpBytes {
  return bytes.map((byte, index) => byte & (0xff << Math.max(0, 8 - Math.max(0, length - index * 8))));
}

const quoted = (text: string): string => JSON.stringify(text.slice(0, 128));

function readIp(text: string): IpBytes | CelError {
  if (text.includes('%') && parseIp(text.split('%', 1)[0] ?? '') !== undefined)
    return new CelError(`IP address ${quoted(text)} with zone value is not allowed`);
  const bytes = parseIp(text);
  if (bytes === undefined)
    return new CelError(
      `IP Address ${quoted(text)} parse error during conversion from string: ParseAddr(${quoted(text)}): unable to parse IP`,
    );
  return isMapped(bytes) ? new CelError(`IPv4-mapped IPv6 address ${quoted(text)} is not allowed`) : bytes;
}

const isMapped = (bytes: IpBytes): boolean =>
  bytes.length === 16 && bytes.subarray(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff;

function readCidr(text: string): Cidr | CelError {
  const slash = text.lastIndexOf('/');
  const [address, length] = [text.slice(0, Math.max(0, slash)), text.slice(slash + 1)];
  const bytes = parseIp(address);
  const isLength = /^(?:0|[1-9]\d{0,2})$/.test(length) && Number(length) <= (bytes?.length ?? 0) * 8;
  if (slash < 0 || bytes === undefined || !isLength)
    return new CelError(
      `network address parse error during conversion from string: netip.ParsePrefix(${quoted(text)}): invalid prefix`,
    );
  if (isMapped(bytes)) return new CelError(`IPv4-mapped IPv6 address ${quoted(text)} is not allowed`);
  return new Cidr(bytes, Number(length));
}

const first = (bytes: IpBytes): number => bytes[0] ?? 0;
const isV4 = (bytes: IpBytes): boolean => bytes.length === 4;
const isLoopback = (bytes: IpBytes): boolean =>
  isV4(bytes) ? first(bytes) === 127 : bytes.every((byte, index) => byte === (index === 15 ? 1 : 0));
const isUnspecified = (bytes: IpBytes): boolean => bytes.every((byte) => byte === 0);
const isMulticast = (bytes: IpBytes): boolean => (isV4(bytes) ? first(bytes) >> 4 === 0xe : first(bytes) === 0xff);
const isLinkLocal = (bytes: IpBytes): boolean =>
  isV4(bytes) ? first(bytes) === 169 && bytes[1] === 254 : first(bytes) === 0xfe && ((bytes[1] ?? 0) & 0xc0) === 0x80;
const isLinkLocalMulticast = (bytes: IpBytes): boolean =>
  isV4(bytes)
    ? first(bytes) === 224 && bytes[1] === 0 && bytes[2] === 0
    : first(bytes) === 0xff && ((bytes[1] ?? 0) & 0x0f) === 2;
const isGlobal = (bytes: IpBytes): boolean =>
  !isUnspecified(bytes) &&
  !isLoopback(bytes) &&
  !isMulticast(bytes) &&
  !isLinkLocal(bytes) &&
  !(isV4(bytes) && bytes.every((byte) => byte === 255));

const toIp = (text: string): Ip | CelError => {
  const bytes = readIp(text);
  return bytes instanceof CelError ? bytes : new Ip(bytes);
};

const question = (id: string, holds: (bytes: IpBytes) => boolean) => [
  member(id, [ipType], boolType, ({ bytes }: Ip) => holds(bytes)),
];

/** Addresses. */
export const ips: Library = {
  typeNames: { 'net.IP': ipType },
  functions: {
    ip: [
      fn('string_to_ip', [stringType], ipType, toIp),
      member('cidr_ip', [cidrType], ipType, ({ address }: Cidr) => new Ip(address)),
    ],
    isIP: [fn('is_ip', [stringType], boolType, (text: string) => !(readIp(text) instanceof CelError))],
    'ip.isCanonical': [
      fn('ip_is_canonical', [stringType], boolType, (text: string) => {
        const bytes = readIp(text);
        return bytes instanceof CelError ? bytes : formatIp(bytes) === text;
      }),
    ],
    string: [fn('ip_to_string', [ipType], stringType, ({ bytes }: Ip) => formatIp(bytes))],
    family: [member('ip_family', [ipType], intType, ({ bytes }: Ip) => (isV4(bytes) ? 4n : 6n))],
    isUnspecified: question('ip_is_unspecified', isUnspecified),
    isLoopback: question('ip_is_loopback', isLoopback),
    isLinkLocalMulticast: question('ip_is_link_local_multicast', isLinkLocalMulticast),
    isLinkLocalUnicast: question('ip_is_link_local_unicast', isLinkLocal),
    isGlobalUnicast: question('ip_is_global_unicast', isGlobal),
  },
};

const withText =
  <Value>(read: (text: string) => Value | CelError, use: (range: Cidr, value: Value) => boolean) =>
  (range: Cidr, text: string): boolean | CelError => {
    const value = read(text);
    return value instanceof CelError ? value : use(range, value);
  };

/** Ranges of addresses. */
export const cidrs: Library = {
  typeNames: { 'net.CIDR': cidrType },
  functions: {
    cidr: [fn('string_to_cidr', [stringType], cidrType, readCidr)],
    isCIDR: [fn('is_cidr', [stringType], boolType, (text: string) => readCidr(text) instanceof Cidr)],
    string: [
      fn(
        'cidr_to_string',
        [cidrType],
        stringType,
        ({ address, prefixLength }: Cidr) => `${formatIp(address)}/${prefixLength}`,
      ),
    ],
    containsIP: [
      member(
        'cidr_contains_ip_string',
        [cidrType, stringType],
        boolType,
        withText(readIp, (range, bytes) => range.contains(bytes)),
      ),
      member('cidr_contains_ip_ip', [cidrType, ipType], boolType, (range: Cidr, { bytes }: Ip) =>
        range.contains(bytes),
      ),
    ],
    containsCIDR: [
      member(
        'cidr_contains_cidr_string',
        [cidrType, stringType],
        boolType,
        withText(readCidr, (range, other) => range.containsRange(other)),
      ),
      member('cidr_contains_cidr', [cidrType, cidrType], boolType, (range: Cidr, other: Cidr) =>
        range.containsRange(other),
      ),
    ],
    prefixLength: [member('cidr_prefix_length', [cidrType], intType, ({ prefixLength }: Cidr) => BigInt(prefixLength))],
    masked: [member('cidr_masked', [cidrType], cidrType, (range: Cidr) => range.masked())],
  },
};
