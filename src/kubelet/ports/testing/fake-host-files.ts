import { gzipSync } from 'node:zlib';
import path from 'node:path/posix';
import type { Clock } from '../../../base/clock.ts';
import type { ErrorKind } from '../../../base/errors.ts';
import { KubeletError } from '../../../base/errors.ts';
import { computeGroupMode } from '../../model/group-mode.ts';
import type { FileInfo, GroupOwnership, HostFiles, OwnershipOutcome, TreeFile } from '../host-files.ts';
import type { FakeNode } from './fake-file-tree.ts';
import { FakeFileTree, hasMountBelow, infoOf, pathBeneath } from './fake-file-tree.ts';
import { openBeneath } from './fake-open-beneath.ts';

export type FileOperation = Exclude<keyof HostFiles, 'watch'>;
type WatchHandlers = Parameters<HostFiles['watch']>[1];

const WRITING: ReadonlySet<FileOperation> = new Set([
  'writeFile',
  'writeFileAtomic',
  'appendFile',
  'makeDirectory',
  'makeDirectoryBeneath',
  'makeTree',
  'remove',
  'removeTree',
  'rename',
  'symlink',
  'chmod',
  'chown',
  'giveToGroup',
  'gzip',
]);
const NEEDS_SPACE: ReadonlySet<FileOperation> = new Set([
  'writeFile',
  'writeFileAtomic',
  'appendFile',
  'makeDirectory',
  'makeDirectoryBeneath',
  'makeTree',
  'symlink',
  'gzip',
]);

interface Rule {
  readonly below: string;
  readonly applies: (op: FileOperation) => boolean;
  /** The fault, which throws, waits, or lets the call continue. */
  readonly act: () => Promise<void> | void;
  times: number;
}

/**
 * A host's file system in memory: directories, files, symlinks, modes, owners, inodes, mounts, watches, and scripted
 * faults below paths. Every fault method returns a function that ends the fault.
 */
