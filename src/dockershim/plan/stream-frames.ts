import { Buffer } from 'node:buffer';
import { KubeletError } from '../../base/errors.ts';

export interface StreamPart {
  readonly stream: 'stdout' | 'stderr';
  readonly data: Buffer;
}

const HEAD_BYTES = 8;
const STDERR = 2;
const MOST_STREAM = 3;

/**
 * Splits the output that Docker sends for a command without a terminal: each frame has a stream number and a length.
 * Data is passed on as it arrives, not frame by frame. Throws `Invalid` for a header that Docker never sends.
 */
export class StreamFrames {
  #head: Buffer = Buffer.alloc(0);
  #left = 0;
  #stream: StreamPart['stream'] = 'stdout';

  push(chunk: Buffer): StreamPart[] {
    const parts: StreamPart[] = [];
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#left === 0) {
        const wanted = HEAD_BYTES - this.#head.length;
        this.#head = Buffer.concat([this.#head, rest.subarray(0, wanted)]);
        rest = rest.subarray(wanted);
        if (this.#head.length === HEAD_BYTES) this.#begin();
        continue;
      }
      const data = rest.subarray(0, this.#left);
      rest = rest.subarray(this.#left);
      this.#left -= data.length;
      parts.push({ stream: this.#stream, data });
    }
    return parts;
  }

  #begin(): void {
    const number = this.#head[0] ?? 0;
    if (number > MOST_STREAM || this.#head[1] !== 0) throw new KubeletError('Invalid', 'not a stream of Docker');
    this.#stream = number === STDERR ? 'stderr' : 'stdout';
    this.#left = this.#head.readUInt32BE(4);
    this.#head = Buffer.alloc(0);
  }
}
