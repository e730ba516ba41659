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
  /** The complete state, in as few entries as possible; written instead of all changes so far. */
  readonly snapshot: () => readonly unknown[];
}

/** What was found on disk. `isWhole` false: something may be missing. */
export interface FoundChanges {
  readonly entries: readonly unknown[];
  readonly isWhole: boolean;
}

/** Retry interval of a failed write; no other write contains what it held. */
const RETRY_MS = 2000;
/** This many lines are always allowed before the file is rewritten; more when the snapshot itself is long. */
const FEWEST_LINES = 1000;
const LINES_PER_ENTRY = 8;
/** The line of a state without entries: an empty file is one that lost its content. */
const NOTHING = 'nothing';

/**
 * Changes of state that an agent needs after a kill -9, one line each, of which the newest counts.
 * 1. A change is passed to the kernel immediately, so that only a failure of the machine can lose it. Changes during a
 *    write are written with the next one. Nothing is synced to disk: the kernel collects what is appended to a file, so
 *    that a value which changes all the time costs a block or two per half minute, while replacing the file would cost
 *    that with every change.
 * 2. Once in an agent's life, and whenever many changes have accumulated, the file is replaced by a snapshot.
 * 3. Each line has a checksum. A truncated last line is ignored; a file with any other damage, also an empty one, is
 *    set aside and logged as an error.
 * 4. After a failed write the file is rewritten as a whole, retried every 2 s; the failure is logged once.
 */
export class ChangeFile {
  readonly #options: ChangeFileOptions;
  #pending: string[] = [];
  /** Resolve with the write that contains `#pending`. */
  #pendingWaiters: (() => void)[] = [];
  /** The write that runs. */
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

  /** Something changed; `entry` is the complete new value. */
  changed(entry: unknown): void {
    this.#pending.push(seal(entry));
    this.#begin();
  }

  /**
   * Resolves when everything noted before this call was passed to the kernel, or could not be; after `limitMs` at the
   * latest, because a disk may hang. Does not wait for retries.
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

  /** Resolves when everything noted is written, or cannot be. */
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
      // Noted between the last write and this moment.
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
    // After a power failure none of its containers runs any more; waiting for the disk would only slow down their
    // runtime.
    const lines = (entries.length === 0 ? [NOTHING] : entries).map(seal);
    await files.writeFileAtomic(path, lines.join(''), 0o600, { survivesPowerCut: false });
    this.#needsAll = false;
  }

  async #noteFailure(error: unknown): Promise<void> {
    const { path, files, clock, log } = this.#options;
    // A partial line may have been written; and when the file is rewritten, retrying one entry is as good as all.
    this.#needsAll = true;
    this.#pending.length = 1;
    if (!this.#hasFailed)
      log.error('state file cannot be written; a restart of the agent would lose recent state', {
        path,
        error: errorMessage(error),
      });
    this.#hasFailed = true;
    // The disk may also have rejected the folder when the agent started.
    if (isKind(error, 'NotFound')) await files.makeDirectory(dirname(path), 0o700).catch(() => undefined);
    // An agent that is exiting cannot wait for a disk.
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

/** undefined for a line that is not intact. */
function open(line: string): unknown {
  const at = line.indexOf(' ');
  const text = line.slice(at + 1);
  return at > 0 && line.slice(0, at) === checksumOf(text) ? (JSON.parse(text) as unknown) : undefined;
}
