import { backoffDelayMs } from '../../base/backoff.ts';
import type { BackoffCurve } from '../../base/backoff.ts';
import { sleep, withDeadline } from '../../base/clock.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { errorMessage, KubeletError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { jitter } from '../../base/random.ts';
import type { Random } from '../../base/random.ts';
import { ApiStatusError, isApiError } from '../status/api-status-error.ts';
import type { ApiClient, WatchEvent } from './api-client.ts';
import { formatKey, keyOf } from './resource-type.ts';
import type { ApiObject, ResourceType } from './resource-type.ts';

/** Upstream's curve of reflectors (800 ms to 30 s, stretched by up to as much again) with an earlier first try. */
const retryCurve: BackoffCurve = { initialMs: 200, maxMs: 30_000, factor: 2 };
/** Failures so far apart do not add up. */
const FORGET_FAILURES_MS = 120_000;
const LIST_LIMIT_MS = 60_000;
const PAGE = 500;
/** API servers send a bookmark about once a minute: so long without a word means that nobody is at the other end. Watching again from where one was costs nearly nothing. */
const SILENCE_LIMIT_MS = 150_000;
/** A watch that ends by itself before this, having said nothing, counts as a failure. */
const SHORTEST_WATCH_MS = 1_000;

/** Where a reflector delivers: calls come in order, synchronously. */
export interface ReflectorSink<T> {
  /** All there is, in place of everything known before. */
  replace(items: readonly T[]): void;
  event(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: T): void;
}

export interface ReflectorOptions<T extends ApiObject> {
  readonly client: ApiClient;
  readonly type: ResourceType<T>;
  /** '' follows all namespaces. */
  readonly namespace: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly sink: ReflectorSink<T>;
}

/** What comes next. `watch` goes on after `version`; `list` begins anew, at least at `version` where there is one. */
type Step = { readonly kind: 'list'; readonly version: string } | { readonly kind: 'watch'; readonly version: string };

/**
 * Follows all objects of a kind: lists, then watches, for as long as `signal` is not aborted (upstream: client-go tools/cache Reflector).
 * 1. A watch that ends goes on from the last version that was seen, bookmarks included; only `410` lists again.
 * 2. Servers that stream their lists (WatchList) are asked to; one that refuses is listed in pages from then on.
 * 3. The sink never gets a part of a list: what a streamed list has sent counts when its end is announced.
 * 4. Failures wait, longer each time; they never end it.
 */
export async function reflect<T extends ApiObject>(options: ReflectorOptions<T>, signal: AbortSignal): Promise<void> {
  await new Reflector(options, signal).run();
}

