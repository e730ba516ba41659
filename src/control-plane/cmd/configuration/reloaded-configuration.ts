import type { Clock, Timer } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import { WatchedFile } from '../../../pki/watched-file.ts';
import type { AccessFile, AccessObserver } from '../../model/access-observer.ts';

/** What cannot be put in force now, such as an issuer that is away, may be put in force later. */
const TRY_AGAIN_MS = 60_000;

export interface ReloadedOptions<T> {
  readonly kind: AccessFile;
  readonly file: string;
  /** Throws for what is wrong with the content. `first` is what the file said at the start; undefined then. */
  readonly parse: (content: string, first: T | undefined) => T;
  /** Puts a changed configuration in force; rejects while that cannot be done. */
  readonly apply: (value: T) => Promise<void>;
  readonly observer: AccessObserver;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Read<T> {
  readonly content: string;
  readonly value: T;
}

/**
 * A file of structured configuration: what it says at the start must be right; a change counts once it is right and can
 * be put in force. Until then the last one stays.
 */
export class ReloadedConfiguration<T> {
  readonly #options: ReloadedOptions<T>;
  readonly #file: WatchedFile<Read<T>>;
  readonly #first: { value?: T } = {};
  #retry: Timer | undefined;
  #applying: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(options: ReloadedOptions<T>) {
    this.#options = options;
    const { kind, file, parse, observer, clock, log } = options;
    this.#file = new WatchedFile({
      file,
      parse: (content) => ({ content, value: parse(content, this.#first.value) }),
      onRefused: () => observer.reloaded(kind, undefined),
      clock,
      log,
    });
    this.#first.value = this.#file.value.value;
    observer.loaded(kind, this.#file.value.content);
  }

  /** What the file said at the start. */
  get first(): T {
    return this.#file.value.value;
  }

  start(): void {
    this.#file.onChange((read) => this.#queue(read));
    this.#file.start();
  }

  stop(): void {
    this.#isStopped = true;
    this.#retry?.cancel();
    this.#file.stop();
  }

  /** Applies configurations one after the other; skips one that a newer one has replaced. */
  #queue(read: Read<T>): void {
    this.#retry?.cancel();
    this.#applying = this.#applying.then(() => this.#apply(read));
  }

  async #apply(read: Read<T>): Promise<void> {
    if (this.#isStopped || read !== this.#file.value) return;
    const { kind, file, apply, observer, clock, log } = this.#options;
    try {
      await apply(read.value);
      observer.reloaded(kind, read.content);
    } catch (error) {
      observer.reloaded(kind, undefined);
      log.error('a changed configuration cannot be put in force; the one before stays', {
        file,
        error: errorMessage(error),
      });
      if (!this.#isStopped) this.#retry = clock.setTimer(TRY_AGAIN_MS, () => this.#queue(read));
    }
  }
}
