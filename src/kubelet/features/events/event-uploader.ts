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

/** The limit of the queue (upstream: client-go tools/record, maxQueuedEvents). */
const QUEUE_LIMIT = 1_000;
/** The maximum number of remembered events, as many as the correlator keeps. */
const KNOWN_LIMIT = 4_096;
/** The age limit of events. API servers do not keep older ones. */
const KEPT_MS = 3_600_000;
/** The back-off of retries. Upstream waits 10 s, but a restarting server is usually available sooner. */
const retry = { initialMs: 500, maxMs: 10_000, factor: 2 };
/** The maximum number of tries if the server fails on this event only. */
const MOST_TRIES = 12;
/** The pause between events that accumulated during an outage, because other requests are more urgent. */
const GENTLE_MS = 50;
/**
 * The largest queue that is sent without pauses. So few events do not load a server, and events of pods that start now
 * wait behind them.
 */
const SMALL_BACKLOG = 50;

interface Waiting {
  readonly event: Event;
  /** A monotonic time, so that a corrected wall clock does not change the age of the event. */
  readonly sinceMs: number;
}

/** The result of a try. `away`: the server does not answer. `failed`: the server may fail on this event only. */
type Outcome = 'done' | 'away' | 'failed';

/**
 * Sends events to the API server (upstream: client-go tools/record recordToSink). Invariants:
 * 1. Recording an event never waits for the server. The queue is bounded and drops the oldest event that is not a
 *    warning first.
 * 2. An event that is repeated before it was written is written once, with its newest count. An event that was written
 *    is patched.
 * 3. While the server is unavailable, retries become less frequent. When it is available again, the events of the last
 *    hour are sent: a few immediately, many slowly.
 * 4. An event that the server refuses is not retried.
 */
export class EventUploader {
  readonly #options: EventUploaderOptions;
  readonly #queue = new Map<string, Waiting>();
  /** The events that the API server is known to have. */
  readonly #written = new BoundedMap<string, true>(KNOWN_LIMIT);
  readonly #stop = new AbortController();
  #work: Promise<void> | undefined;
  #retry: AbortController | undefined;
  #dropped = 0;

  constructor(options: EventUploaderOptions) {
    this.#options = options;
  }

  /** Queues an event. An event with the same `key` replaces an earlier one. */
  put(key: string, event: Event): void {
    if (this.#stop.signal.aborted) return;
    const sinceMs = this.#options.clock.monotonicMs();
    this.#queue.delete(key);
    if (this.#queue.size >= QUEUE_LIMIT) this.#makeRoom();
    this.#queue.set(key, { event, sinceMs });
    this.#begin();
  }

  /** The length of the queue. */
  get waiting(): number {
    return this.#queue.size;
  }

  /** Ends the current wait, because the API server is available again. */
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
      // Whether no newer version of the event was recorded meanwhile.
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
      // The answer to an earlier create was lost.
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

  /** Patches an event. Returns false if the event no longer exists, because events expire. */
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

/** Classifies an error. An answer of the server is final, while a missing answer is not. */
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