export class FakeHostFiles implements HostFiles {
  readonly tree: FakeFileTree;
  /** Every call in order, as `op path`, to assert that something was not done. */
  readonly calls: string[] = [];
  readonly #rules = new Set<Rule>();
  readonly #watches = new Set<{ path: string; handlers: WatchHandlers }>();

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.tree = new FakeFileTree(() => clock.nowMs());
  }

  // ---- scripts ----

  /** Fails `op` (or every call) below `below`, the next `times` times or until ended. */
  fail(
    op: FileOperation | '*',
    fault: { below: string; kind: ErrorKind; message?: string; times?: number },
  ): () => void {
    const message = fault.message ?? `scripted ${fault.kind}`;
    return this.#addRule({
      below: fault.below,
      applies: (called) => op === '*' || op === called,
      times: fault.times ?? Number.POSITIVE_INFINITY,
      act: () => {
        throw new KubeletError(fault.kind, `${fault.below}: ${message}`);
      },
    });
  }

  /** Operations that need space fail below `below`. */
  fillDisk(below = '/'): () => void {
    return this.#addRule({
      below,
      applies: (op) => NEEDS_SPACE.has(op),
      times: Number.POSITIVE_INFINITY,
      act: () => fault(below, 'no space left on device'),
    });
  }

  makeReadOnly(below = '/'): () => void {
    return this.#addRule({
      below,
      applies: (op) => WRITING.has(op),
      times: Number.POSITIVE_INFINITY,
      act: () => fault(below, 'read-only file system'),
    });
  }

  failIo(below: string): () => void {
    return this.#addRule({
      below,
      applies: () => true,
      times: Number.POSITIVE_INFINITY,
      act: () => fault(below, 'input/output error'),
    });
  }

  /** Makes a dead mount: calls below it do not return until the returned function is called. Then they continue. */
  hang(below: string): () => void {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const end = this.#addRule({ below, applies: () => true, times: Number.POSITIVE_INFINITY, act: () => released });
    return () => {
      end();
      release();
    };
  }

  /** Creates a device node, socket or fifo, or several files at once, without faults and watches. */
  seed(files: Readonly<Record<string, string | FileInfo['type']>>, types = false): void {
    for (const [file, value] of Object.entries(files)) {
      this.#makeDirectories(path.dirname(file), 0o755);
      const node = this.tree.newNode(types ? (value as FileInfo['type']) : 'file', 0o644, this.tree.root.device);
      if (!types) node.content = new TextEncoder().encode(value);
      this.tree.find(file, true).parent.entries.set(path.basename(file), node);
    }
  }

  /** Returns the current content of a file, through symlinks; undefined if it is missing. */
  peek(file: string): string | undefined {
    try {
      return new TextDecoder().decode(this.tree.existing(file, true).content);
    } catch {
      return undefined;
    }
  }

  // ---- HostFiles ----

  async readText(file: string, limitBytes?: number): Promise<string> {
    return new TextDecoder().decode(await this.#read('readText', file, limitBytes));
  }

  async readBytes(file: string, limitBytes?: number): Promise<Uint8Array> {
    return this.#read('readBytes', file, limitBytes);
  }

  async readRange(file: string, offsetBytes: number, lengthBytes: number): Promise<Uint8Array> {
    await this.#enter('readRange', file);
    const node = this.tree.existing(file, false);
    if (node.type === 'symlink') throw new KubeletError('Invalid', `${file}: is a symbolic link`);
    return node.content.slice(offsetBytes, offsetBytes + lengthBytes);
  }

  async readBeneath(root: string, file: string, limitBytes: number): Promise<Uint8Array> {
    await this.#enter('readBeneath', path.join(root, file));
    const { type, content } = this.tree.existing(pathBeneath(this.tree, root, file), false);
    if (type !== 'file') throw new KubeletError('Invalid', `${file}: is not a regular file`);
    if (content.length > limitBytes) throw new KubeletError('Invalid', `${file}: is larger than ${limitBytes} bytes`);
    return content.slice();
  }

  async writeFile(file: string, content: string | Uint8Array, mode: number): Promise<void> {
    await this.#enter('writeFile', file);
    this.#put(file, content, mode);
    this.#notify(file, false);
  }

  async writeFileAtomic(file: string, content: string | Uint8Array, mode: number): Promise<void> {
    await this.#enter('writeFileAtomic', file);
    const { parent, name, node } = this.tree.find(file, false);
    if (node?.type === 'directory') throw new KubeletError('Invalid', `${file}: is a directory`);
    const fresh = this.tree.newNode('file', mode, parent.device);
    fresh.content = bytesOf(content);
    parent.entries.set(name, fresh);
    this.#notify(file, true);
  }

  async appendFile(file: string, content: string): Promise<void> {
    await this.#enter('appendFile', file);
    const old = this.tree.find(file, false).node;
    this.#write(file, appended(old?.content ?? new Uint8Array(), bytesOf(content)), old?.mode ?? 0o640);
    this.#notify(file, false);
  }

  async makeDirectory(directory: string, mode: number): Promise<void> {
    await this.#enter('makeDirectory', directory);
    if (this.#makeDirectories(directory, mode)) this.#notify(directory, true);
  }

  async makeDirectoryBeneath(folder: string, relative: string, mode: number): Promise<void> {
    await this.#enter('makeDirectoryBeneath', `${folder}/${relative}`);
    const opened = openBeneath(this.tree, folder, relative, mode);
    if (opened.kind === 'refused') throw new KubeletError('Invalid', `mkdir ${folder}/${relative}: ${opened.why}`);
    if (opened.node.type !== 'directory')
      throw new KubeletError('AlreadyExists', `mkdir ${folder}/${relative}: exists and is not a directory`);
    this.#notify(`${folder}/${relative}`, true);
  }

  async makeTree(folder: string, name: string, files: ReadonlyMap<string, TreeFile>): Promise<void> {
    await this.#enter('makeTree', `${folder}/${name}`);
    const { parent, node } = this.tree.find(`${folder}/${name}`, false);
    if (node !== undefined) throw new KubeletError('AlreadyExists', `${folder}/${name}: file exists`);
    parent.entries.set(name, this.tree.newNode('directory', 0o755, parent.device));
    for (const [relative, { content, mode, uid }] of files) {
      const at = `${folder}/${name}/${relative}`;
      this.#makeDirectories(path.dirname(at), 0o755);
      this.#put(at, content, mode);
      if (uid !== undefined) this.tree.existing(at, false).uid = uid;
    }
    this.#notify(`${folder}/${name}`, true);
  }

  async remove(target: string): Promise<void> {
    await this.#enter('remove', target);
    const found = this.#findOrNothing(target);
    if (found?.node === undefined) return;
    if (found.node.type === 'directory' && found.node.entries.size > 0)
      throw new KubeletError('Conflict', `${target}: directory not empty`);
    this.#unlink(target, found);
  }

  async removeTree(target: string): Promise<void> {
    await this.#enter('removeTree', target);
    const found = this.#findOrNothing(target);
    if (found?.node === undefined) return;
    const bare = found.parent.entries.get(found.name) as FakeNode;
    if (bare.covers.length > 0 || hasMountBelow(bare))
      throw new KubeletError('Unavailable', `${target}: something is mounted at or below it`);
    this.#unlink(target, found);
  }

  async rename(from: string, to: string): Promise<void> {
    await this.#enter('rename', from);
    const source = this.tree.find(from, false);
    if (source.node === undefined) throw new KubeletError('NotFound', `${from}: no such file or directory`);
    const target = this.tree.find(to, false);
    if (source.parent.device !== target.parent.device)
      throw new KubeletError('Invalid', `${from}: cannot be renamed to another file system`);
    if (target.node?.type === 'directory' && target.node.entries.size > 0)
      throw new KubeletError('Conflict', `${to}: directory not empty`);
    source.parent.entries.delete(source.name);
    target.parent.entries.set(target.name, source.node);
    this.#notify(from, true);
    this.#notify(to, true);
  }

  async symlink(target: string, link: string): Promise<void> {
    await this.#enter('symlink', link);
    const found = this.tree.find(link, false);
    if (found.node !== undefined) throw new KubeletError('AlreadyExists', `${link}: file exists`);
    const node = this.tree.newNode('symlink', 0o777, found.parent.device);
    node.target = target;
    found.parent.entries.set(found.name, node);
    this.#notify(link, true);
  }

  async readLink(link: string): Promise<string> {
    await this.#enter('readLink', link);
    const node = this.tree.existing(link, false);
    if (node.type !== 'symlink') throw new KubeletError('Invalid', `${link}: is not a symbolic link`);
    return node.target;
  }

  async lstat(target: string): Promise<FileInfo | undefined> {
    await this.#enter('lstat', target);
    const node = this.#findOrNothing(target)?.node;
    return node === undefined ? undefined : infoOf(node);
  }

  async stat(target: string): Promise<FileInfo | undefined> {
    await this.#enter('stat', target);
    const node = this.#findOrNothing(target, true)?.node;
    return node === undefined ? undefined : infoOf(node);
  }

  async list(directory: string): Promise<string[]> {
    await this.#enter('list', directory);
    const node = this.#findOrNothing(directory, true)?.node;
    if (node === undefined) return [];
    if (node.type !== 'directory') throw new KubeletError('Invalid', `${directory}: not a directory`);
    return [...node.entries.keys()].sort();
  }

  async chmod(target: string, mode: number): Promise<void> {
    await this.#enter('chmod', target);
    const node = this.tree.existing(target, false);
    if (node.type === 'symlink') throw new KubeletError('Invalid', `chmod ${target}: is a symbolic link`);
    node.mode = mode;
  }

  async chown(target: string, uid: number, gid: number): Promise<void> {
    await this.#enter('chown', target);
    const node = this.tree.existing(target, false);
    if (uid >= 0) node.uid = uid;
    if (gid >= 0) node.gid = gid;
  }

  async giveToGroup(
    target: string,
    group: GroupOwnership,
    onProgress?: (entries: number) => void,
  ): Promise<OwnershipOutcome> {
    await this.#enter('giveToGroup', target);
    const node = this.#findOrNothing(target)?.node;
    const outcome: OwnershipOutcome = { entries: node === undefined ? 0 : giveNode(node, group), refused: 0 };
    onProgress?.(outcome.entries);
    return outcome;
  }

  async gzip(from: string, to: string): Promise<void> {
    await this.#enter('gzip', from);
    const node = this.tree.existing(from, false);
    if (node.type !== 'file') throw new KubeletError('Invalid', `gzip ${from}: is not a regular file`);
    this.#put(to, gzipSync(node.content), node.mode);
    this.#notify(to, true);
  }

  watch(target: string, handlers: WatchHandlers): () => void {
    const watch = { path: path.normalize(target), handlers };
    if (this.#findOrNothing(target)?.node === undefined) {
      queueMicrotask(() => handlers.onLost(`${target}: no such file or directory`));
      return () => undefined;
    }
    this.#watches.add(watch);
    return () => {
      this.#watches.delete(watch);
    };
  }

  // ---- inside ----

  #addRule(rule: Rule): () => void {
    this.#rules.add(rule);
    return () => {
      this.#rules.delete(rule);
    };
  }

  async #enter(op: FileOperation, target: string): Promise<void> {
    this.calls.push(`${op} ${target}`);
    for (const rule of this.#rules) {
      if (!isAtOrBelow(target, rule.below) || !rule.applies(op)) continue;
      rule.times--;
      if (rule.times <= 0) this.#rules.delete(rule);
      await rule.act();
    }
  }

  async #read(op: FileOperation, file: string, limitBytes?: number): Promise<Uint8Array> {
    await this.#enter(op, file);
    const node = this.tree.existing(file, true);
    if (node.type === 'directory') throw new KubeletError('Invalid', `${file}: is a directory`);
    if (limitBytes !== undefined && node.content.length > limitBytes)
      throw new KubeletError('Invalid', `${file}: larger than ${limitBytes} bytes`);
    return node.content;
  }

  #findOrNothing(target: string, followLast = false): ReturnType<FakeFileTree['find']> | undefined {
    try {
      return this.tree.find(target, followLast);
    } catch (error) {
      if (error instanceof KubeletError && error.kind === 'NotFound') return undefined;
      throw error;
    }
  }

  #put(file: string, content: string | Uint8Array, mode: number): void {
    this.#write(file, bytesOf(content), mode);
  }

  #write(file: string, content: Uint8Array, mode: number): void {
    const { parent, name, node } = this.tree.find(file, false);
    if (node?.type === 'symlink') throw new KubeletError('Invalid', `${file}: is a symbolic link`);
    if (node?.type === 'directory') throw new KubeletError('Invalid', `${file}: is a directory`);
    const written = node ?? this.tree.newNode('file', mode, parent.device);
    written.content = content;
    written.mode = mode;
    if (node === undefined) parent.entries.set(name, written);
  }

  #makeDirectories(directory: string, mode: number): boolean {
    const existing = this.#findOrNothing(directory, true)?.node;
    if (existing !== undefined) {
      if (existing.type !== 'directory')
        throw new KubeletError('AlreadyExists', `${directory}: exists and is not a directory`);
      return false;
    }
    this.#makeDirectories(path.dirname(directory), mode);
    const { parent, name } = this.tree.find(directory, true);
    if (parent.type !== 'directory') throw new KubeletError('Invalid', `${directory}: its parent is not a directory`);
    parent.entries.set(name, this.tree.newNode('directory', mode, parent.device));
    return true;
  }

  #unlink(target: string, found: ReturnType<FakeFileTree['find']>): void {
    const bare = found.parent.entries.get(found.name);
    if (bare !== undefined && bare.covers.length > 0) throw new KubeletError('Conflict', `${target}: is a mount point`);
    found.parent.entries.delete(found.name);
    this.#notify(target, true, true);
  }

  #notify(changed: string, settled: boolean, removed = false): void {
    const target = path.normalize(changed);
    for (const watch of [...this.#watches]) {
      if (watch.path === target && this.#findOrNothing(target)?.node === undefined) {
        this.#watches.delete(watch);
        queueMicrotask(() => watch.handlers.onLost(`${target}: was removed`));
      } else if (watch.path === target || watch.path === path.dirname(target)) {
        queueMicrotask(() => {
          if (this.#watches.has(watch)) watch.handlers.onChange(path.basename(target), settled, removed);
        });
      }
    }
  }
}

