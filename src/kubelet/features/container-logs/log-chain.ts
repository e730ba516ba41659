import path from 'node:path/posix';
import type { Clock } from '../../../base/clock.ts';
import { errorMessage, isKind } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { LogFile, LogFiles } from '../../ports/log-files.ts';

export interface LogChainParts {
  readonly logFiles: LogFiles;
  readonly files: Pick<HostFiles, 'lstat' | 'watch'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** How many files a reader may be behind. The disk space of each open file cannot be freed by rotation. */
const MOST_FILES_AHEAD = 8;

/**
 * The files of which a log consists over time. Each is opened as soon as it appears, so that a slow reader gets every
 * line of files that are rotated, compressed or removed in between. Invariants:
 * 1. Files come in the order in which they were the log, each once.
 * 2. `changed` resolves after its time limit, or early if anything happened in the directory.
 */
export class LogChain {
  readonly #parts: LogChainParts;
  readonly #path: string;
  readonly #beneath: string;
  readonly #chain: LogFile[] = [];
  #lastInode = 0;
  #mayHaveNew = false;
  #looking: Promise<void> | undefined;
  #stopWatch: (() => void) | undefined;
  #wake: (() => void) | undefined;
  #happened = false;
  #closed = false;

  constructor(parts: LogChainParts, logPath: string, beneath: string) {
    this.#parts = parts;
    this.#path = logPath;
    this.#beneath = beneath;
  }

  /** Opens the current log. Rejects with NotFound or Invalid. */
  async open(): Promise<LogFile> {
    const file = await this.#parts.logFiles.open(this.#path, this.#beneath);
    this.#chain.push(file);
    this.#lastInode = file.inode;
    return file;
  }

  /** Adds new files from now on. */
  follow(): void {
    const base = path.basename(this.#path);
    this.#stopWatch = this.#parts.files.watch(path.dirname(this.#path), {
      onChange: (name) => {
        // Each written line causes an event. An event for another name means a rename.
        if (name !== base) this.#mayHaveNew = true;
        if (this.#mayHaveNew) void this.look();
        this.#notify();
      },
      // The directory was removed with its pod, or cannot be watched. The time limit then suffices to end or to
      // continue.
      onLost: () => this.#notify(),
    });
  }

  get current(): LogFile {
    return this.#chain[0] as LogFile;
  }

  get hasNext(): boolean {
    return this.#chain.length > 1;
  }

  async next(): Promise<void> {
    await this.#chain.shift()?.close();
  }

  /** Adds a new file, if there is one. Never rejects. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  /** Resolves when something happened since the last call, after `limitMs`, or when `signal` aborts. */
  changed(limitMs: number, signal: AbortSignal): Promise<void> {
    if (this.#happened || signal.aborted || this.#closed) {
      this.#happened = false;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const done = (): void => {
        timer.cancel();
        signal.removeEventListener('abort', done);
        this.#wake = undefined;
        this.#happened = false;
        resolve();
      };
      const timer = this.#parts.clock.setTimer(limitMs, done);
      this.#wake = done;
      signal.addEventListener('abort', done, { once: true });
    });
  }

  notify(): void {
    this.#notify();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#stopWatch?.();
    this.#wake?.();
    await this.#looking;
    for (const file of this.#chain.splice(0)) await file.close();
  }

  async #look(): Promise<void> {
    const { files, logFiles, log } = this.#parts;
    try {
      const info = await files.lstat(this.#path);
      if (info === undefined || info.inode === this.#lastInode || this.#closed) return;
      const file = await logFiles.open(this.#path, this.#beneath);
      if (this.#closed || file.inode === this.#lastInode) return await file.close();
      this.#mayHaveNew = false;
      this.#lastInode = file.inode;
      this.#chain.push(file);
      if (this.#chain.length > MOST_FILES_AHEAD + 1) {
        const [skipped] = this.#chain.splice(1, 1);
        await skipped?.close();
        log.warn('a reader of a log is too far behind; a rotated file is skipped', { path: this.#path });
      }
      this.#notify();
    } catch (error) {
      if (!isKind(error, 'NotFound'))
        log.warn('could not open the next file of a log', { path: this.#path, error: errorMessage(error) });
    }
  }

  #notify(): void {
    this.#happened = true;
    this.#wake?.();
  }
}
