import type { Clock, Timer } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import { WatchedFile } from '../../../pki/watched-file.ts';

const RETRY_MS = 5000;

export interface LateFileOptions<T> {
  readonly file: string;
  /** Throws for invalid content. */
  readonly parse: (content: string) => T;
  /** If false, changes after the first read are ignored. */
  readonly follows?: boolean;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A watched file that may be missing or invalid at first. There is no value until then, which is logged once. */
export class LateFile<T> {
  readonly #options: LateFileOptions<T>;
  readonly #listeners = new Set<() => void>();
  #watched: WatchedFile<T> | undefined;
  #retry: Timer | undefined;
  #problem: string | undefined;

  constructor(options: LateFileOptions<T>) {
    this.#options = options;
  }

  get value(): T | undefined {
    return this.#watched?.value;
  }

  problem(): string | undefined {
    return this.#problem;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  start(): void {
    if (this.#watched === undefined && this.#retry === undefined) this.#look();
  }

  stop(): void {
    this.#retry?.cancel();
    this.#watched?.stop();
    this.#listeners.clear();
  }

  /** Reads the file now, if it existed before. */
  refresh(): void {
    this.#watched?.refresh();
  }

  #look(): void {
    const { file, clock, log } = this.#options;
    try {
      this.#watched = new WatchedFile(this.#options);
    } catch (error) {
      const problem = `${file} cannot be used: ${errorMessage(error)}`;
      if (problem !== this.#problem)
        log.error('a required file cannot be used; reading it again until it is valid', {
          file,
          error: errorMessage(error),
        });
      this.#problem = problem;
      this.#retry = clock.setTimer(RETRY_MS, () => this.#look());
      return;
    }
    this.#problem = undefined;
    this.#retry = undefined;
    const notify = (): void => this.#listeners.forEach((listener) => listener());
    this.#watched.onChange(notify);
    if (this.#options.follows !== false) this.#watched.start();
    notify();
  }
}
