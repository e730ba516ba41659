import { lstat, opendir, readFile, stat, statfs } from 'node:fs/promises';
import { readMountInfo } from '../files/linux-mountinfo.ts';
import { errnoOf, KubeletError } from '../../../base/errors.ts';
import type { FsStats, FsUse, TreeUse } from '../../ports/stats.ts';
import { fromErrno } from '../linux-errors.ts';
import { parseDisks } from './kernel-text.ts';
import { runKillable } from '../process/linux-killable.ts';

/** The time limit of a statfs on a mount that may be dead. The child that calls it is then abandoned. */
const REMOTE_LIMIT_MS = 10_000;
const BLOCK_BYTES = 512;

/** Reads a file system of the node's own disks. */
async function readFileSystem(path: string, nowMs: () => number): Promise<FsUse> {
  try {
    const { blocks, bavail, bfree, bsize, files, ffree } = await statfs(path);
    return {
      atMs: nowMs(),
      capacityBytes: blocks * bsize,
      availableBytes: bavail * bsize,
      freeBytes: bfree * bsize,
      inodes: files,
      inodesFree: ffree,
    };
  } catch (error) {
    throw fromErrno(error, 'statfs', path);
  }
}

/**
 * Reads a file system at a path from users. It costs a few milliseconds for a child process, which may hang instead of
 * the agent.
 */
async function readRemoteFileSystem(path: string, nowMs: () => number): Promise<FsUse> {
  const { exitCode, stdout, stderr } = await runKillable('stat', ['-f', '-c', '%S %b %a %f %c %d', '--', path], {
    timeoutMs: REMOTE_LIMIT_MS,
    op: `statfs ${path}`,
  });
  const [blockBytes, blocks, available, free, inodes, inodesFree] = stdout.trim().split(' ').map(Number);
  if (
    exitCode !== 0 ||
    blockBytes === undefined ||
    blocks === undefined ||
    available === undefined ||
    free === undefined ||
    inodes === undefined ||
    inodesFree === undefined
  )
    throw new KubeletError('Unavailable', `statfs ${path}: ${stderr.trim()}`, { op: 'statfs' });
  return {
    atMs: nowMs(),
    capacityBytes: blocks * blockBytes,
    availableBytes: available * blockBytes,
    freeBytes: free * blockBytes,
    inodes,
    inodesFree,
  };
}

/**
 * Measures blocks and inodes below a folder of the node's own disk, each file once even if it has several names. Other
 * file systems mounted below are skipped, as with `du -x`.
 */
async function measureTree(path: string, limitMs: number, nowMs: () => number): Promise<TreeUse> {
  const endMs = nowMs() + limitMs;
  const linked = new Set<number>();
  const use = { usedBytes: 0, inodesUsed: 0 };
  const add = (entry: { blocks: number; nlink: number; ino: number; isDirectory(): boolean }): void => {
    if (entry.nlink > 1 && !entry.isDirectory()) {
      if (linked.has(entry.ino)) return;
      linked.add(entry.ino);
    }
    use.usedBytes += entry.blocks * BLOCK_BYTES;
    use.inodesUsed++;
  };
  const root = await lstat(path).catch((error: unknown) => {
    throw fromErrno(error, 'measure', path);
  });
  add(root);
  const folders = root.isDirectory() ? [path] : [];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for await (const name of namesIn(folder)) {
      if (nowMs() > endMs)
        throw new KubeletError('Timeout', `measure ${path}: not done within ${limitMs} ms`, { op: 'measure' });
      const entry = await lstat(`${folder}/${name}`).catch(ignoreGone);
      if (entry === undefined || entry.dev !== root.dev) continue;
      add(entry);
      if (entry.isDirectory()) folders.push(`${folder}/${name}`);
    }
  }
  return { atMs: nowMs(), ...use };
}

/** Iterates over names in portions, so that a folder with millions of files costs no more memory than a small one. */
async function* namesIn(folder: string): AsyncGenerator<string> {
  const reader = await opendir(folder).catch(ignoreGone);
  if (reader === undefined) return;
  for await (const entry of reader) yield entry.name;
}

function ignoreGone(error: unknown): undefined {
  if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return undefined;
  throw fromErrno(error, 'measure', '');
}

/**
 * Returns the device by its number in the table of disks. A file system without a disk is named by its mount source.
 */
async function readDevice(path: string): Promise<string> {
  const { dev } = await stat(path);
  // The numbers are packed as makedev does for 32 bits, which is what stat returns.
  const [major, minor] = [(dev >>> 8) & 0xfff, (dev & 0xff) | ((dev >>> 12) & 0xfff00)];
  const disk = parseDisks(await readFile('/proc/diskstats', 'utf8')).find(
    (each) => each.major === major && each.minor === minor,
  );
  if (disk !== undefined) return disk.device;
  return (await readMountInfo()).find(({ device }) => device === `${major}:${minor}`)?.source ?? '';
}

export function linuxFsStats(nowMs: () => number): FsStats {
  return {
    fileSystem: (path) => readFileSystem(path, nowMs),
    remoteFileSystem: (path) => readRemoteFileSystem(path, nowMs),
    device: readDevice,
    tree: (path, limitMs) => measureTree(path, limitMs, nowMs),
  };
}
