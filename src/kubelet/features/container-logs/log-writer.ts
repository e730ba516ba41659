import { Buffer } from 'node:buffer';
import { detectFormat, fixedTimestamp, parseLine, type LogFormat } from './log-parse.ts';

export interface LogShape {
  timestamps: boolean;
  /** Wall ms; older lines are left out. */
  sinceMs: number | undefined;
  limitBytes: number | undefined;
  /** Only what was written to this stream. */
  stream?: 'stdout' | 'stderr' | undefined;
}

const NEWLINE = 0x0a;

/** A line without end is taken as it is from this size on, so that no log can make the reader hold it all. */
export const LONGEST_LINE_BYTES = 1024 * 1024;

/**
 * From chunks of a log file to what the program wrote. Chunks may break anywhere; a line counts when its newline is in. Lines that are not
 * understood are left out, as upstream does.
 */
export class LogDecoder {
  readonly #shape: LogShape;
  #carry: Uint8Array = new Uint8Array();
  #format: LogFormat | undefined;
  #leftBytes: number;
  #atLineStart = true;

  constructor(shape: LogShape) {
    this.#shape = shape;
    this.#leftBytes = shape.limitBytes ?? Number.POSITIVE_INFINITY;
  }

  /** limitBytes is reached: nothing more will come. */
  get isFull(): boolean {
    return this.#leftBytes <= 0;
  }

  /** Bytes of a line whose end has not come. */
  get pendingBytes(): number {
    return this.#carry.length;
  }

  push(chunk: Uint8Array): Uint8Array {
    const data = this.#carry.length === 0 ? chunk : Buffer.concat([this.#carry, chunk]);
    const out: Uint8Array[] = [];
    let start = 0;
    while (start < data.length && !this.isFull) {
      const newline = data.indexOf(NEWLINE, start);
      const end = newline >= 0 ? newline + 1 : data.length - start >= LONGEST_LINE_BYTES ? data.length : -1;
      if (end < 0) break;
      this.#line(data.subarray(start, end), out);
      start = end;
    }
    this.#carry = this.isFull ? new Uint8Array() : data.slice(start);
    return Buffer.concat(out);
  }

  /** At the end of a file that will not grow: a last line without newline counts too, if it can be understood. */
  flush(): Uint8Array {
    const out: Uint8Array[] = [];
    if (this.#carry.length > 0 && !this.isFull) this.#line(this.#carry, out);
    this.#carry = new Uint8Array();
    return Buffer.concat(out);
  }

  #line(line: Uint8Array, out: Uint8Array[]): void {
    this.#format ??= detectFormat(line);
    const entry = this.#format === undefined ? undefined : parseLine(this.#format, line);
    if (entry === undefined) return;
    const { sinceMs, timestamps, stream } = this.#shape;
    if (stream !== undefined && entry.stream !== stream) return;
    if (sinceMs !== undefined && Date.parse(entry.timestamp) < sinceMs) return;
    if (timestamps && this.#atLineStart) this.#emit(Buffer.from(`${fixedTimestamp(entry.timestamp)} `), out);
    this.#emit(entry.content, out);
    this.#atLineStart =
      entry.content.length === 0 ? !entry.partial : entry.content[entry.content.length - 1] === NEWLINE;
  }

  #emit(bytes: Uint8Array, out: Uint8Array[]): void {
    const taken = bytes.length > this.#leftBytes ? bytes.subarray(0, this.#leftBytes) : bytes;
    this.#leftBytes -= taken.length;
    if (taken.length > 0) out.push(taken);
  }
}
