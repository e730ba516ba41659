import { Buffer } from 'node:buffer';
import type { LogFile } from '../../ports/log-files.ts';
import { detectFormat, parseLine } from './log-parse.ts';
import { LONGEST_LINE_BYTES } from './log-writer.ts';

const BLOCK_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

export interface TailStart {
  readonly offsetBytes: number;
  /** The number of complete program lines from that position; fewer than requested if the file has fewer. */
  readonly lines: number;
}

/**
 * Finds where the last `wanted` lines of the program begin. It reads backwards in blocks. Pieces of one long line count
 * as one line, so that a tail never begins in the middle of it (upstream counts pieces). A last line without newline is
 * not counted.
 */
export async function findTailStart(
  file: Pick<LogFile, 'read'>,
  sizeBytes: number,
  wanted: number,
): Promise<TailStart> {
  let carry: Uint8Array = new Uint8Array();
  let blockStart = sizeBytes;
  let lines = 0;
  while (blockStart > 0) {
    const length = Math.min(BLOCK_BYTES, blockStart);
    blockStart -= length;
    const block = await readFully(file, blockStart, length);
    const data = carry.length === 0 ? block : Buffer.concat([block, carry]);
    // A line ends at `end`, including its newline. It begins after the previous newline.
    let end = data.lastIndexOf(NEWLINE) + 1;
    while (end > 0) {
      const start = end === 1 ? 0 : data.lastIndexOf(NEWLINE, end - 2) + 1;
      const isWhole = start > 0 || blockStart === 0 || end - start > LONGEST_LINE_BYTES;
      if (!isWhole) break;
      if (endsLine(data.subarray(start, end))) {
        // The rest belongs to lines that are already counted.
        if (lines === wanted) return { offsetBytes: blockStart + end, lines };
        lines++;
      }
      end = start;
    }
    carry = data.slice(0, end);
  }
  return { offsetBytes: 0, lines };
}

function endsLine(line: Uint8Array): boolean {
  const format = detectFormat(line);
  const entry = format === undefined ? undefined : parseLine(format, line);
  return entry === undefined || !entry.partial;
}

async function readFully(file: Pick<LogFile, 'read'>, offsetBytes: number, lengthBytes: number): Promise<Uint8Array> {
  const first = await file.read(offsetBytes, lengthBytes);
  if (first.length === lengthBytes || first.length === 0) return first;
  const rest = await readFully(file, offsetBytes + first.length, lengthBytes - first.length);
  return Buffer.concat([first, rest]);
}
