import type { BigIntStats, FSWatcher } from 'node:fs';
import { lstatSync, watch as watchPath } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import nodePath from 'node:path/posix';
import { errorMessage } from '../../../base/errors.ts';
import { nextTurn } from '../../../base/turn.ts';
import type { HostFiles } from '../../ports/host-files.ts';

type WatchHandlers = Parameters<HostFiles['watch']>[1];

/** Identifies the file of a name. The inode number of a removed file is soon reused, but with another birth time. */
interface Identity {
  readonly inode: bigint;
  readonly bornNs: bigint;
}

/** The previous rename event. `file` is the known file of its name at that time; undefined if the name was new. */
interface EarlierRename {
  readonly name: string;
  readonly file: Identity | undefined;
}

interface Appearance {
  readonly name: string;
  isWritten: boolean;
}

/**
 * Watches a path with inotify through fs.watch. Node reports neither IN_CLOSE_WRITE nor the difference between created
 * and moved in (both are `rename`). So whether a file is complete ("settled") is derived from what the kernel recorded:
 * - removed, a symlink or a directory: settled, because it cannot be in the process of being written;
 * - not empty, and its ctime is later than its mtime: settled. The inode changed after the last write, which a rename
 *   does and a writer's last write does not;
 * - the previous name in the event stream was this inode, or appeared and vanished too fast to be read: settled. That
 *   was the temporary file before the rename. This covers a write and rename within one tick of the kernel's clock,
 *   which leaves ctime equal to mtime;
 * - not empty, and no event of a write to this name followed the one of its appearance: settled. Its content was
 *   written before it had this name, within one tick and in another folder. A write is in the event stream before it is
 *   visible, so one more reading of the stream decides;
 * - everything else, and every `change`: not settled, because it may still be written. The consumer waits a moment.
 * If a name has another inode than before, and no file was moved to it, the earlier file was removed in between. The
 * events of both may arrive after the new file exists. A file is watched through its folder, so replacing it by rename does
 * not lose it.
 */
export function watchHostPath(path: string, handlers: WatchHandlers): () => void {
  const watch = new PathWatch(path, handlers);
  watch.start();
  return () => watch.stop();
}

class PathWatch {
  readonly #path: string;
  readonly #handlers: WatchHandlers;
  #watcher: FSWatcher | undefined;
  #folder = '';
  #onlyName: string | undefined;
  #folderInode = 0n;
  #over = false;
  /** The names in the folder. */
  readonly #known = new Map<string, Identity>();
  #lastRename: EarlierRename | undefined;
  /** Names that appeared and are being examined, and whether they were written to since. */
  readonly #appeared = new Set<Appearance>();
  #work: Promise<void> = Promise.resolve();

  constructor(path: string, handlers: WatchHandlers) {
    this.#path = nodePath.normalize(path);
    this.#handlers = handlers;
  }

  /** Starts the watch synchronously, so that a caller that lists the folder afterwards misses nothing. */
  start(): void {
    try {
      const info = lstatSync(this.#path, { bigint: true });
      this.#onlyName = info.isDirectory() ? undefined : nodePath.basename(this.#path);
      this.#folder = info.isDirectory() ? this.#path : nodePath.dirname(this.#path);
      this.#folderInode = info.isDirectory() ? info.ino : lstatSync(this.#folder, { bigint: true }).ino;
      this.#watcher = watchPath(this.#folder, { persistent: false }, (type, name) => this.#onEvent(type, name));
      this.#watcher.on('error', (error) => this.#lose(errorMessage(error)));
    } catch (error) {
      queueMicrotask(() => this.#lose(errorMessage(error)));
      return;
    }
    this.#work = this.#learnNames().catch((error: unknown) => this.#lose(errorMessage(error)));
  }

  async #learnNames(): Promise<void> {
    for (const name of await readdir(this.#folder)) {
      const info = await inspect(nodePath.join(this.#folder, name));
      if (info !== undefined) this.#known.set(name, identityOf(info));
    }
  }

  stop(): void {
    this.#over = true;
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  #lose(reason: string): void {
    if (this.#over) return;
    this.stop();
    this.#handlers.onLost(`${this.#path}: ${reason}`);
  }

  #onEvent(type: 'rename' | 'change', name: string | null): void {
    if (this.#over) return;
    if (name === null) return this.#handlers.onChange(undefined, false, false);
    if (type === 'change') {
      for (const each of this.#appeared) if (each.name === name) each.isWritten = true;
      if (this.#isMine(name)) this.#handlers.onChange(name, false, false);
      return;
    }
    // The events are processed one after another, because reordered results of the thread pool would make old state
    // look new.
    const appearance = { name, isWritten: false };
    this.#appeared.add(appearance);
    this.#work = this.#work
      .then(() => this.#onRename(appearance))
      .catch((error: unknown) => this.#lose(errorMessage(error)))
      .finally(() => this.#appeared.delete(appearance));
  }

  async #onRename(appearance: Appearance): Promise<void> {
    const { name } = appearance;
    if (name === nodePath.basename(this.#folder)) {
      const folder = await inspect(this.#folder);
      if (folder?.ino !== this.#folderInode) return this.#lose('was removed or replaced');
    }
    const info = await inspect(nodePath.join(this.#folder, name));
    const before = this.#lastRename;
    const earlier = this.#known.get(name);
    this.#lastRename = { name, file: earlier };
    if (info === undefined) this.#known.delete(name);
    else this.#known.set(name, identityOf(info));
    if (this.#over || !this.#isMine(name)) return;
    if (info === undefined && this.#onlyName !== undefined) return this.#lose('was removed');
    const settled =
      info?.isFile() !== true ||
      (info.size > 0n && info.ctimeNs > info.mtimeNs) ||
      (await this.#wasMovedFrom(before, name, info.ino)) ||
      (info.size > 0n && (await isNotWritten(appearance)));
    const removed = (info === undefined || !settled) && earlier !== undefined && (await this.#isNoMore(earlier, info));
    if (!this.#over) this.#handlers.onChange(name, settled, removed);
  }

  /** Whether the earlier file is gone: the current file `info` is another one, and it has no other name in the folder. */
  async #isNoMore(file: Identity, info: BigIntStats | undefined): Promise<boolean> {
    if (info !== undefined && isSame(file, info)) return false;
    for (const name of await readdir(this.#folder)) {
      const other = await inspect(nodePath.join(this.#folder, name));
      if (other !== undefined && isSame(file, other)) return false;
    }
    return true;
  }

  async #wasMovedFrom(before: EarlierRename | undefined, name: string, inode: bigint): Promise<boolean> {
    if (before === undefined || before.name === name) return false;
    if (before.file !== undefined && before.file.inode !== inode) return false;
    return (await inspect(nodePath.join(this.#folder, before.name))) === undefined;
  }

  #isMine(name: string): boolean {
    return this.#onlyName === undefined || this.#onlyName === name;
  }
}

async function isNotWritten(appearance: Appearance): Promise<boolean> {
  // The stream is read once between two turns of the event loop.
  await nextTurn();
  await nextTurn();
  return !appearance.isWritten;
}

function identityOf({ ino, birthtimeNs }: BigIntStats): Identity {
  return { inode: ino, bornNs: birthtimeNs };
}

function isSame({ inode, bornNs }: Identity, { ino, birthtimeNs }: BigIntStats): boolean {
  return inode === ino && bornNs === birthtimeNs;
}

async function inspect(path: string): Promise<BigIntStats | undefined> {
  try {
    return await lstat(path, { bigint: true });
  } catch {
    return undefined;
  }
}
