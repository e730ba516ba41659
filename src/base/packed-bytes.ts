import { constants, deflateRawSync, inflateRawSync } from 'node:zlib';
import { unsharedCopy } from './unshared-copy.ts';

const settings = { level: constants.Z_BEST_SPEED };
/** The length below which bytes are not compressed. */
const SHORT = 4096;

/** Bytes that are rarely read, kept compressed. Concurrent readers share one copy. */
export class PackedBytes {
  readonly #kept: Buffer;
  readonly #isShort: boolean;
  #unpacked: WeakRef<Buffer> | undefined;

  constructor(content: string | Uint8Array) {
    const bytes = typeof content === 'string' ? Buffer.from(content) : content;
    this.#isShort = bytes.length < SHORT;
    this.#kept = unsharedCopy(this.#isShort ? bytes : deflateRawSync(bytes, settings));
  }

  /** The memory that this object holds. */
  get heldBytes(): number {
    return this.#kept.buffer.byteLength;
  }

  get bytes(): Buffer {
    if (this.#isShort) return this.#kept;
    let bytes = this.#unpacked?.deref();
    if (bytes === undefined) {
      bytes = inflateRawSync(this.#kept);
      this.#unpacked = new WeakRef(bytes);
    }
    return bytes;
  }
}
