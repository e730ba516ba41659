import type { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { History } from './history.ts';
import { pragma } from './sqlite-database.ts';

/** The number of writes checked, or pages released, in one turn of the event loop: about a millisecond. */
const SLICE_WRITES = 200;
const SLICE_PAGES = 100;
/** Free pages are kept for later writes, up to this share of the file (and this number: 4 MiB). */
const KEPT_FREE_SHARE = 0.25;
const KEPT_FREE_PAGES = 1024;

/**
 * Limits the disk usage: deletes compacted writes in small steps, releases pages when many are free, and then truncates
 * the log.
 */
export class SqliteMaintenance {
  readonly #database: DatabaseSync;
  readonly #history: History;
  readonly #log: Logger;
  #running: Promise<void> | undefined;
  #closed = false;

  constructor(database: DatabaseSync, history: History, options: { readonly log: Logger }) {
    this.#database = database;
    this.#history = history;
    this.#log = options.log;
  }

  /**
   * Resolves when all compacted rows are deleted. A sweep in progress includes what is compacted meanwhile. Never
   * rejects: the rest is deleted the next time.
   */
  sweep(): Promise<void> {
    this.#running ??= this.#run().finally(() => (this.#running = undefined));
    return this.#running;
  }

  close(): void {
    this.#closed = true;
  }

  async #run(): Promise<void> {
    try {
      let worked = false;
      for (let done = false; !done; ) {
        await turn();
        if (this.#closed) return;
        if (this.#history.swept) break;
        done = this.#history.transaction(() => this.#history.sweep(SLICE_WRITES));
        worked = true;
      }
      if (worked) await this.#giveBack();
    } catch (error) {
      this.#log.error('Unable to delete compacted revisions; retrying at the next compaction', {
        error: errorMessage(error),
      });
    }
  }

  async #giveBack(): Promise<void> {
    const free = pragma(this.#database, 'freelist_count');
    const kept = Math.max(KEPT_FREE_PAGES, Math.floor(pragma(this.#database, 'page_count') * KEPT_FREE_SHARE));
    for (let left = free - kept; left > 0; left -= SLICE_PAGES) {
      this.#database.exec(`PRAGMA incremental_vacuum(${Math.min(left, SLICE_PAGES)})`);
      await turn();
      if (this.#closed) return;
    }
    if (free > kept) this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
