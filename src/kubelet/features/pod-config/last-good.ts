import { hash } from 'node:crypto';
import path from 'node:path/posix';
import type { Clock, Timer } from '../../../base/clock.ts';
import { withDeadline } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { HostFiles } from '../../ports/host-files.ts';

/**
 * The delay of a write, so that it does not slow down the start of a pod, and changes that arrive together share one
 * write. A kill -9 within this time loses a version, so it is short, and the write is not synced to disk.
 */
const WRITE_DELAY_MS = 200;
/** The retry interval of a failed write. */
const RETRY_MS = 10_000;

const RECALL_LIMIT_MS = 2_000;

const digest = (text: string): string => hash('sha256', text);

/**
 * Stores the last valid text of each manifest across restarts of the agent. A manifest that is broken or unreadable
 * when the agent starts must not end its running pods. The loss of an entry is harmless. A damaged entry is recognised
 * by its digest and dropped.
 */
export class LastGoodManifests {
  readonly #folder: string;
  readonly #files: HostFiles;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #pending = new Map<string, string | undefined>();
  #timer: Timer | undefined;
  #writing: Promise<void> = Promise.resolve();
  #failing = false;

  constructor(options: { folder: string; files: HostFiles; clock: Clock; log: Logger }) {
    this.#folder = options.folder;
    this.#files = options.files;
    this.#clock = options.clock;
    this.#log = options.log;
  }

  /** Records a valid text; undefined removes the manifest. */
  note(file: string, text: string | undefined): void {
    this.#pending.set(file, text);
    this.#writeIn(WRITE_DELAY_MS);
  }

  /** Returns the last valid text, if it is known and undamaged. */
  async recall(file: string): Promise<string | undefined> {
    try {
      const stored = await withDeadline({ clock: this.#clock, limitMs: RECALL_LIMIT_MS, op: 'recall manifest' }, () =>
        this.#files.readText(this.#pathOf(file)),
      );
      const end = stored.indexOf('\n');
      const text = stored.slice(end + 1);
      return end > 0 && stored.slice(0, end) === digest(file + text) ? text : undefined;
    } catch {
      // A missing or unreadable file means that there is no record.
      return undefined;
    }
  }

  /** Writes pending changes now, for an orderly stop. */
  async flush(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    const work = [...this.#pending];
    this.#pending.clear();
    this.#writing = this.#writing.then(() => this.#write(work));
    await this.#writing;
  }

  #writeIn(delayMs: number): void {
    this.#timer ??= this.#clock.setTimer(delayMs, () => {
      void this.flush().then(() => {
        if (this.#pending.size > 0) this.#writeIn(RETRY_MS);
      });
    });
  }

  async #write(work: readonly (readonly [string, string | undefined])[]): Promise<void> {
    const left = new Map(work);
    try {
      await this.#files.makeDirectory(this.#folder, 0o700);
      for (const [file, text] of work) {
        if (text === undefined) await this.#files.remove(this.#pathOf(file));
        else
          await this.#files.writeFileAtomic(this.#pathOf(file), `${digest(file + text)}\n${text}`, 0o600, {
            survivesPowerCut: false,
          });
        left.delete(file);
      }
      this.#failing = false;
    } catch (error) {
      // Dropping them would restore an older version later. What was recorded meanwhile is newer.
      for (const [file, text] of left) if (!this.#pending.has(file)) this.#pending.set(file, text);
      if (!this.#failing)
        this.#log.warn('cannot record the last good manifests, will retry', {
          folder: this.#folder,
          error: errorMessage(error),
        });
      this.#failing = true;
    }
  }

  #pathOf(file: string): string {
    return path.join(this.#folder, digest(file).slice(0, 32));
  }
}
