import { Buffer } from 'node:buffer';

/** How much of either side is kept: more than a runtime buffers of an unfinished line. */
const MOST_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

const keepEnd = (kept: Buffer, chunk: Uint8Array): Buffer => {
  const joined = Buffer.concat([kept, chunk]);
  // A copy: a view would keep all earlier data in memory.
  return joined.length > MOST_BYTES ? Buffer.from(joined.subarray(joined.length - MOST_BYTES)) : joined;
};

/**
 * One output of a container from two readers: its log, which starts at the beginning and has complete lines, and the
 * attached stream, which began at some moment and has every byte since. Computes what the second has beyond the first.
 */
export class LiveRemainder {
  #logged: Buffer = Buffer.alloc(0);
  #live: Buffer = Buffer.alloc(0);
  #loggedBytes = 0;
  #liveBytes = 0;

  addLogged(chunk: Uint8Array): void {
    this.#loggedBytes += chunk.length;
    this.#logged = keepEnd(this.#logged, chunk);
  }

  addLive(chunk: Uint8Array): void {
    this.#liveBytes += chunk.length;
    this.#live = keepEnd(this.#live, chunk);
  }

  /** The part of the unfinished line. undefined: the log is behind by a complete line or more. */
  compute(): Buffer | undefined {
    const rest = this.#live.subarray(overlapBytes(this.#logged, this.#live));
    // Where lines repeat, the ends look alike; then the lengths decide, because nothing can have been sent that was not
    // written.
    return rest.includes(NEWLINE) || this.#loggedBytes < this.#liveBytes - rest.length ? undefined : rest;
  }

  /**
   * Whether `compute` may be wrong because lines repeat: the log may then be behind by lines that look like those that
   * it has.
   */
  isAmbiguous(): boolean {
    const { bytes, shorterBytes } = overlap(this.#logged, this.#live);
    const common = this.#live.subarray(0, bytes);
    if (!common.includes(NEWLINE)) return false;
    const isRepeated = this.#logged.indexOf(common) < this.#logged.length - bytes;
    return isRepeated || (shorterBytes > 0 && common.subarray(shorterBytes).includes(NEWLINE));
  }
}

/** The length of the longest prefix of `later` that is a suffix of `earlier`. */
export const overlapBytes = (earlier: Buffer, later: Buffer): number => overlap(earlier, later).bytes;

/** With it the next shorter one, 0 where there is none. Linear (Knuth, Morris and Pratt). */
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
