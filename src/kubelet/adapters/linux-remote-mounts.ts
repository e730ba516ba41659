import nodePath from 'node:path/posix';
import { lstat, readlink } from 'node:fs/promises';
import { errnoOf, fromErrno } from './linux-errors.ts';
import { readMountInfo, type MountInfo } from './linux-mountinfo.ts';

/** File systems whose server is this kernel: a stat on them waits for a disk at most, never for another machine or a user's daemon. */
const LOCAL = new Set(['ext2', 'ext3', 'ext4', 'xfs', 'btrfs', 'f2fs', 'bcachefs', 'zfs', 'vfat', 'exfat', 'iso9660', 'squashfs', 'erofs', 'tmpfs', 'ramfs', 'devtmpfs', 'devpts', 'hugetlbfs', 'rootfs', 'overlay', 'proc', 'sysfs', 'cgroup', 'cgroup2', 'securityfs', 'debugfs', 'tracefs', 'mqueue', 'bpf', 'pstore', 'configfs', 'nsfs', 'efivarfs']);
const LONGEST_SYMLINK_CHAIN = 40;

/**
 * The mount point of the first file system on the way that is not local; undefined when the whole way is local. The path is walked one component
 * at a time, and mountinfo says which file system comes next before it is touched.
 */
export async function firstRemoteMount(path: string, options: { followLast: boolean; readMounts?: () => Promise<MountInfo[]> }): Promise<string | undefined> {
  const fsTypes = new Map((await (options.readMounts ?? readMountInfo)()).map((mount) => [mount.path, mount.fsType]));
  let pending = nodePath.normalize(path).split('/').filter((part) => part !== '');
  let current = '/';
  let hops = 0;
  while (pending.length > 0) {
    const next = nodePath.join(current, pending[0] as string);
    const fsType = fsTypes.get(next);
    if (fsType !== undefined && !LOCAL.has(fsType)) return next;
    pending = pending.slice(1);
    const target = pending.length === 0 && !options.followLast ? undefined : await linkTarget(next);
    if (target === 'missing') return undefined;
    current = next;
    if (target === undefined) continue;
    if (++hops > LONGEST_SYMLINK_CHAIN) return undefined;
    pending = [...nodePath.resolve(nodePath.dirname(next), target.to).split('/').filter((part) => part !== ''), ...pending];
    current = '/';
  }
  return undefined;
}

async function linkTarget(path: string): Promise<{ to: string } | 'missing' | undefined> {
  try {
    return (await lstat(path)).isSymbolicLink() ? { to: await readlink(path) } : undefined;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return 'missing';
    throw fromErrno(error, 'lstat', path);
  }
}
