import path from 'node:path/posix';
import type { ErrorKind } from '../../../base/errors.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { BindBeneathResult, MountOrder, MountPoint, Mounts, SubPathMount } from '../mounts.ts';
import type { FakeNode } from './fake-file-tree.ts';
import { topOf } from './fake-file-tree.ts';
import type { FakeHostFiles } from './fake-host-files.ts';
import { isAtOrBelow } from './fake-host-files.ts';
import { openBeneath } from './fake-open-beneath.ts';

type MountOperation = 'mountTmpfs' | 'bind' | 'bindBeneath' | 'mount' | 'unmount';
export interface FakeMount extends MountPoint {
  readonly options: {
    sizeBytes?: number;
    mode?: number;
    noswap?: boolean;
    readOnly?: boolean;
    words?: readonly string[];
  };
  propagation: 'private' | 'rshared';
}

/** Mounts in a fake file system. A mount really covers the directory and is another device. */
export class FakeMounts implements Mounts {
  /** The mounts in their order. */
  readonly mounted: FakeMount[] = [];
  noswapSupported = true;
  readonly #files: FakeHostFiles;
  readonly #faults: { op: MountOperation | '*'; below: string; times: number; act: () => Promise<void> | void }[] = [];

  constructor(files: FakeHostFiles) {
    this.#files = files;
  }

  /** Fails the next `times` calls of `op` at or below `below`. */
  fail(op: MountOperation | '*', fault: { below: string; kind: ErrorKind; message?: string; times?: number }): void {
    this.#faults.push({
      op,
      below: fault.below,
      times: fault.times ?? Number.POSITIVE_INFINITY,
      act: () => {
        throw new KubeletError(fault.kind, `${op} ${fault.below}: ${fault.message ?? 'scripted failure'}`);
      },
    });
  }

  /** Blocks calls at or below `below` until the returned function is called. */
  hang(op: MountOperation | '*', below: string): () => void {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const fault = { op, below, times: Number.POSITIVE_INFINITY, act: () => released };
    this.#faults.push(fault);
    return () => {
      fault.times = 0;
      release();
    };
  }

  /** Adds a mount of another program, a file system with its own content. */
  seedMount(target: string, fsType: string, source: string): void {
    this.#cover(target, this.#files.tree.newNode('directory', 0o755, this.#files.tree.newDevice()));
    this.mounted.push({ path: target, fsType, source, options: {}, propagation: 'private' });
  }

  async mountTmpfs(target: string, options: { sizeBytes?: number; mode?: number; noswap?: boolean }): Promise<void> {
    await this.#enter('mountTmpfs', target);
    this.#cover(target, this.#files.tree.newNode('directory', options.mode ?? 0o1777, this.#files.tree.newDevice()));
    this.mounted.push({
      path: path.normalize(target),
      fsType: 'tmpfs',
      source: 'tmpfs',
      options,
      propagation: 'private',
    });
  }

  async bind(source: string, target: string, options: { readOnly: boolean }): Promise<void> {
    await this.#enter('bind', target);
    this.#cover(target, this.#files.tree.existing(source, true));
    this.mounted.push({ path: path.normalize(target), fsType: 'bind', source, options, propagation: 'private' });
  }

  /** Mounts an empty file system, whose content is kept until it is unmounted. */
  async mount(target: string, { fsType, source, options }: MountOrder): Promise<void> {
    await this.#enter('mount', target);
    this.#cover(target, this.#files.tree.newNode('directory', 0o755, this.#files.tree.newDevice()));
    this.mounted.push({
      path: path.normalize(target),
      fsType,
      source,
      options: { words: options },
      propagation: 'private',
    });
  }

  async bindBeneath({ root, subPath, target }: SubPathMount): Promise<BindBeneathResult> {
    await this.#enter('bindBeneath', target);
    const { tree } = this.#files;
    const opened = openBeneath(tree, root, subPath);
    if (opened.kind === 'refused') return opened;
    const at = path.normalize(target);
    while (this.mounted.some((mount) => mount.path === at)) {
      if (tree.existing(at, false).inode === opened.node.inode) return { kind: 'mounted', reused: true };
      await this.unmount(at);
    }
    await this.#files.makeDirectory(path.dirname(at), 0o750);
    const isDirectory = opened.node.type === 'directory';
    const present = (await this.#files.lstat(at))?.type;
    if (present !== undefined && (present === 'directory') !== isDirectory) await this.#files.remove(at);
    if (isDirectory) await this.#files.makeDirectory(at, 0o750);
    else await this.#files.writeFile(at, '', 0o640);
    this.#cover(at, opened.node);
    this.mounted.push({
      path: at,
      fsType: 'bind',
      source: path.join(root, subPath),
      options: {},
      propagation: 'private',
    });
    return { kind: 'mounted', reused: false };
  }

  async unmount(target: string): Promise<void> {
    await this.#enter('unmount', target);
    const index = this.mounted.findLastIndex((mount) => mount.path === path.normalize(target));
    if (index < 0) return;
    if (this.mounted.some((mount) => mount.path !== target && isAtOrBelow(mount.path, target)))
      throw new KubeletError('Conflict', `${target}: target is busy`);
    this.mounted.splice(index, 1);
    this.#bare(target).covers.pop();
  }

  async listBelow(target: string): Promise<MountPoint[]> {
    return this.mounted
      .filter((mount) => isAtOrBelow(mount.path, path.normalize(target)))
      .map(({ path: at, fsType, source }) => ({ path: at, fsType, source }));
  }

  async makeRshared(target: string): Promise<void> {
    await this.#enter('bind', target);
    if (this.mounted.some((mount) => mount.propagation === 'rshared' && isAtOrBelow(target, mount.path))) return;
    await this.bind(target, target, { readOnly: false });
    for (const mount of this.mounted) if (mount.path === target) mount.propagation = 'rshared';
  }

  async supportsTmpfsNoswap(): Promise<boolean> {
    return this.noswapSupported;
  }

  #bare(target: string): FakeNode {
    return this.#files.tree.uncovered(target);
  }

  #cover(target: string, node: FakeNode): void {
    const bare = this.#bare(target);
    if (topOf(bare).type === 'directory' && node.type !== 'directory')
      throw new KubeletError('Invalid', `${target}: is a directory`);
    bare.covers.push(node);
  }

  async #enter(op: MountOperation, target: string): Promise<void> {
    for (const fault of this.#faults) {
      if ((fault.op !== '*' && fault.op !== op) || fault.times <= 0 || !isAtOrBelow(target, fault.below)) continue;
      fault.times--;
      await fault.act();
    }
  }
}
