import { hash } from 'node:crypto';
import { dirname } from 'node:path/posix';
import type { Clock, Timer } from '../../../base/clock.ts';
import { errorMessage, isKind } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import { readStateText, setCorruptAside } from './read-state-text.ts';
import type { StateSource } from './read-state-text.ts';

export interface ChangeFileOptions {
  readonly path: string;
  readonly files: HostFiles;
  readonly clock: Clock;
  readonly log: Logger;
  /** Returns the complete state in as few entries as possible. It replaces all changes written so far. */
  readonly snapshot: () => readonly unknown[];
}

/** The content found on disk. If `isWhole` is false, something may be missing. */
export interface FoundChanges {
  readonly entries: readonly unknown[];
  readonly isWhole: boolean;
}

/** The retry interval of a failed write. No other write would contain its content. */
const RETRY_MS = 2000;
/** The minimum number of lines before the file is rewritten. If the snapshot is long, it is more. */
const FEWEST_LINES = 1000;
const LINES_PER_ENTRY = 8;
/** The line of a state without entries, because an empty file is one that lost its content. */
const NOTHING = 'nothing';

/**
 * Stores changes of state that an agent needs after a kill -9, one per line. The newest line of an entry applies.
 * Invariants:
 * 1. A change is passed to the kernel immediately, so that only a failure of the machine can lose it. Changes during a
 *    write are part of the next one. Nothing is synced to disk: the kernel collects appended data, so a value that
 *    changes all the time costs one or two blocks per half minute. Replacing the file would cost that at every change.
 * 2. Once per run of the agent, and whenever many changes have accumulated, a snapshot replaces the file.
 * 3. Each line has a checksum. A truncated last line is ignored. A file with any other damage, also an empty one, is
 *    renamed and logged as an error.
 * 4. After a failed write the whole file is rewritten, retried every 2 s. The failure is logged once.
 */
export class ChangeFile {
  readonly #options: ChangeFileOptions;
  #pending: string[] = [];
  /** The functions that resolve with the write that contains `#pending`. */
  #pendingWaiters: (() => void)[] = [];
  /** The write in progress. */
  #writing: Promise<void> = Promise.resolve();
  #needsAll = true;
  #lines = 0;
  #mostLines = FEWEST_LINES;
  #work: Promise<void> | undefined;
  #retry: Timer | undefined;
  #hasFailed = false;
  #isFlushing = false;

  constructor(options: ChangeFileOptions) {
    this.#options = options;
  }

  static async load(source: StateSource): Promise<FoundChanges> {
    const nothing: FoundChanges = { entries: [], isWhole: false };
    const text = await readStateText(source);
    if (text === undefined) return nothing;
    const lines = text.split('\n');
    const cut = lines.pop() ?? '';
    const entries = lines.map(open);
    if (lines.length > 0 && !entries.includes(undefined))
      return { entries: entries.filter((entry) => entry !== NOTHING), isWhole: cut === '' };
    await setCorruptAside(source);
    return nothing;
  }

  /** Records a change. `entry` is the complete new value. */
  changed(entry: unknown): void {
    this.#pending.push(seal(entry));
    this.#begin();
  }

  /**
   * Resolves when all changes before this call were passed to the kernel or could not be, and after `limitMs` at the
   * latest, because a disk may hang. It does not wait for retries.
   */
  async written(limitMs: number): Promise<void> {
    if (this.#work === undefined) return;
    let timer: Timer | undefined;
    const limit = new Promise<void>((resolve) => {
      timer = this.#options.clock.setTimer(limitMs, resolve);
    });
    const done =
      this.#pending.length === 0
        ? this.#writing
        : new Promise<void>((resolve) => void this.#pendingWaiters.push(resolve));
    await Promise.race([done, limit]);
    timer?.cancel();
  }

  /** Resolves when all changes are written or cannot be written. */
  async flush(): Promise<void> {
    this.#retry?.cancel();
    this.#retry = undefined;
    this.#isFlushing = true;
    this.#begin();
    await this.#work;
    this.#isFlushing = false;
  }

  #begin(): void {
    if (this.#work !== undefined || this.#retry !== undefined || this.#pending.length === 0) return;
    this.#work = this.#writePending().finally(() => {
      this.#work = undefined;
      // These changes were recorded between the last write and this moment.
      if (!this.#hasFailed) this.#begin();
    });
  }

  async #writePending(): Promise<void> {
    while (this.#pending.length > 0) {
      const said = this.#pending;
      const waiters = this.#pendingWaiters;
      this.#pending = [];
      this.#pendingWaiters = [];
      let markWritten: () => void = () => undefined;
      this.#writing = new Promise((resolve) => {
        markWritten = resolve;
      });
      try {
        await (this.#needsAll || this.#lines + said.length > this.#mostLines ? this.#writeAll() : this.#add(said));
        this.#hasFailed = false;
      } catch (error) {
        this.#pending.unshift(...said);
        waiters.push(...this.#pendingWaiters.splice(0));
        return await this.#noteFailure(error);
      } finally {
        markWritten();
        for (const done of waiters) done();
      }
    }
  }

  async #add(said: readonly string[]): Promise<void> {
    const { path, files } = this.#options;
    this.#lines += said.length;
    await files.appendFile(path, said.join(''));
  }

  async #writeAll(): Promise<void> {
    const { path, files, snapshot } = this.#options;
    const entries = snapshot();
    this.#lines = entries.length;
    this.#mostLines = Math.max(FEWEST_LINES, entries.length * LINES_PER_ENTRY);
    // The file is not synced. After a power failure none of its containers runs, and syncs would slow down the runtime.
    const lines = (entries.length === 0 ? [NOTHING] : entries).map(seal);
    await files.writeFileAtomic(path, lines.join(''), 0o600, { survivesPowerCut: false });
    this.#needsAll = false;
  }

  async #noteFailure(error: unknown): Promise<void> {
    const { path, files, clock, log } = this.#options;
    // A partial line may have been written, so the whole file is rewritten.
    this.#needsAll = true;
    this.#pending.length = 1;
    if (!this.#hasFailed)
      log.error('state file cannot be written; a restart of the agent would lose recent state', {
        path,
        error: errorMessage(error),
      });
    this.#hasFailed = true;
    // The disk may have refused to create the folder when the agent started.
    if (isKind(error, 'NotFound')) await files.makeDirectory(dirname(path), 0o700).catch(() => undefined);
    // An agent that exits does not wait for the disk.
    if (this.#isFlushing) return;
    this.#retry = clock.setTimer(RETRY_MS, () => {
      this.#retry = undefined;
      this.#begin();
    });
  }
}

function seal(entry: unknown): string {
  const text = JSON.stringify(entry);
  return `${checksumOf(text)} ${text}\n`;
}

function checksumOf(text: string): string {
  return hash('sha256', text).slice(0, 16);
}

/** Reads a line; undefined if it is not intact. */
function open(line: string): unknown {
  const at = line.indexOf(' ');
  const text = line.slice(at + 1);
  return at > 0 && line.slice(0, at) === checksumOf(text) ? (JSON.parse(text) as unknown) : undefined;
}
