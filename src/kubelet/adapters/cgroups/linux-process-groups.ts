import { readFile, readlink } from 'node:fs/promises';
import nodePath from 'node:path/posix';
import { errnoOf, KubeletError } from '../../../base/errors.ts';
import type { ProcessGroups } from '../../ports/node-settings.ts';
import { fromErrno } from '../linux-errors.ts';
import type { CgroupFs, CgroupLayout } from './linux-cgroups-fs.ts';
import { kernelCgroupFs } from './linux-cgroups-fs.ts';
import { LinuxCgroups } from './linux-cgroups.ts';

export interface ProcessGroupsOptions {
  readonly layout: CgroupLayout;
  readonly fs?: CgroupFs;
  readonly proc?: string;
  readonly ownPid?: number;
}

/**
 * Manages the cgroups of processes outside of pods, in every tree of this machine. Names are never translated to
 * slices.
 */
export class LinuxProcessGroups implements ProcessGroups {
  readonly ownPid: number;
  readonly #layout: CgroupLayout;
  readonly #fs: CgroupFs;
  readonly #proc: string;
  readonly #cgroups: LinuxCgroups;

  constructor({ layout, fs = kernelCgroupFs, proc = '/proc', ownPid = process.pid }: ProcessGroupsOptions) {
    this.ownPid = ownPid;
    this.#layout = layout;
    this.#fs = fs;
    this.#proc = proc;
    this.#cgroups = new LinuxCgroups({ layout, driver: 'cgroupfs', fs });
  }

  async move(pid: number, group: string): Promise<void> {
    const name = canonical(group);
    await this.#cgroups.ensure(name, {});
    for (const { mountPath } of this.#trees()) {
      try {
        await this.#fs.write(nodePath.join(mountPath, name, 'cgroup.procs'), String(pid));
      } catch (error) {
        if (!isGone(error)) throw error;
        return;
      }
    }
  }

  async isIn(pid: number, group: string): Promise<boolean> {
    const name = canonical(group);
    const places = parsePlaces(await this.#readProc(pid, 'cgroup'));
    return this.#trees().every(({ controllers }) => controllers.every((one) => places.get(one) === name));
  }

  async rootProcesses(): Promise<number[]> {
    const trees = this.#trees();
    const tree = trees.find(({ controllers }) => controllers.includes('memory')) ?? trees[0];
    if (tree === undefined) return [];
    const pids = (await this.#fs.read(`${tree.mountPath}/cgroup.procs`)).split('\n').map(Number);
    const users = await Promise.all(pids.map(async (pid) => pid > 1 && (await this.#hasExecutable(pid))));
    return pids.filter((_, index) => users[index]);
  }

  /** Returns the trees. v2 has one tree, whose line in /proc names no controller. */
  #trees(): readonly { readonly mountPath: string; readonly controllers: readonly string[] }[] {
    return this.#layout.version === 2
      ? [{ mountPath: this.#layout.root, controllers: [''] }]
      : this.#layout.hierarchies;
  }

  async #readProc(pid: number, file: string): Promise<string> {
    try {
      return await readFile(`${this.#proc}/${pid}/${file}`, 'utf8');
    } catch (error) {
      throw fromErrno(error, 'read', `${this.#proc}/${pid}/${file}`);
    }
  }

  /** Whether the process has an executable. Kernel threads and ending processes have none. */
  async #hasExecutable(pid: number): Promise<boolean> {
    try {
      await readlink(`${this.#proc}/${pid}/exe`);
      return true;
    } catch (error) {
      return errnoOf(error) !== 'ENOENT';
    }
  }
}

/** Parses lines such as `4:memory:/a` and `0::/a`. */
function parsePlaces(text: string): Map<string, string> {
  const places = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (path !== undefined) for (const controller of controllers?.split(',') ?? []) places.set(controller, path);
  }
  return places;
}

function canonical(group: string): string {
  const name = nodePath.resolve('/', group);
  if (name === '/') throw new KubeletError('Invalid', 'a process cannot be put in the root cgroup', { op: 'move' });
  return name;
}

function isGone(error: unknown): boolean {
  return error instanceof KubeletError && errnoOf(error.cause) === 'ESRCH';
}
