import { createHash } from 'node:crypto';
import type { Clock, Timer } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import { openState, sealState } from './state-file.ts';

export interface StateFolderOptions {
  /** For these files alone; made when it is not there, for root only. */
  path: string;
  files: HostFiles;
  clock: Clock;
  log: Logger;
}

interface Entry {
  key: string;
  value: unknown;
}

/** How soon failed writes are tried again. */
const RETRY_MS = 2000;
const SUFFIX = '.json';

/**
 * Values of any size and number that survive a restart of the agent and of the machine, each in a file of its own, which only root may read.
 * 1. A file is replaced atomically and carries a checksum: it is read whole or not at all. One that is damaged is removed, and said.
 * 2. What is dropped is gone from the disk: values may be secret.
 * 3. Writes are done one after the other, the newest wish of each key; a failure is said once and tried again every 2 s.
 */
export class StateFolder {
  readonly #options: StateFolderOptions;
  /** What is still to be done: a value to write, or undefined to remove. */
  readonly #wishes = new Map<string, { value: unknown } | undefined>();
  #work: Promise<void> | undefined;
  #retry: Timer | undefined;
  #hasFailed = false;
  #isMade = false;

  constructor(options: StateFolderOptions) {
    this.#options = options;
  }

  /** What is on disk. Values that `accept` does not take are removed. */
  static async load<T>(options: StateFolderOptions, accept: (value: unknown) => value is T): Promise<Map<string, T>> {
    const { path, files, log } = options;
    const found = new Map<string, T>();
    for (const name of await files.list(path).catch(() => [])) {
      const file = `${path}/${name}`;
      try {
        const entry = name.endsWith(SUFFIX) ? openState(await files.readText(file)) : undefined;
        if (isEntry(entry) && fileName(entry.key) === name && accept(entry.value)) found.set(entry.key, entry.value);
        else {
          log.error(
            "a file of the agent's state is damaged; it was removed, and the API server is asked for what it held",
            { path: file },
          );
          await files.remove(file);
        }
      } catch (error) {
        log.error("a file of the agent's state cannot be read, going on without it", {
          path: file,
          error: errorMessage(error),
        });
      }
    }
    return found;
  }

  put(key: string, value: unknown): void {
    this.#wishes.delete(key);
    this.#wishes.set(key, { value });
    this.#begin();
  }

  drop(key: string): void {
    this.#wishes.delete(key);
    this.#wishes.set(key, undefined);
    this.#begin();
  }

  /** Resolves when everything said is on disk, or cannot be brought there. */
  async flush(): Promise<void> {
    this.#endRetry();
    this.#begin();
    await this.#work;
    this.#endRetry();
  }

  #endRetry(): void {
    this.#retry?.cancel();
    this.#retry = undefined;
  }

  #begin(): void {
    if (this.#work !== undefined || this.#retry !== undefined || this.#wishes.size === 0) return;
    this.#work = this.#fulfil().finally(() => {
      this.#work = undefined;
      if (this.#retry === undefined) this.#begin();
    });
  }

  async #fulfil(): Promise<void> {
    const { path, files, clock, log } = this.#options;
    for (const [key, wish] of this.#wishes) {
      this.#wishes.delete(key);
      try {
        if (!this.#isMade) await files.makeDirectory(path, 0o700);
        this.#isMade = true;
        const file = `${path}/${fileName(key)}`;
        // Forcing it to the disk would slow down the runtime, which has its own to force; the kernel writes it within half a minute.
        if (wish === undefined) await files.remove(file);
        else
          await files.writeFileAtomic(file, sealState({ key, value: wish.value }), 0o600, { survivesPowerCut: false });
        this.#hasFailed = false;
      } catch (error) {
        if (!this.#hasFailed)
          log.error("the agent's state cannot be written; a restart while the API server is away would not know it", {
            path,
            error: errorMessage(error),
          });
        this.#hasFailed = true;
        this.#isMade = false;
        if (!this.#wishes.has(key)) this.#wishes.set(key, wish);
        this.#retry = clock.setTimer(RETRY_MS, () => {
          this.#retry = undefined;
          this.#begin();
        });
        return;
      }
    }
  }
}

const fileName = (key: string): string => `${createHash('sha256').update(key).digest('hex').slice(0, 40)}${SUFFIX}`;

function isEntry(value: unknown): value is Entry {
  return (
    typeof value === 'object' && value !== null && 'key' in value && typeof value.key === 'string' && 'value' in value
  );
}
