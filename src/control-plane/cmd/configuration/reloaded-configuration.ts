import type { Clock, Timer } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import { WatchedFile } from '../../../pki/watched-file.ts';
import type { AccessFile, AccessObserver } from '../../model/access-observer.ts';

/** The retry interval of a configuration that cannot take effect now, for example because an issuer is unavailable. */
const TRY_AGAIN_MS = 60_000;

export interface ReloadedOptions<T> {
  readonly kind: AccessFile;
  readonly file: string;
  /** Parses the content. Throws if it is invalid. `first` is the configuration at the start; undefined then. */
  readonly parse: (content: string, first: T | undefined) => T;
  /** Applies a changed configuration. Rejects while that is not possible. */
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
 * A file of structured configuration. Its content at the start must be valid. A change takes effect when it is valid
 * and can be applied; until then the last one stays.
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

  /** The configuration at the start. */
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
      log.error('a changed configuration cannot be used; the previous one stays in effect', {
        file,
        error: errorMessage(error),
      });
      if (!this.#isStopped) this.#retry = clock.setTimer(TRY_AGAIN_MS, () => this.#queue(read));
    }
  }
}
