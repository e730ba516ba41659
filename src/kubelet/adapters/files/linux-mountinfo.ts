import { readFile } from 'node:fs/promises';
import { fromErrno } from '../linux-errors.ts';

/**
 * One line of /proc/self/mountinfo. Reading that file never accesses a mounted file system, so it cannot hang on a dead
 * one.
 */
export interface MountInfo {
  readonly id: number;
  readonly path: string;
  readonly fsType: string;
  readonly source: string;
  /** Mounts made below it are propagated to its peers, in other mount namespaces too, and theirs to here. */
  readonly shared: boolean;
  /** Of the super block; for cgroup v1 it names the controllers. */
  readonly superOptions: readonly string[];
}

/** mountinfo writes space, tab, newline and backslash as octal. */
function unescape(text: string): string {
  return text.includes('\\')
    ? text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
    : text;
}

/** Later lines cover earlier ones with the same path. Invalid lines are skipped. */
export function parseMountInfo(text: string): MountInfo[] {
  return text.split('\n').flatMap((line) => parseLine(line) ?? []);
}

function parseLine(line: string): MountInfo | undefined {
  const fields = line.split(' ');
  const dash = fields.indexOf('-', 6);
  const [id, path, fsType, source] = [fields[0], fields[4], fields[dash + 1], fields[dash + 2]];
  if (dash < 0 || id === undefined || path === undefined || fsType === undefined || source === undefined)
    return undefined;
  return {
    id: Number(id),
    path: unescape(path),
    fsType,
    source: unescape(source),
    shared: fields.slice(6, dash).some((field) => field.startsWith('shared:')),
    superOptions: (fields[dash + 3] ?? '').split(','),
  };
}

/**
 * The mount table as of after each call. The kernel takes some 5 µs per line, and a node of a hundred pods has five
 * hundred:
 * 1. Callers during a read share the next read; never the current one, which may already have passed the line of a
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

  /** The same array as long as nothing changes. */
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
      const mount = this.#lines.get(line) ?? parseLine(line);
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

/** The mount that `path`, without symlinks, lies on: the last of the deepest. */
export function mountOf(mounts: readonly MountInfo[], path: string): MountInfo | undefined {
  return mounts
    .filter((mount) => isAtOrBelow(path, mount.path))
    .reduce<MountInfo | undefined>(
      (best, mount) => (best === undefined || mount.path.length >= best.path.length ? mount : best),
      undefined,
    );
}

export function isAtOrBelow(path: string, base: string): boolean {
  return base === '/' || path === base || path.startsWith(`${base}/`);
}
