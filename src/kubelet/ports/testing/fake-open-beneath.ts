import path from 'node:path/posix';
import type { FakeFileTree, FakeNode } from './fake-file-tree.ts';
import { topOf } from './fake-file-tree.ts';

type Opened = { kind: 'opened'; node: FakeNode } | { kind: 'refused'; step: 'create' | 'open'; why: string };

const LONGEST_SYMLINK_CHAIN = 40;
const partsOf = (text: string, fromLink: boolean): { name: string; fromLink: boolean }[] =>
  text
    .split('/')
    .filter((name) => name !== '' && name !== '.')
    .map((name) => ({ name, fromLink }));
const refused = (step: 'create' | 'open', why: string): Opened => ({ kind: 'refused', step, why });

/** The path resolution that `Mounts.bindBeneath` and `HostFiles.makeDirectoryBeneath` guarantee, in the fake tree. */
export function openBeneath(tree: FakeFileTree, root: string, subPath: string, newMode?: number): Opened {
  const rootNode = tree.existing(root, true);
  let trail: FakeNode[] = [rootNode];
  let pending = partsOf(subPath, false);
  let links = 0;
  const restart = (hostPath: string): boolean => {
    const inside = path.relative(root, hostPath);
    if (inside === '..' || inside.startsWith('../')) return false;
    trail = [rootNode];
    pending = [...partsOf(inside, true), ...pending];
    return true;
  };
  for (let part = pending.shift(); part !== undefined; part = pending.shift()) {
    const here = trail.at(-1) as FakeNode;
    if (here.type !== 'directory') return refused('open', 'a file where a directory is needed');
    if (part.name === '..') {
      if (trail.length > 1) trail.pop();
      else {
        const rest = pending.map(({ name }) => name);
        pending = [];
        if (!restart(path.join(root, '..', ...rest))) return refused('open', 'it leads out of the volume');
      }
      continue;
    }
    const entry = here.entries.get(part.name);
    if (entry === undefined) {
      if (part.fromLink) return refused('create', 'a symbolic link leads to nothing');
      const made = tree.newNode('directory', newMode ?? rootNode.mode, here.device);
      here.entries.set(part.name, made);
      trail.push(made);
      continue;
    }
    const node = topOf(entry);
    if (node.type !== 'symlink') {
      trail.push(node);
      continue;
    }
    if (++links > LONGEST_SYMLINK_CHAIN) return refused('open', 'too many symbolic links');
    if (!node.target.startsWith('/')) pending.unshift(...partsOf(node.target, true));
    else if (!restart(path.normalize(node.target))) return refused('open', 'it leads out of the volume');
  }
  return { kind: 'opened', node: trail.at(-1) as FakeNode };
}
