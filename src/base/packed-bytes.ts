import { constants, deflateRawSync, inflateRawSync } from 'node:zlib';

const settings = { level: constants.Z_BEST_SPEED };
/** Shorter ones are kept as they are. */
const SHORT = 4096;

/** Bytes that are seldom read, kept compressed; readers at about the same time share one copy. */
export class PackedBytes {
  readonly #kept: Buffer;
  readonly #isShort: boolean;
  #unpacked: WeakRef<Buffer> | undefined;

  constructor(content: string | Uint8Array) {
    const bytes = typeof content === 'string' ? Buffer.from(content) : Buffer.from(content);
    this.#isShort = bytes.length < SHORT;
    // A copy of its own size: zlib's result may share a larger buffer.
    this.#kept = this.#isShort ? bytes : Buffer.from(deflateRawSync(bytes, settings));
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
