import nodePath from 'node:path/posix';
import { errnoOf, isKind, KubeletError } from '../../../base/errors.ts';
import type { CgroupLimits, Cgroups, CgroupValues } from '../../ports/cgroups.ts';
import type { CgroupFs, CgroupLayout } from './linux-cgroups-fs.ts';
import { kernelCgroupFs } from './linux-cgroups-fs.ts';
import type { ControlWrite } from './linux-cgroups-limits.ts';
import { valuesFromV1, valuesFromV2, v1Writes, v2Writes } from './linux-cgroups-limits.ts';
import { nameOfSlice, systemdPath, systemdSlice, withParents } from './linux-cgroup-names.ts';

export type CgroupDriver = 'cgroupfs' | 'systemd';

export interface LinuxCgroupsOptions {
  readonly layout: CgroupLayout;
  readonly driver: CgroupDriver;
  readonly fs?: CgroupFs;
  /** Whether swap is limited; default false. */
  readonly swapControl?: boolean;
  /** Sends SIGKILL. A missing process is not an error. */
  readonly killProcess?: (pid: number) => void;
}

/** The controllers that a pod's children get on v2. */
const delegated = ['cpu', 'cpuset', 'memory', 'pids', 'io', 'hugetlb', 'rdma', 'misc'];

/**
 * Manages cgroups through files. With cgroup v1 each controller has its own tree, and a controller that is not mounted
 * is skipped. With v2 there is one tree, and controllers are enabled through subtree_control when the file of a limit
 * is missing. With the systemd driver it is the part of `SystemdCgroups` that handles files, and names are those of
 * slices.
 */
export class LinuxCgroups implements Cgroups {
  readonly version: 1 | 2;
  readonly driver: CgroupDriver;
  readonly swapControl: boolean;
  readonly #layout: CgroupLayout;
  readonly #fs: CgroupFs;
  readonly #killProcess: (pid: number) => void;

  constructor(options: LinuxCgroupsOptions) {
    this.version = options.layout.version;
    this.driver = options.driver;
    this.swapControl = options.swapControl ?? false;
    this.#layout = options.layout;
    this.#fs = options.fs ?? kernelCgroupFs;
    this.#killProcess = options.killProcess ?? sigkill;
  }

  runtimeParent(name: string): string {
    return this.driver === 'systemd' ? systemdSlice(name) : name;
  }

