import { errnoOf } from '../../../base/errors.ts';
import type { BigIntStats, Dirent } from 'node:fs';
import {
  chmodSync,
  chownSync,
  close,
  closeSync,
  constants,
  fstat,
  fstatSync,
  lchownSync,
  mkdirSync,
  open,
  opendirSync,
  openSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  unlinkSync,
} from 'node:fs';
import { chmod, chown, lchown, mkdir, opendir, readFile, readlink, rmdir, unlink } from 'node:fs/promises';
import { promisify } from 'node:util';

type Maybe<T> = T | Promise<T>;

/** A path. Names in directories are bytes, and a pod can create names that are not valid text. */
export type FdPath = string | Buffer;

/** The name of a directory entry, and whether it is marked as a directory (some file systems do not mark it). */
export interface DirectoryEntry {
  readonly name: Buffer;
  readonly isDirectory: boolean;
}

/**
 * The system calls of a walk by file descriptors. Node has no openat, so `/proc/self/fd/N/name` replaces it: it is
 * resolved from the open directory, even if that was moved. There are two implementations: the agent's, on the thread
 * pool, and the child's, which may block.
 */
export interface FdOps {
  open(path: FdPath, flags: number): Maybe<number>;
  close(fd: number): Maybe<void>;
  /** Returns bigints, because inode numbers can exceed what a double represents exactly. */
  fstat(fd: number): Maybe<BigIntStats>;
  readlink(path: FdPath): Maybe<string>;
  mkdir(path: FdPath, mode: number): Maybe<unknown>;
  chmod(path: FdPath, mode: number): Maybe<void>;
  /** Changes the owner, and follows links. It is meant for `/proc/self/fd/N`. */
  chown(path: FdPath, uid: number, gid: number): Maybe<void>;
  lchown(path: FdPath, uid: number, gid: number): Maybe<void>;
  unlink(path: FdPath): Maybe<void>;
  rmdir(path: FdPath): Maybe<void>;
  readText(path: string): Maybe<string>;
  /**
   * Opens a reader, which the caller must close. It reads a few entries at a time, so that a folder of millions of
   * files does not fill the memory.
   */
  openEntries(path: FdPath): Maybe<EntryReader>;
}

export interface EntryReader {
  /** Returns the next entry; undefined at the end. */
  next(): Maybe<DirectoryEntry | undefined>;
  close(): Maybe<void>;
}

/**
 * Refers to an inode without access to its content. It needs no permission on the inode and triggers neither pipes nor
 * devices. node:fs has no such constant.
 */
const O_PATH = 0o10000000;
export const PATH_NOFOLLOW = O_PATH | constants.O_NOFOLLOW;
/** Also triggers automounts, unlike O_PATH alone. */
export const PATH_DIRECTORY = PATH_NOFOLLOW | constants.O_DIRECTORY;
export const READ_DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * In this encoding each character is one byte. In UTF-8 an invalid name would be decoded as another name, which does
 * not exist.
 */
const namesAsBytes = { bufferSize: 128, encoding: 'latin1' } as const;

const openFd = promisify(open);
const closeFd = promisify(close);
const fstatFd = promisify(fstat);

export const pooledFdOps: FdOps = {
  open: (path, flags) => openFd(path, flags),
  close: (fd) => closeFd(fd),
  fstat: (fd) => fstatFd(fd, { bigint: true }),
  readlink: (path) => readlink(path),
  mkdir: (path, mode) => mkdir(path, { mode }),
  chmod: (path, mode) => chmod(path, mode),
  chown: (path, uid, gid) => chown(path, uid, gid),
  lchown: (path, uid, gid) => lchown(path, uid, gid),
  unlink: (path) => unlink(path),
  rmdir: (path) => rmdir(path),
  readText: (path) => readFile(path, 'utf8'),
  openEntries: async (path) => {
    const directory = await opendir(path, namesAsBytes);
    return { next: async () => entryOf(await directory.read()), close: () => directory.close() };
  },
};

/** The blocking implementation, for a process that does nothing else. */
export const blockingFdOps: FdOps = {
  open: (path, flags) => openSync(path, flags),
  close: (fd) => closeSync(fd),
  fstat: (fd) => fstatSync(fd, { bigint: true }),
  readlink: (path) => readlinkSync(path),
  mkdir: (path, mode) => mkdirSync(path, { mode }),
  chmod: (path, mode) => chmodSync(path, mode),
  chown: (path, uid, gid) => chownSync(path, uid, gid),
  lchown: (path, uid, gid) => lchownSync(path, uid, gid),
  unlink: (path) => unlinkSync(path),
  rmdir: (path) => rmdirSync(path),
  readText: (path) => readFileSync(path, 'utf8'),
  openEntries: (path) => {
    const directory = opendirSync(path, namesAsBytes);
    return { next: () => entryOf(directory.readSync()), close: () => directory.closeSync() };
  },
};

function entryOf(entry: Dirent | null): DirectoryEntry | undefined {
  return entry === null ? undefined : { name: Buffer.from(entry.name, 'latin1'), isDirectory: entry.isDirectory() };
}

export const fdPath = (fd: number): string => `/proc/self/fd/${fd}`;
export function below(fd: number, name: string): string;
export function below(fd: number, name: FdPath): FdPath;
export function below(fd: number, name: FdPath): FdPath {
  const prefix = `/proc/self/fd/${fd}/`;
  return typeof name === 'string' ? prefix + name : Buffer.concat([Buffer.from(prefix), name]);
}

/** Opens a path; undefined if it does not exist or does not match the flags: removed, not a directory, or a symlink. */
export async function openOrNothing(ops: FdOps, path: FdPath, flags: number): Promise<number | undefined> {
  try {
    return await ops.open(path, flags);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(errnoOf(error) ?? '')) return undefined;
    throw error;
  }
}

export interface InodeId {
  readonly dev: bigint;
  readonly ino: bigint;
}

export const isSameInode = (left: InodeId, right: InodeId): boolean => left.dev === right.dev && left.ino === right.ino;

/** Returns the mount id, which distinguishes bind mounts of one device. The device number does not. */
export async function mountIdOf(ops: FdOps, fd: number): Promise<string> {
  return /^mnt_id:\s*(\d+)/m.exec(await ops.readText(`/proc/self/fdinfo/${fd}`))?.[1] ?? 'unknown';
}
