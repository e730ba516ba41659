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
  return text.includes('\\') ? text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8))) : text;
}

/** Later lines lie over earlier ones with the same path. Lines that make no sense are left out. */
export function parseMountInfo(text: string): MountInfo[] {
  const found: MountInfo[] = [];
  for (const line of text.split('\n')) {
    const fields = line.split(' ');
    const dash = fields.indexOf('-', 6);
    const [id, path, fsType, source] = [fields[0], fields[4], fields[dash + 1], fields[dash + 2]];
    if (dash < 0 || id === undefined || path === undefined || fsType === undefined || source === undefined) continue;
    found.push({ id: Number(id), path: unescape(path), fsType, source: unescape(source), shared: fields.slice(6, dash).some((field) => field.startsWith('shared:')), superOptions: (fields[dash + 3] ?? '').split(',') });
  }
  return found;
}

export async function readMountInfo(file = '/proc/self/mountinfo'): Promise<MountInfo[]> {
  try {
    return parseMountInfo(await readFile(file, 'utf8'));
  } catch (error) {
    throw fromErrno(error, 'read', file);
  }
}

/** The mount that `path`, without symlinks, lies on: the last of the deepest. */
export function mountOf(mounts: readonly MountInfo[], path: string): MountInfo | undefined {
  return mounts.filter((mount) => isAtOrBelow(path, mount.path)).reduce<MountInfo | undefined>((best, mount) => (best === undefined || mount.path.length >= best.path.length ? mount : best), undefined);
}

export function isAtOrBelow(path: string, base: string): boolean {
  return base === '/' || path === base || path.startsWith(`${base}/`);
}
