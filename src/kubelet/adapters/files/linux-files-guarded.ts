import { KubeletError } from '../../../base/errors.ts';
import type { FileInfo, HostFiles } from '../../ports/host-files.ts';
import { fileTypeOfMode, LinuxFiles } from './linux-files.ts';
import { runKillable, StuckChildren } from '../process/linux-killable.ts';
import type { MountInfo } from '../../../base/mount-info.ts';
import { readMountInfo } from './linux-mountinfo.ts';
import { firstRemoteMount } from './linux-remote-mounts.ts';

const MOST_STUCK_CHILDREN = 32;

export interface GuardedFilesOptions {
  /** The time limit of a child. */
  readonly timeoutMs?: number;
  readonly readMounts?: () => Promise<readonly MountInfo[]>;
  readonly run?: typeof runKillable;
}

/**
 * HostFiles for paths from users (hostPath volumes, leftovers below a pod's folder), where a dead NFS or FUSE mount
 * would block a thread of the pool forever. Four of them stop all file I/O of a Node process. Invariants:
 * 1. The path is walked one component at a time. mountinfo shows which file system comes next before it is accessed. If
 *    all are local, the call is made directly.
 * 2. From the first file system that is not local, stat, lstat and list run in a child process with a deadline.
 * 3. A mount with a stuck child is not accessed again until that child has ended. The number of stuck children is
 *    limited.
 * A mount that appears between check and access can still block one thread, but the pool has more threads than such
 * accidents are likely. Everything except stat, lstat and list is as in LinuxFiles.
 */
export class GuardedFiles extends LinuxFiles implements HostFiles {
  readonly #timeoutMs: number;
  /** The stuck children by mount point. */
  readonly #stuck = new StuckChildren();
  readonly #readMounts: () => Promise<readonly MountInfo[]>;
  readonly #run: typeof runKillable;

  constructor(options: GuardedFilesOptions = {}) {
    super();
    this.#readMounts = options.readMounts ?? readMountInfo;
    this.#run = options.run ?? runKillable;
    this.#timeoutMs = options.timeoutMs ?? 5_000;
  }

  get stuckChildren(): number {
    return this.#stuck.total;
  }

  override async lstat(path: string): Promise<FileInfo | undefined> {
    const remote = await this.#firstRemoteMount(path, false);
    return remote === undefined ? super.lstat(path) : this.#statInChild(path, remote, []);
  }

  override async stat(path: string): Promise<FileInfo | undefined> {
    const remote = await this.#firstRemoteMount(path, true);
    return remote === undefined ? super.stat(path) : this.#statInChild(path, remote, ['-L']);
  }

  override async list(path: string): Promise<string[]> {
    const remote = await this.#firstRemoteMount(path, true);
    if (remote === undefined) return super.list(path);
    const result = await this.#inChild(
      'find',
      ['-H', path, '-mindepth', '1', '-maxdepth', '1', '-printf', '%f\\0'],
      remote,
    );
    if (result.exitCode !== 0 && /No such file/.test(result.stderr)) return [];
    if (result.exitCode !== 0)
      throw new KubeletError('Unavailable', `list ${path}: ${result.stderr.trim()}`, { op: 'list' });
    return result.stdout
      .split('\0')
      .filter((name) => name !== '')
      .sort();
  }

  #firstRemoteMount(path: string, followLast: boolean): Promise<string | undefined> {
    return firstRemoteMount(path, { followLast, readMounts: this.#readMounts });
  }

  async #statInChild(path: string, mount: string, flags: readonly string[]): Promise<FileInfo | undefined> {
    const result = await this.#inChild('stat', [...flags, '-c', '%f %s %Y %i %d %u %g', '--', path], mount);
    if (result.exitCode !== 0) {
      if (/No such file|Not a directory/.test(result.stderr)) return undefined;
      throw new KubeletError('Unavailable', `stat ${path}: ${result.stderr.trim()}`, { op: 'stat' });
    }
    const [hexMode = '0', sizeBytes = 0, modified = 0, inode = 0, device = 0, uid = 0, gid = 0] = result.stdout
      .trim()
      .split(' ')
      .map((field, index) => (index === 0 ? field : Number(field))) as [string, ...number[]];
    const mode = Number.parseInt(hexMode, 16);
    return {
      type: fileTypeOfMode(mode),
      mode: mode & 0o7777,
      sizeBytes,
      modifiedMs: modified * 1000,
      inode,
      device,
      uid,
      gid,
    };
  }

  async #inChild(program: string, args: readonly string[], mount: string) {
    if (this.#stuck.has(mount)) throw new KubeletError('Unavailable', `${mount} does not respond`, { op: program });
    if (this.stuckChildren >= MOST_STUCK_CHILDREN)
      throw new KubeletError('Unavailable', `${this.stuckChildren} checks of other mounts do not respond`, {
        op: program,
      });
    return this.#stuck.watch(mount, (onExit) =>
      this.#run(program, args, { timeoutMs: this.#timeoutMs, op: `${program} below ${mount}`, onExit }),
    );
  }
}
