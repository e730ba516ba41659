import { readFile } from 'node:fs/promises';
import { parseMountLine } from '../../../base/mount-info.ts';
import type { MountInfo } from '../../../base/mount-info.ts';
import { fromErrno } from '../linux-errors.ts';

/**
 * Reads the mount table. Each result is at least as new as the call that returned it. The kernel takes about 5 µs per
 * line, and a node of a hundred pods has five hundred lines. Invariants:
 * 1. Callers during a read share the next read. They do not use the current one, which may have passed the line of a
 *    mount that the caller has just made.
 * 2. A line that was in the previous read is not parsed again.
 */
export class MountTable {
  readonly #read: () => Promise<string>;
  #reading: Promise<unknown> = Promise.resolve();
  #next: Promise<readonly MountInfo[]> | undefined;
  #lines: ReadonlyMap<string, MountInfo> = new Map();
  #text = '';
  #table: readonly MountInfo[] = [];

  constructor(read: () => Promise<string>) {
    this.#read = read;
  }

  /** Returns the table. It is the same array as long as nothing changes. */
  read(): Promise<readonly MountInfo[]> {
    this.#next ??= this.#reading.then(() => {
      const reading = this.#readNow();
      this.#next = undefined;
      this.#reading = reading.catch(() => undefined);
      return reading;
    });
    return this.#next;
  }

  async #readNow(): Promise<readonly MountInfo[]> {
    const text = await this.#read();
    if (text === this.#text) return this.#table;
    const lines = new Map<string, MountInfo>();
    for (const line of text.split('\n')) {
      const mount = this.#lines.get(line) ?? parseMountLine(line);
      if (mount !== undefined) lines.set(line, mount);
    }
    this.#lines = lines;
    this.#text = text;
    this.#table = [...lines.values()];
    return this.#table;
  }
}

const MOUNTINFO = '/proc/self/mountinfo';
const own = new MountTable(() => readFile(MOUNTINFO, 'utf8'));

export async function readMountInfo(): Promise<readonly MountInfo[]> {
  try {
    return await own.read();
  } catch (error) {
    throw fromErrno(error, 'read', MOUNTINFO);
  }
}