class Reflector<T extends ApiObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #signal: AbortSignal;
  #streamsLists = true;
  #failures = 0;
  #lastFailureMs = -Infinity;

  constructor(options: ReflectorOptions<T>, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  async run(): Promise<void> {
    let step: Step = { kind: 'list', version: '0' };
    while (!this.#signal.aborted) {
      try {
        step = step.kind === 'list' ? await this.#list(step.version) : await this.#watch(step.version);
      } catch (error) {
        if (this.#signal.aborted) return;
        step = await this.#afterFailure(step, error);
      }
    }
  }

  async #afterFailure(step: Step, error: unknown): Promise<Step> {
    const { clock, random, log, type } = this.#options;
    const { version, cause } = error instanceof WatchFailure ? error : { version: step.version, cause: error };
    if (isApiError(cause, 'Expired', 'Gone')) {
      log.debug(2, 'The past that is being followed was forgotten, listing again', { kind: type.kind, version });
      // A list that is refused as too old is asked for without a version; a watch lists at least what it saw.
      if (step.kind === 'watch') return { kind: 'list', version };
      if (step.version !== '') return { kind: 'list', version: '' };
    }
    const nowMs = clock.monotonicMs();
    this.#failures = nowMs - this.#lastFailureMs > FORGET_FAILURES_MS ? 1 : this.#failures + 1;
    this.#lastFailureMs = nowMs;
    log.debug(this.#failures === 1 ? 2 : 4, 'Following objects failed, trying again', { kind: type.kind, step: step.kind, error: errorMessage(cause) });
    await sleep(clock, jitter(random, backoffDelayMs(retryCurve, this.#failures), 1), this.#signal).catch(() => undefined);
    // A server that was rolled back does not know the version yet: what it has is better than nothing.
    if (step.kind === 'list') return { kind: 'list', version: isApiError(cause, 'Timeout') ? '' : step.version };
    return { kind: 'watch', version };
  }

  async #list(version: string): Promise<Step> {
    if (this.#streamsLists) return await this.#watch(version, true);
    const { client, type, namespace, labelSelector, fieldSelector, clock, sink } = this.#options;
    const items: T[] = [];
    let next: string | undefined;
    let resourceVersion = '';
    do {
      const page = { labelSelector, fieldSelector, limit: PAGE, ...(next === undefined ? { resourceVersion: version } : { continue: next }) };
      const got = await withDeadline({ clock, limitMs: LIST_LIMIT_MS, op: `list ${type.plural}`, signal: this.#signal }, () => client.list(type, namespace, page));
      for (const item of got.items) items.push(item);
      resourceVersion = got.resourceVersion;
      next = got.continue === '' ? undefined : got.continue;
    } while (next !== undefined && !this.#signal.aborted);
    if (!this.#signal.aborted) sink.replace(items);
    return { kind: 'watch', version: resourceVersion };
  }

  /** One watch, up to its end. With `streamList` it begins with all there is. */
  async #watch(from: string, streamList = false): Promise<Step> {
    const { clock } = this.#options;
    const startedMs = clock.monotonicMs();
    const stop = new AbortController();
    const abort = (): void => stop.abort();
    this.#signal.addEventListener('abort', abort, { once: true });
    const session = new WatchSession(this.#options.sink, from, streamList, clock);
    let silent: (() => void) | undefined;
    const silence = new Promise<void>((resolve) => (silent = resolve));
    stop.signal.addEventListener('abort', () => silent?.(), { once: true });
    const guard = session.guard(() => silent?.());
    try {
      // A server that does not end what was aborted must not hold this up: whoever is done first counts.
      await Promise.race([this.#consume(session, stop.signal), silence]);
    } catch (error) {
      if (streamList && !session.heard && isApiError(error, 'Invalid', 'BadRequest', 'MethodNotAllowed')) {
        this.#streamsLists = false;
        return { kind: 'list', version: from };
      }
      throw new WatchFailure(session.version, error);
    } finally {
      session.close();
      guard.cancel();
      stop.abort();
      this.#signal.removeEventListener('abort', abort);
    }
    if (!session.heard && clock.monotonicMs() - startedMs < SHORTEST_WATCH_MS && !this.#signal.aborted) throw new WatchFailure(session.version, new KubeletError('Unavailable', 'a watch ended at once'));
    if (session.heard) this.#failures = 0;
    return session.complete ? { kind: 'watch', version: session.version } : { kind: 'list', version: from };
  }

  async #consume(session: WatchSession<T>, signal: AbortSignal): Promise<void> {
    const { client, type, namespace, labelSelector, fieldSelector } = this.#options;
    const options = { labelSelector, fieldSelector, resourceVersion: session.version, allowBookmarks: true, ...(session.complete ? {} : { sendInitialEvents: true }) };
    for await (const event of client.watch(type, namespace, options, signal)) {
      if (!session.take(event)) return;
    }
  }
}

/** A watch failed having come to `version`. */
class WatchFailure extends Error {
  readonly version: string;
  override readonly cause: unknown;

  constructor(version: string, cause: unknown) {
    super(errorMessage(cause));
    this.version = version;
    this.cause = cause;
  }
}

/** What one watch has said so far. */
class WatchSession<T extends ApiObject> {
  /** Where a next watch goes on. */
  version: string;
  /** Whether the sink has everything: at once, or when the streamed list has ended. */
  complete: boolean;
  /** Whether a word came at all. */
  heard = false;
  readonly #sink: ReflectorSink<T>;
  readonly #clock: Clock;
  #initial: Map<string, T> | undefined;
  #open = true;
  #lastMs: number;

  constructor(sink: ReflectorSink<T>, version: string, streamList: boolean, clock: Clock) {
    this.#sink = sink;
    this.#clock = clock;
    this.version = version;
    this.complete = !streamList;
    this.#initial = streamList ? new Map() : undefined;
    this.#lastMs = clock.monotonicMs();
  }

  close(): void {
    this.#open = false;
  }

  /** Calls `silent` when nothing was heard for too long. One timer, however much is said. */
  guard(silent: () => void): Timer {
    let timer: Timer;
    const look = (): void => {
      const leftMs = this.#lastMs + SILENCE_LIMIT_MS - this.#clock.monotonicMs();
      if (leftMs <= 0) silent();
      else timer = this.#clock.setTimer(leftMs, look);
    };
    timer = this.#clock.setTimer(SILENCE_LIMIT_MS, look);
    return { cancel: () => timer.cancel() };
  }

  /** False when the watch was given up; throws what the server says is wrong. */
  take(event: WatchEvent<T>): boolean {
    if (!this.#open) return false;
    this.#lastMs = this.#clock.monotonicMs();
    if (event.type === 'ERROR') throw event.error instanceof ApiStatusError ? event.error : new ApiStatusError('InternalError', errorMessage(event.error), undefined, event.error);
    this.heard = true;
    if (event.type === 'BOOKMARK') {
      this.#bookmark(event);
      return true;
    }
    const { object } = event;
    if (this.#initial === undefined) {
      this.version = object.metadata.resourceVersion ?? this.version;
      this.#sink.event(event.type, object);
    } else if (event.type === 'DELETED') this.#initial.delete(formatKey(keyOf(object)));
    else this.#initial.set(formatKey(keyOf(object)), object);
    return true;
  }

  #bookmark({ resourceVersion, initialEventsEnd }: { readonly resourceVersion: string; readonly initialEventsEnd: boolean }): void {
    if (this.#initial !== undefined) {
      if (!initialEventsEnd) return;
      const items = [...this.#initial.values()];
      this.#initial = undefined;
      this.complete = true;
      this.#sink.replace(items);
    }
    this.version = resourceVersion;
  }
}
