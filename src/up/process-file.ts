/**
 * The file that names the process that holds a lock. Node has no flock, so taking over the file of a dead holder uses
 * only links and renames.
 */
import { createHash } from 'node:crypto';

export interface LockFiles {
  /** Undefined when it is not there. */
  read(path: string): string | undefined;
  /** Atomic, with the full content. False if it exists. */
  create(path: string, content: string): boolean;
  /** Atomic, whether it exists or not. */
  replace(path: string, content: string): void;
  remove(path: string): void;
}

export interface LockParts {
  readonly files: LockFiles;
  /** Whether the process in `content` is alive. False if it names no process. */
  readonly isAlive: (content: string) => boolean;
}

const MOST_TRIES = 20;
const LONGEST_CHAIN = 50;

/** The claim to replace the file while it has this content. */
const claimOf = (path: string, content: string): string =>
  `${path}.after-${createHash('sha256').update(content).digest('hex').slice(0, 16)}`;

/**
 * Returns true if `self` now holds the file, false if a living process holds it or is about to. It yields before each
 * read and each change, so that tests can interleave contenders and stop them at any point. Invariants:
 * 1. Only the process that holds the claim replaces the file of a dead holder. A claim is a file that is created
 *    exclusively, so at most one process gets it.
 * 2. The claim of a dead process can be claimed in turn: all contenders walk the same chain, and at most one extends it.
 * 3. A claim counts only if the file still has the claimed content after the claim was made: otherwise an earlier
 *    winner has already finished and removed its claims.
 */
export function* takeProcessFile(path: string, self: string, { files, isAlive }: LockParts): Generator<void, boolean> {
  for (let attempt = 0; attempt < MOST_TRIES; attempt += 1) {
    yield;
    if (files.create(path, self)) return true;
    yield;
    const held = files.read(path);
    if (held === undefined) continue;
    if (held === self) return true;
    if (isAlive(held)) return false;
    const chain = yield* claim(path, { held, self }, { files, isAlive });
    if (chain === 'held') return false;
    if (chain === 'gone') continue;
    yield;
    if (files.read(path) === held) {
      yield;
      files.replace(path, self);
      for (const each of chain) {
        yield;
        files.remove(each);
      }
      return true;
    }
    yield;
    files.remove(chain.at(-1) ?? '');
  }
  return false;
}

/** The files of the chain; the last one is `self`'s. */
function* claim(
  path: string,
  { held, self }: { readonly held: string; readonly self: string },
  { files, isAlive }: LockParts,
): Generator<void, string[] | 'held' | 'gone'> {
  const chain: string[] = [];
  for (let last = held; chain.length < LONGEST_CHAIN; ) {
    const file = claimOf(path, last);
    chain.push(file);
    yield;
    if (files.create(file, self)) return chain;
    yield;
    const by = files.read(file);
    if (by === undefined) return 'gone';
    if (by === self) return chain;
    if (isAlive(by)) return 'held';
    last = by;
  }
  return 'held';
}
