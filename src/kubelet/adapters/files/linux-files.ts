import type { Stats } from 'node:fs';
import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import {
  chmod,
  lchown,
  lstat,
  mkdir,
  open,
  readdir,
  readlink,
  rename,
  rmdir,
  stat,
  symlink,
  unlink,
} from 'node:fs/promises';
import nodePath from 'node:path/posix';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { errnoOf, KubeletError } from '../../../base/errors.ts';
import { writeFileAtomic } from '../../../base/write-file-atomic.ts';
import type { FileInfo, GroupOwnership, HostFiles, OwnershipOutcome, TreeFile } from '../../ports/host-files.ts';
import { fromErrno } from '../linux-errors.ts';
import { fdPath, PATH_NOFOLLOW, pooledFdOps } from './linux-fd-ops.ts';
import { FileWork } from './linux-file-work.ts';
import { watchHostPath } from './linux-files-watch.ts';
import { giveTreeToGroup } from './linux-group-ownership.ts';
import { StuckChildren } from '../process/linux-killable.ts';
import { openFileBeneath, readOpenFile } from './linux-read-beneath.ts';
import { makeDirectoryBeneath, makeTree } from './linux-make-tree.ts';
import { firstRemoteMount } from './linux-remote-mounts.ts';
import { removeTree } from './linux-remove-tree.ts';

// With O_NONBLOCK, a named pipe in a folder of the agent does not block a thread until it has a writer.
const READ = constants.O_RDONLY | constants.O_NONBLOCK;
const READ_NOFOLLOW = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const WRITE = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;
const APPEND = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW;
const CHUNK_BYTES = 64 * 1024;
/**
 * The maximum size of a tree that this process handles; a child handles larger ones. Each entry costs the agent's one
 * thread about 0.1 ms.
 */
const MOST_REMOVED_HERE = 2000;
const MOST_GIVEN_HERE = 500;
/** The time without progress after which a child counts as stuck. It reports its progress each second. */
const WORK_SILENCE_MS = 120_000;
/** The maximum number of such children. Each is a process of about 90 MB that keeps a disk busy. */
const WORKERS = 3;

/**
 * The host's file system over node:fs, and the only place where errno becomes a KubeletError. For paths that may be on
 * a dead mount see GuardedFiles.
 */
export class LinuxFiles implements HostFiles {
  /** The stuck children by path. */
  readonly #stuck = new StuckChildren();
  readonly #work = new FileWork(WORKERS);
  readonly #silenceMs: number;

  /** `workSilenceMs` is the time without progress after which a child that works on a tree counts as stuck. */
  constructor(options: { workSilenceMs?: number } = {}) {
    this.#silenceMs = options.workSilenceMs ?? WORK_SILENCE_MS;
  }

