import type { Clock, Timer } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { HostFiles } from '../../ports/host-files.ts';

const FIRST_RETRY_MS = 1_000;

/**
 * Keeps a watch on one folder. If it is lost or cannot be created, the owner is called after a growing back-off, checks
 * everything and watches again. The loss is logged once.
 */
export class FolderWatch {
  readonly #options: {
    files: HostFiles;
    clock: Clock;
    log: Logger;
    longestRetryMs: number;
    onEvent: (name: string | undefined, settled: boolean, removed: boolean) => void;
    onLost: () => void;
  };
  #folder: string | undefined;
  /** Identifies the current watch, so that late events of an earlier one are ignored. */
  #current: object | undefined;
  #stopWatching: (() => void) | undefined;
  #retry: Timer | undefined;
  #failures = 0;

  constructor(options: {
    files: HostFiles;
    clock: Clock;
    log: Logger;
    longestRetryMs: number;
    onEvent: (name: string | undefined, settled: boolean, removed: boolean) => void;
    onLost: () => void;
  }) {
    this.#options = options;
  }

  /** Watches only `folder`. Returns false and does nothing if it is already watched. */
  aim(folder: string): boolean {
    if (this.#folder === folder && this.#current !== undefined) return false;
    this.stop();
    const token = {};
    this.#folder = folder;
    this.#current = token;
    const stopWatching = this.#options.files.watch(folder, {
      onChange: (name, settled, removed) => {
        if (this.#current !== token) return;
        this.#failures = 0;
        this.#options.onEvent(name, settled, removed);
      },
      onLost: (reason) => {
        if (this.#current === token) this.#lost(folder, reason);
      },
    });
    if (this.#current === token) this.#stopWatching = stopWatching;
    else stopWatching();
    return true;
  }

  stop(): void {
    this.#retry?.cancel();
    this.#retry = undefined;
    this.#current = undefined;
    this.#stopWatching?.();
    this.#stopWatching = undefined;
  }

  #lost(folder: string, reason: string): void {
    const { log, clock, longestRetryMs } = this.#options;
    this.stop();
    this.#failures++;
    if (this.#failures === 1) log.warn('manifest watch lost; checking by period until it is back', { folder, reason });
    const delayMs =
      this.#failures === 1 ? 0 : Math.min(longestRetryMs, FIRST_RETRY_MS * 2 ** Math.min(this.#failures - 2, 10));
    this.#retry = clock.setTimer(delayMs, () => this.#options.onLost());
  }
}
