import { Buffer } from 'node:buffer';

const START_BYTES = 16_384;
/** Longer strings are written by the runtime, whose call costs more than writing a few characters here. */
const SHORT_TEXT = 48;
const LOW_BITS = 0x80;

/** Protobuf's wire types. */
export const wireTypes = { varint: 0, fixed64: 1, bytes: 2 } as const;

/**
 * Writes a message from its end to its start. The length of each part is then known when it is written, and nothing is
 * copied. Callers write the last field first, and for each field the value before the tag.
 */
export class MessageWriter {
  readonly #startBytes: number;
  #bytes: Buffer;
  #at: number;

  constructor(startBytes = START_BYTES) {
    this.#startBytes = startBytes;
    this.#bytes = Buffer.allocUnsafe(startBytes);
    this.#at = startBytes;
  }

  /** The number of bytes written. */
  get length(): number {
    return this.#bytes.length - this.#at;
  }

  /** A copy of the written bytes; the writer is empty afterwards. */
  finish(): Buffer {
    const message = Buffer.from(this.#bytes.subarray(this.#at));
    // The buffer of a large message is not kept.
    if (this.#bytes.length > this.#startBytes) this.#bytes = Buffer.allocUnsafe(this.#startBytes);
    this.#at = this.#bytes.length;
    return message;
  }

  /** Discards the written bytes, after an error. */
  reset(): void {
    this.#at = this.#bytes.length;
  }

  tag(number: number, wireType: number): void {
    this.uint(number * 8 + wireType);
  }

  /** Writes the tag of a length-delimited field and its length: everything that was written since `before`. */
  lengthSince(before: number, number: number): void {
    this.uint(this.length - before);
    this.tag(number, wireTypes.bytes);
  }

  /** An integer from 0 to 2^53. */
  uint(value: number): void {
    this.#reserve(8);
    if (value < LOW_BITS) {
      this.#bytes[--this.#at] = value;
      return;
    }
    const start = this.#at - varintBytes(value);
    let at = start;
    let rest = value;
    for (; rest >= LOW_BITS; rest = Math.floor(rest / LOW_BITS)) this.#bytes[at++] = (rest % LOW_BITS) + LOW_BITS;
    this.#bytes[at] = rest;
    this.#at = start;
  }

  int(value: number | bigint): void {
    if (typeof value === 'number' && value >= 0) return this.uint(value);
    this.#reserve(10);
    // Negative numbers are ten bytes: those of two's complement in 64 bits.
    let rest = BigInt.asUintN(64, BigInt(value));
    const bytes: number[] = [];
    for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) + LOW_BITS);
    bytes.push(Number(rest));
    for (const byte of bytes.reverse()) this.#bytes[--this.#at] = byte;
  }

  double(value: number): void {
    this.#reserve(8);
    this.#at -= 8;
    this.#bytes.writeDoubleLE(value, this.#at);
  }

  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#at -= bytes.length;
    this.#bytes.set(bytes, this.#at);
  }

  /** As UTF-8. */
  text(text: string): void {
    if (text.length <= SHORT_TEXT && this.#ascii(text)) return;
    const size = Buffer.byteLength(text);
    this.#reserve(size);
    this.#at -= size;
    this.#bytes.write(text, this.#at, size);
  }

  /** False when the string is not only ASCII; then nothing is written. */
  #ascii(text: string): boolean {
    this.#reserve(text.length);
    let at = this.#at;
    for (let index = text.length - 1; index >= 0; index--) {
      const code = text.charCodeAt(index);
      if (code >= LOW_BITS) return false;
      this.#bytes[--at] = code;
    }
    this.#at = at;
    return true;
  }

  #reserve(size: number): void {
    if (this.#at >= size) return;
    const used = this.length;
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, used + size));
    this.#bytes.copy(larger, larger.length - used, this.#at);
    this.#at = larger.length - used;
    this.#bytes = larger;
  }
}

function varintBytes(value: number): number {
  let size = 1;
  for (let rest = value; rest >= LOW_BITS; rest = Math.floor(rest / LOW_BITS)) size++;
  return size;
}
