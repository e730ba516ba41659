/**
 * The file that says which process holds something. Node has no flock, so that the taking of a dead holder's file is
 * made of links and renames alone.
 */
import { createHash } from 'node:crypto';

export interface LockFiles {
  /** Undefined when it is not there. */
  read(path: string): string | undefined;
  /** At once with all of its content. False if it is there already. */
  create(path: string, content: string): boolean;
  /** In one step, whether it is there or not. */
  replace(path: string, content: string): void;
  remove(path: string): void;
}

export interface LockParts {
  readonly files: LockFiles;
  /** Whether the process that `content` names lives. False for what names none. */
  readonly isAlive: (content: string) => boolean;
}

const MOST_TRIES = 20;
const LONGEST_CHAIN = 50;

/** Who may replace the file while `content` stands in it. */
const claimOf = (path: string, content: string): string =>
  `${path}.after-${createHash('sha256').update(content).digest('hex').slice(0, 16)}`;

/**
 * Returns true if `self` now holds the file, false if a living process does or is about to. It yields before each look
 * and each change, so that tests can interleave contenders and end them at any place. Invariants:
 * 1. The file of a dead holder is replaced only by the process that made the claim to it, and a claim is made at most
 *    once: it is a file that must not be there.
 * 2. The claim of a process that died has a claim of its own, and so on: all contenders walk the same chain, and one at
 *    most adds its end.
 * 3. A claim counts only if what it was made for still stands in the file after it was made: before that, an earlier
 *    winner may have finished and tidied up.
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

/** The files of the chain, the last of which is `self`'s. */
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
