import { dirname } from 'node:path/posix';
import type { Clock, Timer } from '../../../base/clock.ts';
import { errorMessage, isKind } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { StateText } from '../../ports/state-text.ts';

export interface CheckpointFileOptions {
  readonly path: string;
  readonly files: HostFiles;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The time within which changes share one write. A pod or a resize that must wait for the write calls `flush`. */
const COALESCE_MS = 100;
const RETRY_MS = 2000;
const LIMIT_BYTES = 16 * 1024 * 1024;

/**
 * Reads and writes one of upstream's state files. The caller knows its format. Invariants:
 * 1. The file is replaced atomically, so that a crash leaves the old or the new content.
 * 2. A file that the caller cannot use is renamed to `.corrupt`, at the latest at the next write.
 * 3. A failed write is logged once and retried every 2 s. A caller waits for the disk for at most one attempt.
 */
export class CheckpointFile implements StateText {
  readonly text: string | undefined;
  readonly #options: CheckpointFileOptions;
  #snapshot: (() => string) | undefined;
  #timer: Timer | undefined;
  #writing: Promise<void> = Promise.resolve();
  #written: string | undefined;
  #hasFailed = false;

  private constructor(options: CheckpointFileOptions, text: string | undefined) {
    this.#options = options;
    this.text = text;
    this.#written = text;
  }

  static async open(options: CheckpointFileOptions): Promise<CheckpointFile> {
    const { path, files, log } = options;
    try {
      return new CheckpointFile(options, await files.readText(path, LIMIT_BYTES));
    } catch (error) {
      if (!isKind(error, 'NotFound'))
        log.error('a state file cannot be read, continuing without it', { path, error: errorMessage(error) });
      return new CheckpointFile(options, undefined);
    }
  }

  follow(snapshot: () => string): void {
    this.#snapshot = snapshot;
  }

  setAside(why: string): void {
    const { path, files, log } = this.#options;
    const movedTo = `${path}.corrupt`;
    log.error('a state file cannot be used; it was set aside and its content is rebuilt', { path, movedTo, why });
    this.#written = undefined;
    this.#writing = this.#writing.then(() =>
      files
        .rename(path, movedTo)
        .catch((error: unknown) =>
          log.error('a state file could not be set aside', { path, error: errorMessage(error) }),
        ),
    );
  }

  changed(): void {
    this.#writeWithin(COALESCE_MS);
  }

  async flush(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#write());
    await this.#writing;
  }

  #writeWithin(waitMs: number): void {
    this.#timer ??= this.#options.clock.setTimer(waitMs, () => {
      this.#timer = undefined;
      this.#writing = this.#writing.then(() => this.#write());
    });
  }

  async #write(): Promise<void> {
    const { path, files, log } = this.#options;
    const text = this.#snapshot?.();
    if (text === undefined || text === this.#written) return;
    try {
      await files.writeFileAtomic(path, text, 0o600, { survivesPowerCut: false });
      this.#written = text;
      this.#hasFailed = false;
    } catch (error) {
      if (isKind(error, 'NotFound')) await files.makeDirectory(dirname(path), 0o750).catch(() => undefined);
      if (!this.#hasFailed)
        log.error('a state file cannot be written; a restart of the agent would have to rebuild its content', {
          path,
          error: errorMessage(error),
        });
      this.#hasFailed = true;
      this.#writeWithin(RETRY_MS);
    }
  }
}
