import { errorMessage } from '../../../base/errors.ts';
import type { Clock, Timer } from '../../../base/clock.ts';
import { sleep } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import { jitter } from '../../../base/random.ts';
import type { ApiClient, ListResult } from '../../../api/client/api-client.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import { nodes, resourceSlices } from '../../../api/client/resource-types.ts';
import type { ResourceSlice } from '../../../api/resource/resource-slice.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';

/** How long a driver may be disconnected before its slices are removed (upstream: cm/dra defaultWipingDelay). */
const GRACE_MS = 30_000;
const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 300_000;
const PAGE = 500;

export interface SliceCleanupParts {
  /** The API client; undefined on a standalone node, which has no slices. */
  readonly client: Pick<ApiClient, 'get' | 'list' | 'delete'> | undefined;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/**
 * Removes ResourceSlices of this node that no driver publishes (upstream: DRAPluginManager wipeResourceSlices). At the
 * start it removes all, because drivers publish theirs when they register. Later it removes those of a driver that is
 * disconnected for too long.
 */
export class SliceCleanup {
  readonly #parts: SliceCleanupParts;
  /** The pending removals by driver: they wait or run. */
  readonly #pending = new Map<string, AbortController>();
  readonly #running = new Set<Promise<void>>();
  readonly #stopped = new AbortController();

  constructor(parts: SliceCleanupParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#run(undefined, this.#stopped.signal);
  }

  /** Handles a driver that connected or disconnected. */
  driverUsable(driver: string, isUsable: boolean): void {
    if (this.#parts.client === undefined || this.#stopped.signal.aborted) return;
    const pending = this.#pending.get(driver);
    if (isUsable) {
      this.#pending.delete(driver);
      pending?.abort();
    } else if (pending === undefined) this.#arm(driver);
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    for (const each of this.#pending.values()) each.abort();
    this.#pending.clear();
    await Promise.all(this.#running);
  }

  #arm(driver: string): void {
    const control = new AbortController();
    this.#pending.set(driver, control);
    const timer: Timer = this.#parts.clock.setTimer(GRACE_MS, () => this.#run(driver, control.signal));
    control.signal.addEventListener('abort', () => timer.cancel(), { once: true });
  }

  #run(driver: string | undefined, signal: AbortSignal): void {
    const running = this.#wipe(driver, signal).finally(() => {
      this.#running.delete(running);
      if (driver !== undefined && this.#pending.get(driver)?.signal === signal) this.#pending.delete(driver);
    });
    this.#running.add(running);
  }

  /** Retries until the slices are removed or `signal` aborts. Never rejects. */
  async #wipe(driver: string | undefined, signal: AbortSignal): Promise<void> {
    const { client, clock, random, log } = this.#parts;
    if (client === undefined) return;
    for (let pauseMs = FIRST_RETRY_MS; !signal.aborted; pauseMs = Math.min(2 * pauseMs, LONGEST_RETRY_MS)) {
      try {
        await this.#removeOnce(client, driver, signal);
        return;
      } catch (error) {
        log.debug(3, 'ResourceSlices cannot be removed yet', { driver: driver ?? 'all', error: errorMessage(error) });
      }
      await sleep(clock, jitter(random, pauseMs, 0.2), signal).catch(() => undefined);
    }
  }

  /**
   * Removes the slices once. Rejects while the node does not exist, because the node authorizer does not allow listing
   * slices before.
   */
  async #removeOnce(
    client: NonNullable<SliceCleanupParts['client']>,
    driver: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { nodeName, log } = this.#parts;
    await client.get(nodes, { namespace: '', name: nodeName });
    const fieldSelector = `spec.nodeName=${nodeName}${driver === undefined ? '' : `,spec.driver=${driver}`}`;
    let count = 0;
    let more: string | undefined;
    do {
      const page: ListResult<ResourceSlice> = await client.list(resourceSlices, '', {
        fieldSelector,
        limit: PAGE,
        ...(more !== undefined && { continue: more }),
      });
      for (const slice of page.items) {
        if (signal.aborted) return;
        await removeSlice(client, slice);
        count++;
      }
      more = page.continue;
    } while (more !== undefined && more !== '');
    if (count > 0) log.info('ResourceSlices without a driver were removed', { driver: driver ?? 'all', count });
  }
}

/** Deletes a slice unless a driver has written it again since. */
async function removeSlice(client: Pick<ApiClient, 'delete'>, slice: ResourceSlice): Promise<void> {
  try {
    await client.delete(resourceSlices, keyOf(slice), { preconditions: { uid: slice.metadata.uid } });
  } catch (error) {
    if (!isApiError(error, 'NotFound') && !isApiError(error, 'Conflict')) throw error;
  }
}