  async readText(path: string, limitBytes?: number): Promise<string> {
    return (await this.#read(path, limitBytes)).toString('utf8');
  }

  async readBytes(path: string, limitBytes?: number): Promise<Uint8Array> {
    return this.#read(path, limitBytes);
  }

  async readRange(path: string, offsetBytes: number, lengthBytes: number): Promise<Uint8Array> {
    return translated('read', path, () =>
      withOpen(path, { flags: READ_NOFOLLOW }, async (file) => {
        const buffer = Buffer.allocUnsafe(lengthBytes);
        let filled = 0;
        while (filled < lengthBytes) {
          const { bytesRead } = await file.read(buffer, filled, lengthBytes - filled, offsetBytes + filled);
          if (bytesRead === 0) break;
          filled += bytesRead;
        }
        return buffer.subarray(0, filled);
      }),
    );
  }

  async readBeneath(root: string, path: string, limitBytes: number): Promise<Uint8Array> {
    return translated('read', path, async () => {
      const fd = await openFileBeneath(pooledFdOps, root, path);
      try {
        return await readOpenFile(fd, path, limitBytes);
      } finally {
        await pooledFdOps.close(fd);
      }
    });
  }

  async writeFile(path: string, content: string | Uint8Array, mode: number): Promise<void> {
    await translated('write', path, () =>
      withOpen(path, { flags: WRITE, mode }, async (file) => {
        await file.chmod(mode);
        await file.writeFile(content);
      }),
    );
  }

  async writeFileAtomic(
    path: string,
    content: string | Uint8Array,
    mode: number,
    options: { survivesPowerCut?: boolean } = {},
  ): Promise<void> {
    await translated('write', path, () => writeFileAtomic(path, content, mode, options));
  }

  async appendFile(path: string, content: string): Promise<void> {
    await translated('append', path, () =>
      withOpen(path, { flags: APPEND, mode: 0o640 }, (file) => file.writeFile(content)),
    );
  }

  async makeDirectory(path: string, mode: number): Promise<void> {
    await translated('mkdir', path, async () => {
      try {
        await mkdir(path, { mode });
      } catch (error) {
        if (errnoOf(error) === 'ENOENT') {
          await mkdir(path, { mode, recursive: true });
        } else if (errnoOf(error) === 'EEXIST') {
          if (!(await stat(path)).isDirectory())
            throw new KubeletError('AlreadyExists', `mkdir ${path}: exists and is not a directory`, { op: 'mkdir' });
          return;
        } else {
          throw error;
        }
      }
      await chmod(path, mode);
    });
  }

  async makeDirectoryBeneath(folder: string, path: string, mode: number): Promise<void> {
    await makeDirectoryBeneath(folder, path, mode);
  }

  async makeTree(folder: string, name: string, files: ReadonlyMap<string, TreeFile>): Promise<void> {
    await makeTree(folder, name, files);
  }

  async remove(path: string): Promise<void> {
    await translated('remove', path, async () => {
      try {
        await unlink(path);
      } catch (error) {
        if (isGone(error)) return;
        if (errnoOf(error) !== 'EISDIR' && errnoOf(error) !== 'EPERM') throw error;
        await rmdir(path);
      }
    });
  }

  async removeTree(path: string): Promise<void> {
    const normalized = nodePath.normalize(path);
    if ((await removeTree(pooledFdOps, normalized, { budget: MOST_REMOVED_HERE })) === 'done') return;
    await this.#work.run({ op: 'removeTree', path: normalized }, { silenceMs: this.#silenceMs });
  }

  async giveToGroup(
    path: string,
    group: GroupOwnership,
    onProgress?: (entries: number) => void,
  ): Promise<OwnershipOutcome> {
    const mayHang = (await firstRemoteMount(path, { followLast: false })) !== undefined;
    const outcome = mayHang ? 'large' : await giveTreeToGroup(pooledFdOps, path, { ...group, budget: MOST_GIVEN_HERE });
    if (outcome !== 'large') return outcome;
    if (this.#stuck.has(path))
      throw new KubeletError('Unavailable', `change group ${path}: an earlier attempt still does not respond`, {
        op: 'giveToGroup',
      });
    const progress = onProgress === undefined ? {} : { onProgress };
    const answer = await this.#stuck.watch(path, (onExit) =>
      this.#work.run({ op: 'giveToGroup', path, ...group }, { silenceMs: this.#silenceMs, onExit, ...progress }),
    );
    return answer.outcome;
  }

  async rename(from: string, to: string): Promise<void> {
    await translated('rename', from, () => rename(from, to));
  }

  async symlink(target: string, path: string): Promise<void> {
    await translated('symlink', path, () => symlink(target, path));
  }

  async readLink(path: string): Promise<string> {
    return translated('readlink', path, () => readlink(path));
  }

  async lstat(path: string): Promise<FileInfo | undefined> {
    return translated('lstat', path, () => infoOrNothing(lstat(path)));
  }

  async stat(path: string): Promise<FileInfo | undefined> {
    return translated('stat', path, () => infoOrNothing(stat(path)));
  }

  async list(path: string): Promise<string[]> {
    return translated('list', path, async () => {
      try {
        return (await readdir(path)).sort();
      } catch (error) {
        if (errnoOf(error) === 'ENOENT') return [];
        if (errnoOf(error) === 'ENOTDIR')
          throw new KubeletError('Invalid', `list ${path}: not a directory`, { op: 'list', cause: error });
        throw error;
      }
    });
  }

  async chmod(path: string, mode: number): Promise<void> {
    await translated('chmod', path, async () => {
      const fd = await pooledFdOps.open(path, PATH_NOFOLLOW);
      try {
        if ((await pooledFdOps.fstat(fd)).isSymbolicLink())
          throw new KubeletError('Invalid', `chmod ${path}: is a symbolic link`, { op: 'chmod' });
        await pooledFdOps.chmod(fdPath(fd), mode);
      } finally {
        await pooledFdOps.close(fd);
      }
    });
  }

  async chown(path: string, uid: number, gid: number): Promise<void> {
    await translated('chown', path, () => lchown(path, uid, gid));
  }

  async gzip(from: string, to: string): Promise<void> {
    await translated('gzip', from, async () => {
      const source = await open(from, READ_NOFOLLOW);
      try {
        const info = await source.stat();
        if (!info.isFile()) throw new KubeletError('Invalid', `gzip ${from}: is not a regular file`, { op: 'gzip' });
        const { mode } = info;
        await withOpen(to, { flags: WRITE, mode: mode & 0o7777 }, async (target) => {
          await pipeline(chunksOf(source), createGzip(), async (compressed: AsyncIterable<Buffer>) => {
            for await (const chunk of compressed) await target.writeFile(chunk);
          });
          await target.sync();
        });
      } catch (error) {
        await unlink(to).catch((leftover: unknown) => errnoOf(leftover));
        throw error;
      } finally {
        await source.close();
      }
    });
  }

  watch(path: string, handlers: Parameters<HostFiles['watch']>[1]): () => void {
    return watchHostPath(path, handlers);
  }

  /**
   * Reads until the end, whatever size the file reports (files of /proc report 0). Stops as soon as the limit is
   * exceeded.
   */
  async #read(path: string, limitBytes = Number.POSITIVE_INFINITY): Promise<Buffer> {
    return translated('read', path, () =>
      withOpen(path, { flags: READ }, async (file) => {
        const chunks: Buffer[] = [];
        let total = 0;
        for (;;) {
          const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, limitBytes - total + 1));
          const { bytesRead } = await file.read(chunk, 0, chunk.length, null);
          if (bytesRead === 0) return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
          total += bytesRead;
          if (total > limitBytes)
            throw new KubeletError('Invalid', `read ${path}: larger than ${limitBytes} bytes`, { op: 'read' });
          chunks.push(chunk.subarray(0, bytesRead));
        }
      }),
    );
  }
}

