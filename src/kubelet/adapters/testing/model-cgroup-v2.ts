import nodePath from 'node:path/posix';
import { KubeletError } from '../../../base/errors.ts';
import type { CgroupFs } from '../cgroups/linux-cgroups-fs.ts';

export const ROOT = '/sys/fs/cgroup';
const FILES: Readonly<Record<string, readonly string[]>> = {
  cpu: ['cpu.weight', 'cpu.max'],
  memory: ['memory.max', 'memory.min'],
  pids: ['pids.max'],
  hugetlb: ['hugetlb.2MB.max'],
};

/**
 * The relevant rules of the kernel's v2 tree: control files appear when the parent enables a controller for its
 * children.
 */
export class ModelV2 implements CgroupFs {
  readonly groups = new Map<string, { handedDown: Set<string>; files: Map<string, string>; pids: Set<number> }>();
  readonly offered: string[];
  readonly killFile: boolean;

  constructor(options: { offered?: string[]; killFile?: boolean } = {}) {
    this.offered = options.offered ?? ['cpu', 'memory', 'pids', 'io'];
    this.killFile = options.killFile ?? true;
    this.groups.set(ROOT, { handedDown: new Set(), files: new Map(), pids: new Set() });
  }

  async mkdir(path: string): Promise<boolean> {
    if (this.groups.has(path)) return false;
    this.#group(nodePath.dirname(path));
    this.groups.set(path, { handedDown: new Set(), files: new Map(), pids: new Set() });
    return true;
  }

  async rmdir(path: string): Promise<void> {
    const group = this.groups.get(path);
    if (group === undefined) return;
    if (group.pids.size > 0 || (await this.directories(path)).length > 0) throw new KubeletError('Conflict', path);
    this.groups.delete(path);
  }

  async read(path: string): Promise<string> {
    const group = this.#group(nodePath.dirname(path));
    if (path.endsWith('cgroup.controllers')) return `${this.offered.join(' ')}\n`;
    if (path.endsWith('cgroup.procs')) return [...group.pids].join('\n');
    const written = group.files.get(nodePath.basename(path));
    if (written !== undefined) return `${written}\n`;
    throw new KubeletError('NotFound', path);
  }

  async write(path: string, value: string): Promise<void> {
    const [folder, file] = [nodePath.dirname(path), nodePath.basename(path)];
    const group = this.#group(folder);
    if (file === 'cgroup.subtree_control') return this.#handDown(folder, value);
    if (file === 'cgroup.kill' && this.killFile) return this.#kill(folder);
    const available = [...(this.groups.get(nodePath.dirname(folder))?.handedDown ?? [])].flatMap(
      (controller) => FILES[controller] ?? [],
    );
    if (!available.includes(file)) throw new KubeletError('NotFound', path);
    group.files.set(file, value);
  }

  async directories(path: string): Promise<string[]> {
    return [...this.groups.keys()]
      .filter((group) => nodePath.dirname(group) === path)
      .map((group) => nodePath.basename(group));
  }

  async exists(path: string): Promise<boolean> {
    return this.groups.has(path);
  }

  #group(path: string) {
    const group = this.groups.get(path);
    if (group === undefined) throw new KubeletError('NotFound', path);
    return group;
  }

  #handDown(folder: string, value: string): void {
    const wanted = value.split(' ').map((word) => word.slice(1));
    const from = folder === ROOT ? new Set(this.offered) : this.groups.get(nodePath.dirname(folder))?.handedDown;
    if (wanted.some((controller) => from?.has(controller) !== true)) throw new KubeletError('NotFound', folder);
    for (const controller of wanted) this.#group(folder).handedDown.add(controller);
  }

  #kill(folder: string): void {
    for (const [path, group] of this.groups) if (path === folder || path.startsWith(`${folder}/`)) group.pids.clear();
  }
}
