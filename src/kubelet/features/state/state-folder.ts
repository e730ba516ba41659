import { hash } from 'node:crypto';
import type { Clock, Timer } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import { openState, sealState } from './state-file.ts';

export interface StateFolderOptions {
  /**
   * The path of the folder, which contains only these files. It is created if it is missing, and only root can read it.
   */
  readonly path: string;
  readonly files: HostFiles;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Entry {
  readonly key: string;
  readonly value: unknown;
}

/** The retry interval of failed writes. */
const RETRY_MS = 2000;
const SUFFIX = '.json';

/**
 * Stores values of any size and number that survive a restart of the agent and of the machine. Each is in a file of its
 * own that only root can read. Invariants:
 * 1. A file is replaced atomically and has a checksum, so it is read completely or not at all. A damaged file is
 *    removed and logged.
 * 2. A dropped value is removed from disk, because values may be secret.
 * 3. Writes run one after another, and only the newest for each key. A failure is logged once and retried every 2 s.
 */
export class StateFolder {
  readonly #options: StateFolderOptions;
  /** Pending writes by key: a value to write, or undefined to remove it. */
  readonly #changes = new Map<string, { value: unknown } | undefined>();
  #work: Promise<void> | undefined;
  #retry: Timer | undefined;
  #hasFailed = false;
  #isMade = false;

  constructor(options: StateFolderOptions) {
    this.#options = options;
  }

  /** Reads the values on disk. Values that `accept` rejects are removed. */
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
            "a file of the agent's state is damaged; it was removed, and its content is requested from the API server",
            { path: file },
          );
          await files.remove(file);
        }
      } catch (error) {
        log.error("a file of the agent's state cannot be read, continuing without it", {
          path: file,
          error: errorMessage(error),
        });
      }
    }
    return found;
  }

  put(key: string, value: unknown): void {
    this.#changes.delete(key);
    this.#changes.set(key, { value });
    this.#begin();
  }

  drop(key: string): void {
    this.#changes.delete(key);
    this.#changes.set(key, undefined);
    this.#begin();
  }

  /** Resolves when all values are on disk or cannot be written. */
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
    if (this.#work !== undefined || this.#retry !== undefined || this.#changes.size === 0) return;
    this.#work = this.#fulfil().finally(() => {
      this.#work = undefined;
      if (this.#retry === undefined) this.#begin();
    });
  }

  async #fulfil(): Promise<void> {
    const { path, files, clock, log } = this.#options;
    for (const [key, change] of this.#changes) {
      this.#changes.delete(key);
      try {
        if (!this.#isMade) await files.makeDirectory(path, 0o700);
        this.#isMade = true;
        const file = `${path}/${fileName(key)}`;
        // The file is not synced, because that would slow down the runtime, which syncs its own data. The kernel writes
        // it within half a minute.
        if (change === undefined) await files.remove(file);
        else
          await files.writeFileAtomic(file, sealState({ key, value: change.value }), 0o600, {
            survivesPowerCut: false,
          });
        this.#hasFailed = false;
      } catch (error) {
        if (!this.#hasFailed)
          log.error(
            "the agent's state cannot be written; it would be lost in a restart while the API server is unavailable",
            {
              path,
              error: errorMessage(error),
            },
          );
        this.#hasFailed = true;
        this.#isMade = false;
        if (!this.#changes.has(key)) this.#changes.set(key, change);
        this.#retry = clock.setTimer(RETRY_MS, () => {
          this.#retry = undefined;
          this.#begin();
        });
        return;
      }
    }
  }
}

const fileName = (key: string): string => `${hash('sha256', key).slice(0, 40)}${SUFFIX}`;

function isEntry(value: unknown): value is Entry {
  return (
    typeof value === 'object' && value !== null && 'key' in value && typeof value.key === 'string' && 'value' in value
  );
}