async function translated<T>(op: string, path: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw fromErrno(error, op, path);
  }
}

async function* chunksOf(file: FileHandle): AsyncGenerator<Buffer> {
  for (;;) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES, null);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
  }
}

async function withOpen<T>(
  path: string,
  how: { flags: number; mode?: number },
  use: (file: FileHandle) => Promise<T>,
): Promise<T> {
  const file = await open(path, how.flags, how.mode);
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}

async function infoOrNothing(stats: Promise<Stats>): Promise<FileInfo | undefined> {
  try {
    return fileInfo(await stats);
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

const isGone = (error: unknown): boolean => errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR';

const types: Readonly<Record<number, FileInfo['type']>> = {
  [constants.S_IFREG]: 'file',
  [constants.S_IFDIR]: 'directory',
  [constants.S_IFLNK]: 'symlink',
  [constants.S_IFSOCK]: 'socket',
  [constants.S_IFIFO]: 'fifo',
  [constants.S_IFBLK]: 'block',
  [constants.S_IFCHR]: 'char',
};

export const fileTypeOfMode = (mode: number): FileInfo['type'] => types[mode & constants.S_IFMT] ?? 'other';

function fileInfo(stats: Stats): FileInfo {
  return {
    type: fileTypeOfMode(stats.mode),
    sizeBytes: stats.size,
    mode: stats.mode & 0o7777,
    modifiedMs: stats.mtimeMs,
    inode: stats.ino,
    device: stats.dev,
    uid: stats.uid,
    gid: stats.gid,
  };
}
