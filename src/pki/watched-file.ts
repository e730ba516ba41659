import { readFileSync, watch } from 'node:fs';
import type { FSWatcher } from 'node:fs';
import path from 'node:path';
import type { Clock, Timer } from '../base/clock.ts';
import { errorMessage } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';

/**
 * A change is read after this delay, because writers change a file in several steps. Where the kernel sends no
 * notifications, the file is checked at this interval.
 */
const SETTLE_MS = 200;
const LOOK_AGAIN_MS = 60_000;

export interface WatchedFileOptions<T> {
  readonly file: string;
  /** Throws for invalid content. */
  readonly parse: (content: string) => T;
  /** Called when a changed file is invalid, once for each error. */
  readonly onRefused?: () => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * A file of which the last valid content is used. It is read at the start, where invalid content throws, and again at
 * each change, where invalid content is logged and the previous content stays in use.
 */
export class WatchedFile<T> {
  readonly #options: WatchedFileOptions<T>;
  readonly #listeners = new Set<(value: T) => void>();
  #content: string;
  #value: T;
  #watcher: FSWatcher | undefined;
  #next: { readonly timer: Timer; readonly dueMs: number } | undefined;
  /** The last error, which is logged only once. */
  #failure: string | undefined;

  constructor(options: WatchedFileOptions<T>) {
    this.#options = options;
    this.#content = readFileSync(options.file, 'utf8');
    this.#value = options.parse(this.#content);
  }

  get value(): T {
    return this.#value;
  }

  onChange(listener: (value: T) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  start(): void {
    if (this.#next !== undefined) return;
    // The folder is watched, since a file that is replaced by another is a new one to the kernel.
    try {
      this.#watcher = watch(path.dirname(this.#options.file), { persistent: false }, () => this.#lookIn(SETTLE_MS));
      this.#watcher.on('error', (error) =>
        this.#options.log.warn('a folder cannot be watched; its file is read every minute', {
          file: this.#options.file,
          error: errorMessage(error),
        }),
      );
    } catch (error) {
      this.#options.log.warn('a folder cannot be watched; its file is read every minute', {
        file: this.#options.file,
        error: errorMessage(error),
      });
    }
    this.#lookIn(LOOK_AGAIN_MS);
  }

  stop(): void {
    this.#watcher?.close();
    this.#next?.timer.cancel();
    this.#listeners.clear();
  }

  /** Reads the file now. */
  refresh(): void {
    const { file, parse, log } = this.#options;
    try {
      const content = readFileSync(file, 'utf8');
      if (content === this.#content) {
        this.#failure = undefined;
        return;
      }
      const value = parse(content);
      this.#content = content;
      this.#value = value;
      this.#failure = undefined;
      log.info('a file was read again', { file });
    } catch (error) {
      const failure = errorMessage(error);
      if (failure === this.#failure) return;
      this.#failure = failure;
      log.error('a changed file cannot be used; its previous content stays in effect', { file, error: failure });
      this.#options.onRefused?.();
      return;
    }
    for (const listener of this.#listeners) listener(this.#value);
  }

  /** A check that is already scheduled is not postponed, even if the folder changes often. */
  #lookIn(delayMs: number): void {
    const { clock } = this.#options;
    const dueMs = clock.monotonicMs() + delayMs;
    if (this.#next !== undefined && this.#next.dueMs <= dueMs) return;
    this.#next?.timer.cancel();
    const look = (): void => {
      this.#next = undefined;
      this.refresh();
      this.#lookIn(LOOK_AGAIN_MS);
    };
    this.#next = { dueMs, timer: clock.setTimer(delayMs, look) };
  }
}
