import { Buffer } from 'node:buffer';
import type { LogEntry, LogFormat } from './log-parse.ts';
import { detectFormat, fixedTimestamp, parseLine } from './log-parse.ts';

export interface LogShape {
  readonly timestamps: boolean;
  /** Wall-clock milliseconds; older lines are left out. */
  readonly sinceMs: number | undefined;
  readonly limitBytes: number | undefined;
  /** Selects only lines that were written to this stream. */
  readonly stream?: 'stdout' | 'stderr' | undefined;
}

const NEWLINE = 0x0a;

/** The length at which a line is split, so that a reader never holds a whole long line in memory. */
export const LONGEST_LINE_BYTES = 1024 * 1024;

/**
 * Parses chunks of a log file into entries. Chunks may break anywhere. A line counts when its newline has arrived.
 * Lines that cannot be parsed are skipped, as upstream does.
 */
export class EntryDecoder {
  readonly isFull = false;
  #carry: Uint8Array = new Uint8Array();
  #format: LogFormat | undefined;

  /** The number of bytes of an incomplete line. */
  get pendingBytes(): number {
    return this.#carry.length;
  }

  push(chunk: Uint8Array): readonly LogEntry[] {
    const data = this.#carry.length === 0 ? chunk : Buffer.concat([this.#carry, chunk]);
    const entries: LogEntry[] = [];
    let start = 0;
    while (start < data.length) {
      const newline = data.indexOf(NEWLINE, start);
      const end = newline >= 0 ? newline + 1 : data.length - start >= LONGEST_LINE_BYTES ? data.length : -1;
      if (end < 0) break;
      this.#line(data.subarray(start, end), entries);
      start = end;
    }
    this.#carry = data.slice(start);
    return entries;
  }

  /** Returns the last line of a file that will not grow, even without a newline, if it can be parsed. */
  flush(): readonly LogEntry[] {
    const entries: LogEntry[] = [];
    if (this.#carry.length > 0) this.#line(this.#carry, entries);
    this.#carry = new Uint8Array();
    return entries;
  }

  #line(line: Uint8Array, entries: LogEntry[]): void {
    this.#format ??= detectFormat(line);
    const entry = this.#format === undefined ? undefined : parseLine(this.#format, line);
    if (entry !== undefined) entries.push(entry);
  }
}

/** Decodes chunks like `EntryDecoder`, but returns the program's output, filtered by the options. */
export class LogDecoder {
  readonly #shape: LogShape;
  readonly #entries = new EntryDecoder();
  #leftBytes: number;
  #atLineStart = true;

  constructor(shape: LogShape) {
    this.#shape = shape;
    this.#leftBytes = shape.limitBytes ?? Number.POSITIVE_INFINITY;
  }

  /** Whether limitBytes is reached, so that no more output follows. */
  get isFull(): boolean {
    return this.#leftBytes <= 0;
  }

  /** The number of bytes of an incomplete line. */
  get pendingBytes(): number {
    return this.isFull ? 0 : this.#entries.pendingBytes;
  }

  push(chunk: Uint8Array): Uint8Array {
    return this.#shaped(this.#entries.push(chunk));
  }

  flush(): Uint8Array {
    return this.#shaped(this.#entries.flush());
  }

  #shaped(entries: readonly LogEntry[]): Uint8Array {
    const out: Uint8Array[] = [];
    for (const entry of entries) {
      if (this.isFull) break;
      this.#entry(entry, out);
    }
    return Buffer.concat(out);
  }

  #entry(entry: LogEntry, out: Uint8Array[]): void {
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
