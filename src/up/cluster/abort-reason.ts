import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';

/** Node's report of an abort is a few kilobytes at the end of the log. */
const END_BYTES = 64 * 1024;
const reasonPattern = /^[ #]{0,8}((?:Assertion failed|FATAL ERROR): .{1,300})/m;

/** Why Node aborted the program, from the part of its log after `offset`; undefined if it contains no reason. */
export function abortReason(log: string, offset: number): string | undefined {
  if (!existsSync(log)) return undefined;
  const { size } = statSync(log);
  const from = Math.max(offset, size - END_BYTES);
  const bytes = Buffer.alloc(Math.max(size - from, 0));
  const file = openSync(log, 'r');
  try {
    const length = readSync(file, bytes, 0, bytes.length, from);
    return reasonPattern.exec(bytes.toString('utf8', 0, length))?.[1];
  } finally {
    closeSync(file);
  }
}
