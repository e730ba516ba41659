import path from 'node:path/posix';
import { KubeletError } from '../../../base/errors.ts';
import type { FileInfo } from '../host-files.ts';

/** One inode of the in-memory file system. */
export interface FakeNode {
  readonly type: FileInfo['type'];
  readonly inode: number;
  readonly device: number;
  mode: number;
  uid: number;
  gid: number;
  readonly modifiedMs: number;
  content: Uint8Array;
  /** The target of a symlink. */
  target: string;
  /** The entries of a directory. */
  readonly entries: Map<string, FakeNode>;
  /** What is mounted over this node, the topmost last. */
  readonly covers: FakeNode[];
}

export interface Found {
  readonly parent: FakeNode;
  /** The name in `parent`; empty for the root. */
  readonly name: string;
  readonly node: FakeNode | undefined;
}

const LONGEST_SYMLINK_CHAIN = 40;

/** The tree below the fake file system: path resolution with symlinks and mounts, no faults, no watching. */
export class FakeFileTree {
  readonly root: FakeNode;
  #inodes = 1;
  #devices = 1;
  readonly #nowMs: () => number;
  readonly #parts = new Map<string, readonly string[]>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.root = this.newNode('directory', 0o755, this.newDevice());
  }

  newDevice(): number {
    return this.#devices++;
  }

  newNode(type: FileInfo['type'], mode: number, device: number): FakeNode {
    return {
      type,
      inode: this.#inodes++,
      device,
      mode,
      uid: 0,
      gid: 0,
      modifiedMs: this.#nowMs(),
      content: new Uint8Array(),
      target: '',
      entries: new Map(),
      covers: [],
    };
  }

  /** Walks to `path`. Throws `NotFound` for a component that is missing or not a directory. */
  find(path: string, followLast: boolean, hops = 0): Found {
    if (!path.startsWith('/')) throw new KubeletError('Invalid', `${path}: not an absolute path`);
    const parts = this.#partsOf(path);
    const trail: FakeNode[] = [topOf(this.root)];
    let [holder, name, found]: [FakeNode, string, FakeNode | undefined] = [this.root, '', topOf(this.root)];
    for (let index = 0; index < parts.length; index++) {
      const part = parts[index] ?? '';
      const last = index === parts.length - 1;
      const parent = trail.at(-1) as FakeNode;
      if (parent.type !== 'directory') throw new KubeletError('NotFound', `${path}: not a directory on the way`);
      if (part === '..') {
        if (trail.length > 1) trail.pop();
        [holder, name, found] = [trail.at(-2) ?? this.root, '', trail.at(-1)];
        continue;
      }
      const entry = parent.entries.get(part);
      const node = entry === undefined ? undefined : topOf(entry);
      if (node?.type === 'symlink' && (!last || followLast)) {
        if (hops >= LONGEST_SYMLINK_CHAIN) throw new KubeletError('Invalid', `${path}: too many symbolic links`);
        const rest = parts.slice(index + 1).join('/');
        const base = node.target.startsWith('/') ? node.target : `/${parts.slice(0, index).join('/')}/${node.target}`;
        return this.find(rest === '' ? base : `${base}/${rest}`, followLast, hops + 1);
      }
      if (node === undefined && !last) throw new KubeletError('NotFound', `${path}: no such file or directory`);
      [holder, name, found] = [parent, part, node];
      if (node !== undefined) trail.push(node);
    }
    return { parent: holder, name, node: found };
  }

  /** Cached, because the same paths are walked repeatedly. */
  #partsOf(path: string): readonly string[] {
    const known = this.#parts.get(path);
    if (known !== undefined) return known;
    const parts = path.split('/').filter((part) => part !== '' && part !== '.');
    this.#parts.set(path, parts);
    return parts;
  }

  existing(path: string, followLast: boolean): FakeNode {
    const { node } = this.find(path, followLast);
    if (node === undefined) throw new KubeletError('NotFound', `${path}: no such file or directory`);
    return node;
  }

  /** Returns the node itself, and not what is mounted over it. */
  uncovered(path: string): FakeNode {
    const { parent, name, node } = this.find(path, true);
    const bare = name === '' ? this.root : parent.entries.get(name);
    if (node === undefined || bare === undefined)
      throw new KubeletError('NotFound', `${path}: no such file or directory`);
    return bare;
  }
}

export function topOf(node: FakeNode): FakeNode {
  return node.covers.length === 0 ? node : (node.covers.at(-1) ?? node);
}

export function hasMountBelow(node: FakeNode): boolean {
  return [...node.entries.values()].some((entry) => entry.covers.length > 0 || hasMountBelow(entry));
}

export function infoOf(node: FakeNode): FileInfo {
  const { type, mode, modifiedMs, inode, device, uid, gid } = node;
  return {
    type,
    sizeBytes: type === 'symlink' ? node.target.length : node.content.length,
    mode,
    modifiedMs,
    inode,
    device,
    uid,
    gid,
  };
}

/**
 * Returns where `file` is if `root` is the root directory, with links followed. Throws `Invalid` for circular links.
 */
export function pathBeneath(tree: FakeFileTree, root: string, file: string): string {
  const parts = (text: string): string[] => text.split('/').filter((name) => name !== '' && name !== '.');
  const walked: string[] = [];
  let links = 0;
  for (let pending = parts(file), name = pending.shift(); name !== undefined; name = pending.shift()) {
    if (name === '..') {
      walked.pop();
      continue;
    }
    const node = tree.existing(path.join(root, ...walked, name), false);
    if (node.type !== 'symlink') {
      walked.push(name);
      continue;
    }
    if (++links > LONGEST_SYMLINK_CHAIN) throw new KubeletError('Invalid', `${file}: too many symbolic links`);
    if (node.target.startsWith('/')) walked.length = 0;
    pending = [...parts(node.target), ...pending];
  }
  return path.join(root, ...walked);
}
