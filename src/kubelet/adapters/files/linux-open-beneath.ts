import { errnoOf } from '../../../base/errors.ts';
import { constants } from 'node:fs';
import nodePath from 'node:path/posix';
import type { FdOps } from './linux-fd-ops.ts';
import { below, fdPath, openOrNothing, PATH_DIRECTORY, PATH_NOFOLLOW, READ_DIRECTORY } from './linux-fd-ops.ts';

export type OpenBeneathResult =
  | { kind: 'opened'; fd: number; directory: boolean }
  /**
   * `create`: a missing directory could not be created. `open`: the path leads outside, or changed while it was
   * checked.
   */
  | { kind: 'refused'; step: 'create' | 'open'; why: string };

interface Part {
  readonly name: string;
  /**
   * Whether the part comes from a symlink. Then it must exist, because the target of a dangling link is never created
   * (upstream: subpath_linux.go, mkdirat over the link).
   */
  readonly fromLink: boolean;
}

const LONGEST_SYMLINK_CHAIN = 40;
const MODE_BITS = 0o7777n;

/** Ends a walk. It is caught in this file. */
class Refused extends Error {
  readonly step: 'create' | 'open';
  constructor(step: 'create' | 'open', why: string) {
    super(why);
    this.step = step;
  }
}

/**
 * Opens `subPath` of the volume `root` and returns the descriptor (O_PATH: it refers only to the inode), which the
 * caller closes. Against CVE-2017-1002101 and CVE-2021-25741, where a pod swaps directories of its volume for symlinks,
 * it has these invariants:
 * 1. Each component is opened from the directory that is held open, without following links. Whatever is swapped, each
 *    step stays inside what was opened before.
 * 2. A symlink is read, and its parts are walked by the same rule. Absolute links, and those that climb above the root,
 *    are resolved from the volume's root if their text leads into it on the host. Otherwise they are rejected.
 * 3. `..` returns to a directory that is still held open, and never through the kernel.
 * 4. Missing components are created as directories with `newMode`, or with the volume's own mode (including setgid),
 *    and opened without following links.
 */
export async function openBeneath(
  ops: FdOps,
  root: string,
  subPath: string,
  newMode?: number,
): Promise<OpenBeneathResult> {
  const trail: number[] = [];
  try {
    trail.push(await ops.open(root, PATH_DIRECTORY & ~constants.O_NOFOLLOW));
    const walk = new Walk(ops, trail, { root, newMode });
    await walk.go(partsOf(subPath, false));
    const fd = trail.pop() as number;
    return { kind: 'opened', fd, directory: walk.atDirectory };
  } catch (error) {
    if (error instanceof Refused) return { kind: 'refused', step: error.step, why: error.message };
    throw error;
  } finally {
    for (const fd of trail) await ops.close(fd);
  }
}

class Walk {
  atDirectory = true;
  readonly #ops: FdOps;
  /** The descriptors from the volume's root to the current directory. */
  readonly #trail: number[];
  readonly #root: string;
  readonly #newMode: number | undefined;
  #links = 0;

  constructor(ops: FdOps, trail: number[], { root, newMode }: { root: string; newMode: number | undefined }) {
    this.#ops = ops;
    this.#trail = trail;
    this.#root = root;
    this.#newMode = newMode;
  }

  async go(parts: readonly Part[]): Promise<void> {
    let pending = [...parts];
    for (let part = pending.shift(); part !== undefined; part = pending.shift()) {
      if (!this.atDirectory) throw new Refused('open', 'a file where a directory is needed');
      if (part.name === '..') {
        if (this.#trail.length > 1) await this.#ops.close(this.#trail.pop() as number);
        else
          pending = await this.#fromRoot(
            nodePath.join(await this.#realRoot(), '..', ...pending.map(({ name }) => name)),
          );
        continue;
      }
      const target = await this.#enter(part);
      if (target === undefined) continue;
      if (++this.#links > LONGEST_SYMLINK_CHAIN) throw new Refused('open', 'too many symbolic links');
      if (target.startsWith('/')) pending = [...(await this.#fromRoot(nodePath.normalize(target))), ...pending];
      else pending.unshift(...partsOf(target, true));
    }
  }

  get #here(): number {
    return this.#trail.at(-1) as number;
  }

  /** Moves to the entry. Returns the target if it is a symlink. */
  async #enter(part: Part): Promise<string | undefined> {
    const path = below(this.#here, part.name);
    const directory = await openOrNothing(this.#ops, path, PATH_DIRECTORY);
    if (directory !== undefined) {
      this.#trail.push(directory);
      return undefined;
    }
    const fd = await openOrNothing(this.#ops, path, PATH_NOFOLLOW);
    if (fd === undefined) return this.#make(part);
    this.#trail.push(fd);
    const stats = await this.#ops.fstat(fd);
    if (!stats.isSymbolicLink()) {
      this.atDirectory = stats.isDirectory();
      return undefined;
    }
    this.#trail.pop();
    await this.#ops.close(fd);
    return this.#readLink(path);
  }

  async #readLink(path: string): Promise<string> {
    try {
      return await this.#ops.readlink(path);
    } catch (error) {
      if (errnoOf(error) === 'EINVAL' || errnoOf(error) === 'ENOENT')
        throw new Refused('open', 'it was replaced while it was checked');
      throw error;
    }
  }

  async #make(part: Part): Promise<undefined> {
    if (part.fromLink) throw new Refused('create', 'a symbolic link leads to nothing');
    const path = below(this.#here, part.name);
    const mode = this.#newMode ?? Number((await this.#ops.fstat(this.#trail[0] as number)).mode & MODE_BITS);
    let isOurs = true;
    try {
      await this.#ops.mkdir(path, mode);
    } catch (error) {
      // The start of another container created it concurrently. In any case it is opened without following links.
      if (errnoOf(error) !== 'EEXIST') throw new Refused('create', `mkdir: ${errnoOf(error) ?? String(error)}`);
      isOurs = false;
    }
    const fd = await openOrNothing(this.#ops, path, READ_DIRECTORY);
    if (fd === undefined) throw new Refused('create', 'it was replaced while it was made');
    this.#trail.push(fd);
    // The umask reduced the mode that was passed to mkdir.
    if (isOurs) await this.#ops.chmod(fdPath(fd), mode);
    return undefined;
  }

  /** Goes back to the root for a path of the host, if that leads into the volume. */
  async #fromRoot(hostPath: string): Promise<Part[]> {
    const inside = [this.#root, await this.#realRoot()]
      .map((root) => nodePath.relative(root, hostPath))
      .find((relative) => relative !== '..' && !relative.startsWith('../'));
    if (inside === undefined) throw new Refused('open', 'it leads out of the volume');
    while (this.#trail.length > 1) await this.#ops.close(this.#trail.pop() as number);
    return partsOf(inside, true);
  }

  async #realRoot(): Promise<string> {
    return this.#ops.readlink(fdPath(this.#trail[0] as number));
  }
}

function partsOf(path: string, fromLink: boolean): Part[] {
  return path
    .split('/')
    .filter((name) => name !== '' && name !== '.')
    .map((name) => ({ name, fromLink }));
}