export function isAtOrBelow(target: string, base: string): boolean {
  return base === '/' || target === base || target.startsWith(`${base}/`);
}

/** A mount below is another tree. */
function giveNode(node: FakeNode, group: GroupOwnership): number {
  let entries = 1;
  for (const entry of node.entries.values()) if (entry.covers.length === 0) entries += giveNode(entry, group);
  node.gid = group.gid;
  if (node.type !== 'symlink')
    node.mode = computeGroupMode(node.mode, { directory: node.type === 'directory', readOnly: group.readOnly });
  return entries;
}

function fault(below: string, message: string): never {
  throw new KubeletError('Unavailable', `${below}: ${message}`);
}

const encoder = new TextEncoder();

function bytesOf(content: string | Uint8Array): Uint8Array {
  return typeof content === 'string' ? encoder.encode(content) : new Uint8Array(content);
}

/** How much of a buffer is content. The rest is for appends. */
const used = new WeakMap<ArrayBufferLike, number>();

/**
 * Appends without copying `content` while its buffer has room, because agents append to files of megabytes a thousand
 * times.
 */
function appended(content: Uint8Array, more: Uint8Array): Uint8Array {
  const length = content.length + more.length;
  const { buffer } = content;
  const hasRoom = buffer.byteLength >= length && used.get(buffer) === content.length;
  const target = hasRoom ? new Uint8Array(buffer, 0, length) : new Uint8Array(2 * length).subarray(0, length);
  if (!hasRoom) target.set(content);
  target.set(more, content.length);
  used.set(target.buffer, length);
  return target;
}
