import { Buffer } from 'node:buffer';

/** How many bytes of either side are kept: more than a runtime buffers of an unfinished line. */
const MOST_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

/** The last bytes that were added. The cost of an addition depends on the chunk, not on the kept bytes. */
class KeptEnd {
  #buffer: Buffer = Buffer.alloc(0);
  #endBytes = 0;

  add(chunk: Uint8Array): void {
    const added = chunk.length > MOST_BYTES ? chunk.subarray(chunk.length - MOST_BYTES) : chunk;
    if (this.#endBytes + added.length > this.#buffer.length) this.#makeRoom(added.length);
    this.#buffer.set(added, this.#endBytes);
    this.#endBytes += added.length;
  }

  /** Returns the bytes, which are valid until the next addition. */
  bytes(): Buffer {
    return this.#buffer.subarray(Math.max(0, this.#endBytes - MOST_BYTES), this.#endBytes);
  }

  #makeRoom(addedBytes: number): void {
    const kept = this.bytes();
    const wantedBytes = Math.min(2 * MOST_BYTES, 2 * (kept.length + addedBytes));
    if (wantedBytes > this.#buffer.length) this.#buffer = Buffer.alloc(wantedBytes);
    kept.copy(this.#buffer);
    this.#endBytes = kept.length;
  }
}

/**
 * Compares the output of a container from two readers: its log, which starts at the beginning and has complete lines,
 * and the attached stream, which began at some moment and has every byte since. Computes what the stream has beyond the
 * log.
 */
export class LiveRemainder {
  readonly #logged = new KeptEnd();
  readonly #live = new KeptEnd();
  #loggedBytes = 0;
  #liveBytes = 0;

  addLogged(chunk: Uint8Array): void {
    this.#loggedBytes += chunk.length;
    this.#logged.add(chunk);
  }

  addLive(chunk: Uint8Array): void {
    this.#liveBytes += chunk.length;
    this.#live.add(chunk);
  }

  /**
   * Returns the unfinished line that the log does not have; undefined if the log is behind by a complete line or more.
   */
  compute(): Buffer | undefined {
    const live = this.#live.bytes();
    const rest = live.subarray(overlapBytes(this.#logged.bytes(), live));
    // If lines repeat, the ends are equal. Then the lengths decide, because nothing can have been sent that was not
    // written.
    return rest.includes(NEWLINE) || this.#loggedBytes < this.#liveBytes - rest.length ? undefined : Buffer.from(rest);
  }

  /**
   * Whether `compute` may be wrong because lines repeat. The log may then be behind by lines that look like its own.
   */
  isAmbiguous(): boolean {
    const [logged, live] = [this.#logged.bytes(), this.#live.bytes()];
    const { bytes, shorterBytes } = overlap(logged, live);
    const common = live.subarray(0, bytes);
    if (!common.includes(NEWLINE)) return false;
    const isRepeated = logged.indexOf(common) < logged.length - bytes;
    return isRepeated || (shorterBytes > 0 && common.subarray(shorterBytes).includes(NEWLINE));
  }
}

/** Returns the length of the longest prefix of `later` that is a suffix of `earlier`. */
export const overlapBytes = (earlier: Buffer, later: Buffer): number => overlap(earlier, later).bytes;

/** Also returns the next shorter length, or 0 if there is none. The cost is linear (Knuth, Morris and Pratt). */
function overlap(earlier: Buffer, later: Buffer): { readonly bytes: number; readonly shorterBytes: number } {
  if (later.length === 0) return { bytes: 0, shorterBytes: 0 };
  const borders = new Uint32Array(later.length);
  for (let at = 1, length = 0; at < later.length; at += 1) {
    while (length > 0 && later[at] !== later[length]) length = borders[length - 1] as number;
    if (later[at] === later[length]) length += 1;
    borders[at] = length;
  }
  let length = 0;
  for (let at = Math.max(0, earlier.length - later.length); at < earlier.length; at += 1) {
    while (length > 0 && (length === later.length || earlier[at] !== later[length]))
      length = borders[length - 1] as number;
    if (earlier[at] === later[length]) length += 1;
  }
  return { bytes: length, shorterBytes: length === 0 ? 0 : (borders[length - 1] as number) };
}
