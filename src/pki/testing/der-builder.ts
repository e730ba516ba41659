/** Builds certificates and requests from bytes, to get invalid ones that no regular program writes. */
import { Buffer } from 'node:buffer';
import { createPublicKey, sign, X509Certificate } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { toPem } from '../pem.ts';

/** An element; its length is written with `lengthBytes` more bytes than necessary. */
export function tlv(
  tag: number,
  content: Uint8Array | string | readonly Uint8Array[],
  { lengthBytes = 0 }: { readonly lengthBytes?: number } = {},
): Buffer {
  const body = Array.isArray(content)
    ? Buffer.concat(content as readonly Uint8Array[])
    : Buffer.from(content as Uint8Array);
  const digits = body.length.toString(16);
  const bytes = Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex');
  const head =
    body.length < 0x80 && lengthBytes === 0
      ? [body.length]
      : [0x80 + bytes.length + lengthBytes, ...Array.from({ length: lengthBytes }, () => 0), ...bytes];
  return Buffer.concat([Uint8Array.of(tag, ...head), body]);
}

export const sequence = (...parts: readonly Uint8Array[]): Buffer => tlv(0x30, parts);
export const set = (...parts: readonly Uint8Array[]): Buffer => tlv(0x31, [...parts].sort(Buffer.compare));
const octets = (content: Uint8Array): Buffer => tlv(0x04, content);
export const bits = (content: Uint8Array): Buffer => tlv(0x03, [Uint8Array.of(0), content]);

export function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return tlv(0x06, Uint8Array.from([first * 40 + second, ...rest].flatMap(base128)));
}

function base128(arc: number): number[] {
  const bytes = [arc % 128];
  for (let rest = Math.floor(arc / 128); rest > 0; rest = Math.floor(rest / 128)) bytes.unshift(0x80 + (rest % 128));
  return bytes;
}

export const ids = {
  cn: '2.5.4.3',
  o: '2.5.4.10',
  ou: '2.5.4.11',
  c: '2.5.4.6',
  email: '1.2.840.113549.1.9.1',
  uid: '1.3.6.1.4.1.57683.2',
  unknown: '1.2.3.4',
  extensionRequest: '1.2.840.113549.1.9.14',
  subjectAltName: '2.5.29.17',
} as const;
export const tags = {
  utf8: 0x0c,
  numeric: 0x12,
  printable: 0x13,
  t61: 0x14,
  ia5: 0x16,
  universal: 0x1c,
  bmp: 0x1e,
  constructedUtf8: 0x2c,
} as const;

/** An attribute with its type and value, which is a UTF8String unless another tag is given. */
export const attribute = (type: string, value: string | Uint8Array, tag: number = tags.utf8): Buffer =>
  sequence(objectId(type), tlv(tag, typeof value === 'string' ? Buffer.from(value) : value));
/** A value in constructed encoding, which is valid BER but not DER. */
export const constructed = (type: string, ...pieces: readonly string[]): Buffer =>
  sequence(
    objectId(type),
    tlv(
      tags.constructedUtf8,
      pieces.map((piece) => tlv(tags.utf8, Buffer.from(piece))),
    ),
  );
export const subject = (...rdns: readonly Uint8Array[]): Buffer => sequence(...rdns);
/** A subject with one RDN for each attribute. */
export const plainSubject = (...attributes: readonly Uint8Array[]): Buffer =>
  subject(...attributes.map((each) => set(each)));

export const extension = (id: string, value: Uint8Array, critical?: Uint8Array): Buffer =>
  sequence(objectId(id), ...(critical === undefined ? [] : [critical]), octets(value));
export const altNames = (...names: readonly Uint8Array[]): Buffer => extension(ids.subjectAltName, sequence(...names));
export const dnsName = (name: string | Uint8Array): Buffer =>
  tlv(0x82, typeof name === 'string' ? Buffer.from(name) : name);
export const extensionRequest = (...extensions: readonly Uint8Array[]): Buffer =>
  sequence(objectId(ids.extensionRequest), set(sequence(...extensions)));

const ecdsaWithSha256 = sequence(objectId('1.2.840.10045.4.3.2'));

export interface RawRequest {
  readonly subject: Uint8Array;
  /** An elliptic curve key, unless an algorithm is given. */
  readonly key: KeyObject;
  readonly attributes?: readonly Uint8Array[];
  readonly version?: Uint8Array;
  readonly publicKey?: Uint8Array;
  readonly algorithm?: Uint8Array;
  /** The digest of the signature; null for Ed25519. */
  readonly digest?: string | null;
}

/** A signed request as DER. */
export function requestDer({
  subject: name,
  key,
  attributes = [],
  version = tlv(0x02, Uint8Array.of(0)),
  publicKey,
  algorithm = ecdsaWithSha256,
  digest = 'sha256',
}: RawRequest): Buffer {
  const info = sequence(version, name, publicKey ?? spkiOf(key), tlv(0xa0, attributes));
  return sequence(info, algorithm, bits(sign(digest, info, key)));
}

export const requestPem = (request: RawRequest): string => toPem('CERTIFICATE REQUEST', requestDer(request));

const spkiOf = (key: KeyObject): Buffer => createPublicKey(key).export({ type: 'spki', format: 'der' });

export interface RawCertificate {
  readonly subject: Uint8Array;
  readonly key: KeyObject;
  /** The authority's certificate and elliptic curve key in PEM. */
  readonly authority: { readonly certificate: string; readonly key: KeyObject };
  readonly fromMs: number;
  readonly toMs: number;
  readonly extensions?: readonly Uint8Array[];
}

/** A certificate as DER. Its issuer is the subject of the authority's certificate. */
export function certificateDer({
  subject: name,
  key,
  authority,
  fromMs,
  toMs,
  extensions = [],
}: RawCertificate): Buffer {
  const time = (ms: number): Buffer =>
    tlv(0x18, Buffer.from(new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, '')));
  const issuer = plainSubject(
    attribute(ids.cn, new X509Certificate(authority.certificate).subject.replace('CN=', ''), tags.printable),
  );
  const version = tlv(0xa0, [tlv(0x02, Uint8Array.of(2))]);
  const serial = tlv(0x02, Uint8Array.of(7));
  const tail = extensions.length === 0 ? [] : [tlv(0xa3, [sequence(...extensions)])];
  const signed = sequence(
    version,
    serial,
    ecdsaWithSha256,
    issuer,
    sequence(time(fromMs), time(toMs)),
    name,
    spkiOf(key),
    ...tail,
  );
  return sequence(signed, ecdsaWithSha256, bits(sign('sha256', signed, authority.key)));
}
