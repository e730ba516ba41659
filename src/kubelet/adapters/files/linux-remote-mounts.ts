import { errnoOf } from '../../../base/errors.ts';
import nodePath from 'node:path/posix';
import { realpath } from 'node:fs';
import { lstat, readlink } from 'node:fs/promises';
import { promisify } from 'node:util';
import { fromErrno } from '../linux-errors.ts';
import type { MountInfo } from '../../../base/mount-info.ts';
import { readMountInfo } from './linux-mountinfo.ts';

/**
 * File systems that this kernel serves. A stat on them waits at most for a disk, and never for another machine or a
 * user's daemon.
 */
const local = new Set([
  'ext2',
  'ext3',
  'ext4',
  'xfs',
  'btrfs',
  'f2fs',
  'bcachefs',
  'zfs',
  'vfat',
  'exfat',
  'iso9660',
  'squashfs',
  'erofs',
  'tmpfs',
  'ramfs',
  'devtmpfs',
  'devpts',
  'hugetlbfs',
  'rootfs',
  'overlay',
  'proc',
  'sysfs',
  'cgroup',
  'cgroup2',
  'securityfs',
  'debugfs',
  'tracefs',
  'mqueue',
  'bpf',
  'pstore',
  'configfs',
  'nsfs',
  'efivarfs',
  'binfmt_misc',
  'fusectl',
  'selinuxfs',
  'resctrl',
]);
const LONGEST_SYMLINK_CHAIN = 40;
/** The automount point of one of the kernel's own file systems. */
const BINFMT_MISC = '/proc/sys/fs/binfmt_misc';

const realpathAtOnce = promisify(realpath.native);

export interface Way {
  /**
   * The path without symlinks, as far as it could be walked without accessing what may hang. The last name is followed
   * only on request.
   */
  readonly real: string;
  /** The mount point of the first file system of the path that is not local; undefined if all are local. */
  readonly remote: string | undefined;
}

/** Keyed by the table, which is the same array as long as nothing changes. */
const remotePlaces = new WeakMap<readonly MountInfo[], ReadonlySet<string>>();

/** Returns the mount points of file systems that are not local, unless they are covered. */
function remotePlacesOf(mounts: readonly MountInfo[]): ReadonlySet<string> {
  const known = remotePlaces.get(mounts);
  if (known !== undefined) return known;
  const fsTypes = new Map(mounts.map((mount) => [mount.path, mount.fsType]));
  const found = new Set(
    [...fsTypes]
      .filter(([path, fsType]) => !local.has(fsType) && !(fsType === 'autofs' && path === BINFMT_MISC))
      .map(([path]) => path),
  );
  remotePlaces.set(mounts, found);
  return found;
}

/**
 * Walks a path one component at a time. mountinfo shows which file system comes next before it is accessed. If there is
 * no mount that is not local, the walk is a single call.
 */
export async function walkLocal(
  path: string,
  options: { followLast: boolean; mounts: readonly MountInfo[] },
): Promise<Way> {
  const remote = remotePlacesOf(options.mounts);
  return (
    (remote.size === 0 ? await walkAtOnce(path, options.followLast) : undefined) ??
    walkByParts(path, options.followLast, remote)
  );
}

/** Walks in one call; undefined if the path does not exist, and then the walk by parts finds how far it leads. */
async function walkAtOnce(path: string, followLast: boolean): Promise<Way | undefined> {
  const parts = partsOf(path);
  const last = followLast ? undefined : parts.pop();
  try {
    const real = await realpathAtOnce(`/${parts.join('/')}`);
    return { real: last === undefined ? real : nodePath.join(real, last), remote: undefined };
  } catch {
    return undefined; // return undefined; // The walk by parts finds the problem.
  }
}

async function walkByParts(path: string, followLast: boolean, remote: ReadonlySet<string>): Promise<Way> {
  let pending = partsOf(path);
  let current = '/';
  let hops = 0;
  while (pending.length > 0) {
    const next = nodePath.join(current, pending[0] as string);
    if (remote.has(next)) return { real: nodePath.join(current, ...pending), remote: next };
    const rest = pending.slice(1);
    const target = rest.length === 0 && !followLast ? undefined : await linkTarget(next);
    if (target === 'missing' || (target !== undefined && ++hops > LONGEST_SYMLINK_CHAIN))
      return { real: nodePath.join(current, ...pending), remote: undefined };
    pending = target === undefined ? rest : [...partsOf(nodePath.resolve(nodePath.dirname(next), target.to)), ...rest];
    current = target === undefined ? next : '/';
  }
  return { real: current, remote: undefined };
}

export async function firstRemoteMount(
  path: string,
  options: { followLast: boolean; readMounts?: () => Promise<readonly MountInfo[]> },
): Promise<string | undefined> {
  return (
    await walkLocal(path, { followLast: options.followLast, mounts: await (options.readMounts ?? readMountInfo)() })
  ).remote;
}

/**
 * Returns the real path. The mount table lists real paths, so a path through a symlink (such as a root directory that
 * is one) would not be found.
 */
export async function realPlace(path: string, mounts: readonly MountInfo[]): Promise<string> {
  return (await walkLocal(path, { followLast: false, mounts })).real;
}

const partsOf = (path: string): string[] =>
  nodePath
    .normalize(path)
    .split('/')
    .filter((part) => part !== '');

async function linkTarget(path: string): Promise<{ to: string } | 'missing' | undefined> {
  try {
    return (await lstat(path)).isSymbolicLink() ? { to: await readlink(path) } : undefined;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return 'missing';
    throw fromErrno(error, 'lstat', path);
  }
}
