import { readFile } from 'node:fs/promises';
import { fromErrno } from '../linux-errors.ts';

/** One line of /proc/self/mountinfo. Reading that file never touches a mounted file system, so it cannot hang on a dead one. */
export interface MountInfo {
  id: number;
  path: string;
  fsType: string;
  source: string;
  /** Mounts made below it are seen in its peers, other mount namespaces among them, and theirs here. */
  shared: boolean;
  /** Of the super block; for cgroup v1 it names the controllers. */
  superOptions: readonly string[];
}

/** mountinfo writes space, tab, newline and backslash as octal. */
function unescape(text: string): string {
  return text.includes('\\')
    ? text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
    : text;
}

/** Later lines lie over earlier ones with the same path. Lines that make no sense are left out. */
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
 * The table of mounts as it is after each call. The kernel takes some 5 µs to write a line of it, and a node of a hundred pods has five hundred:
 * 1. Who asks while it is being read shares the next reading with all who ask meanwhile; never the one that has begun, which may have passed the
 *    line of a mount that the caller has just made.
 * 2. A line that was in the reading before is not parsed again.
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

  /** The same array for as long as nothing changes. */
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