  async exists(name: string): Promise<boolean> {
    // The trees are checked one after another, because for a missing cgroup, the usual case, the first one is
    // sufficient.
    for (const tree of this.#ownTrees()) if (!(await this.#fs.exists(this.#path(tree, name)))) return false;
    return true;
  }

  async missingPaths(name: string): Promise<readonly string[]> {
    const paths = this.#ownTrees().map((tree) => this.#path(tree, name));
    const there = await Promise.all(paths.map((path) => this.#fs.exists(path)));
    return paths.filter((_, index) => there[index] !== true);
  }

  async ensure(name: string, limits: CgroupLimits): Promise<void> {
    await Promise.all(this.#ownTrees().map((tree) => this.#makeWithParents(tree, name)));
    // systemd does not enable the controller for huge pages.
    if (this.driver === 'systemd' && this.#layout.version === 2)
      await this.#handDownControllers(this.#layout.root, name);
    await this.#apply(name, limits);
  }

  async update(name: string, limits: CgroupLimits): Promise<void> {
    if (!(await this.exists(name)))
      throw new KubeletError('NotFound', `cgroup ${name} does not exist`, { op: 'update cgroup' });
    await this.#apply(name, limits);
  }

  async read(name: string): Promise<CgroupValues> {
    if (!(await this.exists(name)))
      throw new KubeletError('NotFound', `cgroup ${name} does not exist`, { op: 'read cgroup' });
    const layout = this.#layout;
    const read = async (controller: string, file: string): Promise<string | undefined> => {
      const tree =
        layout.version === 2
          ? layout.root
          : layout.hierarchies.find((hierarchy) => hierarchy.controllers.includes(controller))?.mountPath;
      if (tree === undefined) return undefined;
      try {
        return (await this.#fs.read(`${this.#path(tree, name)}/${file}`)).trim();
      } catch (error) {
        if (isKind(error, 'NotFound')) return undefined;
        throw error;
      }
    };
    return layout.version === 2 ? valuesFromV2(read) : valuesFromV1(read);
  }

  async remove(name: string): Promise<void> {
    const results = await Promise.allSettled(this.#allTrees().map((tree) => this.#removeBelow(this.#path(tree, name))));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  async processes(name: string): Promise<number[]> {
    const pids = await Promise.all(this.#allTrees().map((tree) => this.#processesBelow(this.#path(tree, name))));
    return [...new Set(pids.flat())].sort((left, right) => left - right);
  }

  async kill(name: string): Promise<void> {
    if (withParents(name).length === 0)
      throw new KubeletError('Invalid', 'refusing to kill everything on this machine', { op: 'kill cgroup' });
    if (this.#layout.version === 2) {
      try {
        return await this.#fs.write(`${this.#path(this.#layout.root, name)}/cgroup.kill`, '1');
      } catch (error) {
        // Kernels before 5.14 have no cgroup.kill, and a removed cgroup has no processes.
        if (!isKind(error, 'NotFound')) throw error;
      }
    }
    for (const pid of await this.processes(name)) this.#killProcess(pid);
  }

  async children(name: string): Promise<string[]> {
    const found = await Promise.all(this.#allTrees().map((tree) => this.#fs.directories(this.#path(tree, name))));
    const names = found.flat().map((directory) => (this.driver === 'systemd' ? nameOfSlice(directory) : directory));
    return [...new Set(names.filter((child) => child !== undefined))].sort();
  }

  /** Returns the trees in which the agent creates cgroups. */
  #ownTrees(): string[] {
    return this.#layout.version === 2
      ? [this.#layout.root]
      : this.#layout.hierarchies.map((hierarchy) => hierarchy.mountPath);
  }

  /**
   * Returns all trees, including the empty v2 tree of a hybrid machine, in which a runtime may have created cgroups.
   */
  #allTrees(): string[] {
    const { unifiedRoot } = this.#layout.version === 1 ? this.#layout : { unifiedRoot: undefined };
    return unifiedRoot === undefined ? this.#ownTrees() : [...this.#ownTrees(), unifiedRoot];
  }

  #path(tree: string, name: string): string {
    return nodePath.join(tree, this.driver === 'systemd' ? systemdPath(name) : name);
  }

  /**
   * Creates a cgroup and its parents. It tries the leaf first, because the parents of a pod's cgroup almost always
   * exist.
   */
  async #makeWithParents(tree: string, name: string): Promise<void> {
    try {
      await this.#make(this.#path(tree, name));
    } catch (error) {
      if (!isKind(error, 'NotFound')) throw error;
      for (const parent of withParents(name)) await this.#make(this.#path(tree, parent));
    }
  }

  async #make(path: string): Promise<void> {
    const made = await this.#fs.mkdir(path);
    if (made && this.#layout.version === 1 && this.#hierarchyAt(path)?.controllers.includes('cpuset') === true)
      await this.#inheritCpuset(path);
  }

  #hierarchyAt(path: string) {
    return this.#layout.version === 1
      ? this.#layout.hierarchies.find((hierarchy) => path.startsWith(`${hierarchy.mountPath}/`))
      : undefined;
  }

  /** Copies the CPUs and memory nodes of the parent. A new v1 cpuset is empty, and no process may enter it before. */
  async #inheritCpuset(path: string): Promise<void> {
    for (const file of ['cpuset.cpus', 'cpuset.mems']) {
      if ((await this.#fs.read(`${path}/${file}`)).trim() === '')
        await this.#fs.write(`${path}/${file}`, (await this.#fs.read(`${nodePath.dirname(path)}/${file}`)).trim());
    }
  }

  async #apply(name: string, limits: CgroupLimits): Promise<void> {
    const layout = this.#layout;
    if (layout.version === 2) return this.#applyV2(layout.root, name, v2Writes(limits));
    const byTree = new Map<string, ControlWrite[]>();
    for (const write of v1Writes(limits)) {
      const tree = layout.hierarchies.find((hierarchy) => hierarchy.controllers.includes(write.controller))?.mountPath;
      if (tree !== undefined) byTree.set(tree, [...(byTree.get(tree) ?? []), write]);
    }
    await Promise.all([...byTree].map(([tree, writes]) => this.#writeAll(this.#path(tree, name), writes)));
  }

  async #applyV2(root: string, name: string, writes: readonly ControlWrite[]): Promise<void> {
    const path = this.#path(root, name);
    try {
      await this.#writeAll(path, writes);
    } catch (error) {
      if (!isKind(error, 'NotFound')) throw error;
      await this.#handDownControllers(root, name);
      await this.#writeAll(path, writes);
    }
  }

  async #handDownControllers(root: string, name: string): Promise<void> {
    const offered = (await this.#fs.read(`${root}/cgroup.controllers`)).trim().split(' ');
    const wanted = delegated.filter((controller) => offered.includes(controller)).map((controller) => `+${controller}`);
    for (const group of ['/', ...withParents(name).slice(0, -1)]) {
      const file = `${group === '/' ? root : this.#path(root, group)}/cgroup.subtree_control`;
      try {
        await this.#fs.write(file, wanted.join(' '));
      } catch (error) {
        // A controller that cannot be enabled must not affect the others. The limit that needs it then fails.
        await Promise.allSettled(wanted.map((one) => this.#fs.write(file, one)));
        if (isKind(error, 'NotFound') && !(await this.#fs.exists(nodePath.dirname(file)))) throw error;
      }
    }
  }

  async #writeAll(path: string, writes: readonly ControlWrite[]): Promise<void> {
    for (const [index, write] of writes.entries()) {
      try {
        await this.#fs.write(`${path}/${write.file}`, write.value);
      } catch (error) {
        if (write.optional === true && isKind(error, 'NotFound') && (await this.#fs.exists(path))) continue;
        const next = writes[index + 1];
        // The kernel rejects a period below what the old quota allows until the new quota is set.
        if (write.file !== 'cpu.cfs_period_us' || next?.file !== 'cpu.cfs_quota_us' || !isKind(error, 'Invalid'))
          throw error;
        await this.#fs.write(`${path}/${next.file}`, next.value);
        await this.#fs.write(`${path}/${write.file}`, write.value);
      }
    }
  }

  async #removeBelow(path: string): Promise<void> {
    try {
      await this.#fs.rmdir(path);
    } catch (error) {
      if (!isKind(error, 'Conflict')) throw error;
      const children = await this.#fs.directories(path);
      if (children.length === 0) throw error;
      for (const child of children) await this.#removeBelow(`${path}/${child}`);
      await this.#fs.rmdir(path);
    }
  }

  async #processesBelow(path: string): Promise<number[]> {
    try {
      const own = (await this.#fs.read(`${path}/cgroup.procs`))
        .split('\n')
        .filter((line) => line !== '')
        .map(Number);
      const below = await Promise.all(
        (await this.#fs.directories(path)).map((child) => this.#processesBelow(`${path}/${child}`)),
      );
      return [...own, ...below.flat()];
    } catch (error) {
      if (isKind(error, 'NotFound')) return [];
      throw error;
    }
  }
}

function sigkill(pid: number): void {
  if (pid <= 1 || pid === process.pid) return;
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (!(errnoOf(error) === 'ESRCH'))
      throw new KubeletError('Internal', `kill ${pid}: ${String(error)}`, { op: 'kill', cause: error });
  }
}
