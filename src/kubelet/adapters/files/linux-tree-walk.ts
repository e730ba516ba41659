import { KubeletError } from '../../../base/errors.ts';
import type { DirectoryEntry, EntryReader, FdOps, InodeId } from './linux-fd-ops.ts';
import { below, isSameInode, mountIdOf, openOrNothing, READ_DIRECTORY } from './linux-fd-ops.ts';

export interface TreeVisitor {
  /**
   * Called for an entry that is not, or no longer, a directory. `directory` is held open. Returns 'directory' if it
   * turns out to be one.
   */
  entry(directory: number, name: Buffer): Promise<'done' | 'directory'>;
  /** Called when the whole content of a directory was visited. The directory is held open, but its parent is not. */
  leaving(directory: number): Promise<void>;
  /** Called when the walk leaves a directory. `parent` is held open. */
  left(parent: number, name: Buffer): Promise<void>;
  /** Called for a mount point, which is not entered. */
  mounted(shown: string): void;
}

export interface WalkOptions {
  /** The path for errors. */
  readonly shown: string;
  readonly op: string;
  /** The maximum number of visited entries. Beyond it the walk ends with 'large'. */
  readonly budget?: number;
}

interface Level extends InodeId {
  readonly name: Buffer;
  readonly shown: string;
  /** The entries that were read ahead. */
  readonly entries: DirectoryEntry[];
  /** Open only while the directory has more entries than were read ahead. */
  reader: EntryReader | undefined;
}

const READ_AHEAD = 512;

/**
 * Visits a tree from an open directory, the content of a directory before the directory. Its invariants hold whatever
 * is moved or swapped meanwhile:
 * 1. Entries are accessed through the directory that is held open. Directories are opened without following links.
 * 2. Only two directories are open at a time, because a pod can nest deeper than any limit of descriptors. The way back
 *    is `..`, and is taken only if it leads to the directory from which the walk came.
 * 3. Directories on another mount are not entered (mnt_id, which distinguishes bind mounts of the same device).
 * 4. A directory's names are read in portions, so that one with millions of files costs no more memory than a small
 *    one.
 */
export async function walkTree(
  ops: FdOps,
  root: number,
  visitor: TreeVisitor,
  options: WalkOptions,
): Promise<'done' | 'large'> {
  const mountId = await mountIdOf(ops, root);
  const levels: Level[] = [];
  let here = root;
  let visited = 0;
  const enter = async (fd: number, name: Buffer, shown: string): Promise<void> => {
    const { dev, ino } = await ops.fstat(fd);
    const level: Level = { dev, ino, name, shown, entries: [], reader: undefined };
    levels.push(level);
    level.reader = await ops.openEntries(below(fd, '.'));
    await refill(level);
  };
  try {
    await enter(root, Buffer.alloc(0), options.shown);
    for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
      const entry = level.entries.shift();
      if (entry === undefined) {
        if (level.reader !== undefined) {
          await refill(level);
          continue;
        }
        await visitor.leaving(here);
        levels.pop();
        const parent = levels.at(-1);
        if (parent === undefined) return 'done';
        const back = await goBack(ops, here, parent, options.op);
        if (here !== root) await ops.close(here);
        here = back;
        await visitor.left(here, level.name);
        continue;
      }
      if (++visited > (options.budget ?? Number.POSITIVE_INFINITY)) return 'large';
      if (!entry.isDirectory && (await visitor.entry(here, entry.name)) === 'done') continue;
      const child = await openOrNothing(ops, below(here, entry.name), READ_DIRECTORY);
      if (child === undefined) {
        await visitor.entry(here, entry.name);
        continue;
      }
      const shown = `${level.shown}/${entry.name.toString()}`;
      if ((await mountIdOf(ops, child)) !== mountId) {
        await ops.close(child);
        visitor.mounted(shown);
        continue;
      }
      if (here !== root) await ops.close(here);
      here = child;
      await enter(child, entry.name, shown);
    }
    return 'done';
  } finally {
    if (here !== root) await ops.close(here);
    for (const level of levels) await level.reader?.close();
  }
}

async function refill(level: Level): Promise<void> {
  while (level.reader !== undefined && level.entries.length < READ_AHEAD) {
    const entry = await level.reader.next();
    if (entry === undefined) {
      await level.reader.close();
      level.reader = undefined;
    } else {
      level.entries.push(entry);
    }
  }
}

async function goBack(ops: FdOps, here: number, parent: Level, op: string): Promise<number> {
  const back = await ops.open(below(here, '..'), READ_DIRECTORY);
  if (isSameInode(await ops.fstat(back), parent)) return back;
  await ops.close(back);
  throw new KubeletError('Unavailable', `${op} ${parent.shown}: a directory was moved away meanwhile`, { op });
}
