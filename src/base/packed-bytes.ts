import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { unsharedCopy } from './unshared-copy.ts';

/** Zstandard takes half the processor time of Deflate for the same length. */
const settings = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
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
    this.#kept = unsharedCopy(
      this.#isShort ? bytes : zstdCompressSync(bytes, { ...settings, pledgedSrcSize: bytes.length }),
    );
  }

  /** The memory that this object holds. */
  get heldBytes(): number {
    return this.#kept.buffer.byteLength;
  }

  get bytes(): Buffer {
    if (this.#isShort) return this.#kept;
    let bytes = this.#unpacked?.deref();
    if (bytes === undefined) {
      bytes = zstdDecompressSync(this.#kept);
      this.#unpacked = new WeakRef(bytes);
    }
    return bytes;
  }
}
