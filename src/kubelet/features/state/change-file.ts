import { createHash } from 'node:crypto';
import { dirname } from 'node:path/posix';
import type { Clock, Timer } from '../../../base/clock.ts';
import { errorMessage, isKind } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { HostFiles } from '../../ports/host-files.ts';

export interface ChangeFileOptions {
  path: string;
  files: HostFiles;
  clock: Clock;
  log: Logger;
  /** Everything that is to be known, in as few entries as it takes; written instead of all changes so far. */
  snapshot: () => readonly unknown[];
}

/** What was found on the disk. Not `isWhole`: something may be missing from it. */
export interface FoundChanges {
  entries: readonly unknown[];
  isWhole: boolean;
}

/** How soon a failed write is tried again; nobody else writes what it held. */
const RETRY_MS = 2000;
/** So many lines may always be there before the file is written anew; more when the snapshot itself is long. */
const FEWEST_LINES = 1000;
const LINES_PER_ENTRY = 8;

/**
 * Changes of what an agent must know after a kill -9, one line each, of which the newest counts.
 * 1. A change is handed to the kernel in the moment it is said, so that only a machine that dies can lose it. What is said while a write is
 *    under way goes with the next one. Nothing is forced to the disk: the kernel gathers what is added to a file, so that a value which
 *    changes all the time costs a block or two per half minute, where replacing the file would cost that with every change.
 * 2. Once in an agent's life, and whenever many changes have gathered, the file is replaced as a whole by a snapshot.
 * 3. Each line carries a checksum. A last line that was cut is left out; a file with any other damage is set aside, loudly.
 * 4. After a failed write the file is written as a whole, tried again every 2 s; that is said once.
 */
export class ChangeFile {
  readonly #options: ChangeFileOptions;
  #pending: string[] = [];
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

  static async load(source: { path: string; files: HostFiles; log: Logger }): Promise<FoundChanges> {
    const { path, files, log } = source;
    const nothing: FoundChanges = { entries: [], isWhole: false };
    let text: string;
    try {
      text = await files.readText(path);
    } catch (error) {
      if (!isKind(error, 'NotFound'))
        log.error('state file cannot be read, going on without it', { path, error: errorMessage(error) });
      return nothing;
    }
    const lines = text.split('\n');
    const cut = lines.pop() ?? '';
    const entries = lines.map(open);
    if (lines.length > 0 && !entries.includes(undefined)) return { entries, isWhole: cut === '' };
    const aside = `${path}.corrupt`;
    log.error('state file is corrupt; it was set aside and its content is rebuilt from the runtime', {
      path,
      movedTo: aside,
    });
    await files
      .rename(path, aside)
      .catch((error: unknown) =>
        log.error('corrupt state file could not be set aside', { path, error: errorMessage(error) }),
      );
    return nothing;
  }

  /** Something changed; `entry` says all about it. */
  changed(entry: unknown): void {
    this.#pending.push(seal(entry));
    this.#begin();
  }

  /** Resolves when everything said is written, or cannot be. */
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
    });
  }

  async #writePending(): Promise<void> {
    while (this.#pending.length > 0) {
      const said = this.#pending;
      this.#pending = [];
      try {
        await (this.#needsAll || this.#lines + said.length > this.#mostLines ? this.#writeAll() : this.#add(said));
        this.#hasFailed = false;
      } catch (error) {
        this.#pending.unshift(...said);
        return this.#noteFailure(error);
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
    // After a power cut none of the containers it speaks of runs any more; waiting for the disk would only slow down their runtime.
    await files.writeFileAtomic(path, entries.map(seal).join(''), 0o600, { survivesPowerCut: false });
    this.#needsAll = false;
  }

  async #noteFailure(error: unknown): Promise<void> {
    const { path, files, clock, log } = this.#options;
    // Half a line may be there; and one is as good as all when all is written anew.
    this.#needsAll = true;
    this.#pending.length = 1;
    if (!this.#hasFailed)
      log.error('state file cannot be written; a restart of the agent would forget recent state', {
        path,
        error: errorMessage(error),
      });
    this.#hasFailed = true;
    // The disk may have refused the folder too, when the agent started.
    if (isKind(error, 'NotFound')) await files.makeDirectory(dirname(path), 0o700).catch(() => undefined);
    // Whoever leaves the agent has no time to wait for a disk.
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
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** Undefined for a line that is not as it was written. */
function open(line: string): unknown {
  const at = line.indexOf(' ');
  const text = line.slice(at + 1);
  return at > 0 && line.slice(0, at) === checksumOf(text) ? (JSON.parse(text) as unknown) : undefined;
}
