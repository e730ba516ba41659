import { backoffDelayMs } from '../../../base/backoff.ts';
import type { Clock } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { PodUid } from '../../model/ids.ts';
import { operationBackoff } from './volume-state.ts';

/**
 * Removes folders of unknown pods. A folder that cannot be removed is not retried in every housekeeping run, and is
 * logged once.
 */
export class OrphanFolders {
  readonly #options: { clock: Clock; log: Logger; tearDown: (uid: PodUid) => Promise<void> };
  /** The monotonic time before which a folder is not retried. */
  readonly #retry = new Map<PodUid, { failures: number; notBeforeMs: number; error: string }>();
  #left = 0;

  constructor(options: { clock: Clock; log: Logger; tearDown: (uid: PodUid) => Promise<void> }) {
    this.#options = options;
  }

  /** Removes the folders. Resolves to the number of folders left. */
  async remove(orphans: readonly PodUid[]): Promise<number> {
    const { log } = this.#options;
    await Promise.all(orphans.map((uid) => this.#removeOne(uid)));
    for (const uid of [...this.#retry.keys()]) if (!orphans.includes(uid)) this.#retry.delete(uid);
    const left = this.#retry.size;
    if (left !== this.#left) {
      this.#left = left;
      const [first] = this.#retry.values();
      if (first !== undefined)
        log.warn('folders of removed pods cannot be deleted', { count: left, error: first.error });
      else log.info('all folders of removed pods are deleted');
    }
    return left;
  }

  /** Makes the next run retry all of them. */
  retryNow(): void {
    for (const retry of this.#retry.values()) retry.notBeforeMs = 0;
  }

  async #removeOne(uid: PodUid): Promise<void> {
    const { clock, tearDown } = this.#options;
    const before = this.#retry.get(uid);
    if (before !== undefined && clock.monotonicMs() < before.notBeforeMs) return;
    try {
      await tearDown(uid);
      this.#retry.delete(uid);
    } catch (error) {
      const failures = (before?.failures ?? 0) + 1;
      this.#retry.set(uid, {
        failures,
        notBeforeMs: clock.monotonicMs() + backoffDelayMs(operationBackoff, failures),
        error: errorMessage(error),
      });
    }
  }
}
