/**
 * Strict DER (X.690), with one encoding for each value. Values that are only valid BER are rejected, so that all
 * parsers read the same.
 */
import { KubeletError } from '../base/errors.ts';

export const derTags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  objectId: 0x06,
  utf8String: 0x0c,
  printableString: 0x13,
  sequence: 0x30,
  set: 0x31,
} as const;

export interface DerElement {
  readonly tag: number;
  readonly content: Uint8Array;
  /** The encoding with tag and length. */
  readonly bytes: Uint8Array;
}

export const derError = (what: string): KubeletError => new KubeletError('Invalid', `asn1: ${what}`);

/** Reads the elements of a structure in order. Each call reads one; `end` rejects remaining elements. */
export class DerFields {
  readonly #content: Uint8Array;
  #at = 0;

  constructor(content: Uint8Array) {
    this.#content = content;
  }

  get isEmpty(): boolean {
    return this.#at === this.#content.length;
  }

  any(what: string): DerElement {
    const element = elementAt(this.#content, this.#at, what);
    this.#at += element.bytes.length;
    return element;
  }

  /** The next element, which must have this tag. */
  take(tag: number, what: string): DerElement {
    const element = this.any(what);
    if (element.tag !== tag)
      throw derError(`${what} has the tag 0x${element.tag.toString(16)} instead of 0x${tag.toString(16)}`);
    return element;
  }

  /** The next element if it has this tag. */
  optional(tag: number, what: string): DerElement | undefined {
    return this.#content[this.#at] === tag ? this.any(what) : undefined;
  }

  /** All remaining elements, which must have this tag. */
  all(tag: number, what: string): DerElement[] {
    const elements: DerElement[] = [];
    while (!this.isEmpty) elements.push(this.take(tag, what));
    return elements;
  }

  end(what: string): void {
    if (!this.isEmpty) throw derError(`there is more than expected in ${what}`);
  }
}

/** The only element in the bytes. */
export function readOnly(bytes: Uint8Array, tag: number, what: string): DerElement {
  const fields = new DerFields(bytes);
  const element = fields.take(tag, what);
  if (!fields.isEmpty) throw derError(`there are bytes after ${what}`);
  return element;
}

function elementAt(bytes: Uint8Array, at: number, what: string): DerElement {
  const tag = bytes[at];
  const first = bytes[at + 1];
  if (tag === undefined || first === undefined) throw derError(`${what} is cut off`);
  if ((tag & 0x1f) === 0x1f) throw derError(`${what} has a long tag`);
  const lengthBytes = first < 0x80 ? 0 : first & 0x7f;
  if (first === 0x80 || lengthBytes > 4) throw derError(`the length of ${what} is indefinite or too long`);
  const start = at + 2 + lengthBytes;
  const length = lengthBytes === 0 ? first : bytes.subarray(at + 2, start).reduce((sum, byte) => sum * 256 + byte, 0);
  if (lengthBytes > 0 && (length < 0x80 || length < 256 ** (lengthBytes - 1)))
    throw derError(`the length of ${what} is not minimal`);
  if (start + length > bytes.length) throw derError(`${what} is cut off`);
  return { tag, content: bytes.subarray(start, start + length), bytes: bytes.subarray(at, start + length) };
}

/** An object identifier in dotted notation. */
export function readObjectId({ content }: DerElement): string {
  const arcs: number[] = [];
  let [arc, isOpen] = [0, false];
  for (const byte of content) {
    if (!isOpen && byte === 0x80) throw derError('an object identifier is not minimal');
    arc = arc * 128 + (byte & 0x7f);
    if (arc > 0x7fff_ffff) throw derError('an object identifier is too large');
    isOpen = byte >= 0x80;
    if (isOpen) continue;
    arcs.push(arc);
    arc = 0;
  }
  const [first, ...rest] = arcs;
  if (isOpen || first === undefined) throw derError('an object identifier is cut off');
  const top = Math.min(Math.floor(first / 40), 2);
  return [top, first - top * 40, ...rest].join('.');
}

/** A bit string with a multiple of eight bits. */
export function readBits({ content }: DerElement, what: string): Uint8Array {
  if (content[0] !== 0) throw derError(`${what} is not a string of whole bytes`);
  return content.subarray(1);
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A text: PrintableString or UTF8String, in primitive encoding, not empty and without control characters. */
export function readText({ tag, content }: DerElement, what: string): string {
  let text: string;
  if (tag === derTags.printableString) {
    text = Buffer.from(content).toString('latin1');
    if (!/^[A-Za-z0-9 '()+,\-./:=?]*$/.test(text)) throw derError(`${what} has characters that no PrintableString has`);
  } else if (tag === derTags.utf8String) {
    try {
      text = utf8.decode(content);
    } catch {
      throw derError(`${what} is not UTF-8`);
    }
  } else throw derError(`${what} is neither PrintableString nor UTF8String but has the tag 0x${tag.toString(16)}`);
  if (text === '') throw derError(`${what} is empty`);
  if (/\p{Cc}/u.test(text)) throw derError(`${what} has control characters`);
  return text;
}
