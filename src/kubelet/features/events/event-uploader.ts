import type { ApiClient } from '../../../api/client/api-client.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import { events } from '../../../api/client/resource-types.ts';
import type { Event } from '../../../api/core/event.ts';
import { ApiStatusError, isApiError } from '../../../api/status/api-status-error.ts';
import { backoffDelayMs } from '../../../base/backoff.ts';
import { inBackground } from '../../../base/background.ts';
import { BoundedMap } from '../../../base/bounded-map.ts';
import type { Clock } from '../../../base/clock.ts';
import { sleep } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import { jitter } from '../../../base/random.ts';

export interface EventUploaderOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Upstream: client-go tools/record, maxQueuedEvents. */
const QUEUE_LIMIT = 1_000;
/** As many as the correlator remembers. */
const KNOWN_LIMIT = 4_096;
/** As long as an API server keeps them: older ones are of no use. */
const KEPT_MS = 3_600_000;
/** Upstream waits 10 s; a restarting server is usually back sooner. */
const retry = { initialMs: 500, maxMs: 10_000, factor: 2 };
/** For a server that fails on this event and not on others. */
const MOST_TRIES = 12;
/** Events that gathered in an outage are sent slowly: other requests, and other nodes, are more urgent. */
const GENTLE_MS = 50;
/** So few events do not load a server, and the events of pods that start now are queued behind them. */
const SMALL_BACKLOG = 50;

interface Waiting {
  readonly event: Event;
  /** Monotonic, so that a corrected wall clock does not change the age of events. */
  readonly sinceMs: number;
}

/** `away`: the server does not answer. `failed`: it may fail on this event. */
type Outcome = 'done' | 'away' | 'failed';

/**
 * Sends events to the API server (upstream: client-go tools/record recordToSink).
 * 1. Recording an event never waits, whatever the server does; the queue is bounded, and drops the oldest event that is
 *    no warning first.
 * 2. An event that is repeated before it was written is written once, with its newest count; one that was written is
 *    patched.
 * 3. While the server is unavailable, retries become less frequent. When it is back, the events of the last hour are
 * sent: a few immediately, many slowly.
 * 4. An event that the server refuses is not retried.
 */
export class EventUploader {
  readonly #options: EventUploaderOptions;
  readonly #queue = new Map<string, Waiting>();
  /** Events that the API server has, as far as is known. */
  readonly #written = new BoundedMap<string, true>(KNOWN_LIMIT);
  readonly #stop = new AbortController();
  #work: Promise<void> | undefined;
  #retry: AbortController | undefined;
  #dropped = 0;

  constructor(options: EventUploaderOptions) {
    this.#options = options;
  }

  /** `key` is the same for an event that replaces an earlier one. */
  put(key: string, event: Event): void {
    if (this.#stop.signal.aborted) return;
    const sinceMs = this.#options.clock.monotonicMs();
    this.#queue.delete(key);
    if (this.#queue.size >= QUEUE_LIMIT) this.#makeRoom();
    this.#queue.set(key, { event, sinceMs });
    this.#begin();
  }

  /** The queue. */
  get waiting(): number {
    return this.#queue.size;
  }

  /** The API server is available again: end the current wait. */
  retryNow(): void {
    this.#retry?.abort();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.retryNow();
    await this.#work;
  }

  #begin(): void {
    if (this.#work !== undefined) return;
    this.#work = this.#writeAll().finally(() => {
      this.#work = undefined;
      if (this.#queue.size > 0 && !this.#stop.signal.aborted) this.#begin();
    });
    inBackground(this.#options.log, 'writing events', this.#work);
  }

  async #writeAll(): Promise<void> {
    const { clock, random, log } = this.#options;
    const { signal } = this.#stop;
    let failures = 0;
    let gentle = false;
    while (this.#queue.size > 0 && !signal.aborted) {
      const [key, waiting] = this.#queue.entries().next().value as [string, Waiting];
      if (clock.monotonicMs() - waiting.sinceMs > KEPT_MS) {
        this.#queue.delete(key);
        continue;
      }
      const outcome = await this.#write(key, waiting.event);
      // A newer version of it was recorded meanwhile.
      const isLatest = this.#queue.get(key) === waiting;
      if (outcome === 'done') {
        if (isLatest) this.#queue.delete(key);
        if (failures > 0)
          log.debug(2, 'Events are accepted again', { waiting: this.#queue.size, dropped: this.#dropped });
        failures = 0;
        if (gentle && this.#queue.size > SMALL_BACKLOG) await sleep(clock, GENTLE_MS, signal).catch(() => undefined);
        continue;
      }
      failures += 1;
      gentle = true;
      if (outcome === 'failed' && failures >= MOST_TRIES) {
        if (isLatest) this.#queue.delete(key);
        failures = 0;
        continue;
      }
      if (signal.aborted) return;
      this.#retry = new AbortController();
      await sleep(clock, jitter(random, backoffDelayMs(retry, failures), 0.5), this.#retry.signal).catch(
        () => undefined,
      );
    }
  }

  async #write(key: string, event: Event): Promise<Outcome> {
    const { client, log } = this.#options;
    try {
      if (this.#written.get(key) !== undefined && (await this.#patch(event))) return 'done';
      await client.create(events, event);
      this.#written.set(key, true);
      return 'done';
    } catch (error) {
      // A creation whose answer was lost.
      if (isApiError(error, 'AlreadyExists')) this.#written.set(key, true);
      const outcome = judge(error);
      if (outcome === 'done')
        log.debug(isApiError(error, 'AlreadyExists') ? 5 : 2, 'Server rejected event (will not retry!)', {
          reason: event.reason,
          object: `${event.involvedObject.namespace ?? ''}/${event.involvedObject.name ?? ''}`,
          error: errorMessage(error),
        });
      else log.debug(4, 'Unable to write event (may retry after sleeping)', { error: errorMessage(error) });
      return outcome;
    }
  }

  /** False when it no longer exists: events expire. */
  async #patch(event: Event): Promise<boolean> {
    try {
      await this.#options.client.patch(events, keyOf(event), {
        type: 'strategic',
        body: { count: event.count, lastTimestamp: event.lastTimestamp, message: event.message },
      });
      return true;
    } catch (error) {
      if (!isApiError(error, 'NotFound', 'Conflict')) throw error;
      return false;
    }
  }

  #makeRoom(): void {
    let victim: string | undefined;
    for (const [key, { event }] of this.#queue) {
      victim ??= key;
      if (event.type === 'Warning') continue;
      victim = key;
      break;
    }
    if (victim !== undefined) this.#queue.delete(victim);
    this.#dropped += 1;
  }
}

/** An answer of the server counts; silence does not. */
function judge(error: unknown): Outcome {
  if (!(error instanceof ApiStatusError)) return 'away';
  switch (error.reason) {
    case 'ServiceUnavailable':
    case 'ServerTimeout':
    case 'Timeout':
    case 'TooManyRequests':
    case 'Unauthorized':
      return 'away';
    case 'InternalError':
    case 'Unknown':
      return 'failed';
    default:
      return 'done';
  }
}
