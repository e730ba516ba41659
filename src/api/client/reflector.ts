import { backoffDelayMs } from '../../base/backoff.ts';
import type { BackoffCurve } from '../../base/backoff.ts';
import { sleep, withDeadline } from '../../base/clock.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { errorMessage, KubeletError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { jitter } from '../../base/random.ts';
import type { Random } from '../../base/random.ts';
import { startIdleTimer } from '../../base/idle-timer.ts';
import { untilAborted } from '../../base/until-aborted.ts';
import { isApiError } from '../status/api-status-error.ts';
import type { ApiClient } from './api-client.ts';
import type { ApiObject, ResourceType } from './resource-type.ts';
import { WatchSession, WentBack } from './watch-session.ts';
import type { ReflectorSink } from './watch-session.ts';

/**
 * The back-off of upstream's reflectors (800 ms to 30 s, with jitter of up to 100 %), but with an earlier first retry.
 */
const retryCurve: BackoffCurve = { initialMs: 200, maxMs: 30_000, factor: 2 };
/** Failures with more time between them do not increase the back-off. */
const FORGET_FAILURES_MS = 120_000;
/** A server may request any pause, but the client asks again after this time. */
const LONGEST_PAUSE_MS = 300_000;
/** Waiting clients reconnect within this time after the server has returned. */
const RETURN_SPREAD_MS = 3_000;
const LIST_LIMIT_MS = 60_000;
const PAGE = 500;
/** API servers send a bookmark about once a minute: this long without data means that the connection is dead. */
const SILENCE_LIMIT_MS = 150_000;
/** A watch that ends before this without any event counts as a failure. */
const SHORTEST_WATCH_MS = 1_000;
/**
 * The requested duration of a watch; up to the same time is added at random. Reconnections then spread clients over all
 * servers.
 */
const WATCH_SECONDS = 300;

export interface ReflectorOptions<T extends ApiObject> {
  readonly client: ApiClient;
  readonly type: ResourceType<T>;
  /** '' follows all namespaces. */
  readonly namespace: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** As for lists. */
  readonly includeUninitialized?: boolean;
  /** Which version the first list must have. Absent: any version that the server has cached, which may be old. */
  readonly startsAt?: 'newest';
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly sink: ReflectorSink<T>;
  /** Transforms each object before it is delivered: unused fields need not be kept (`withoutManagedFields`). */
  readonly transform?: (object: T) => T;
  /** Called with each failure, and with undefined when the delivered objects are up to date again. */
  readonly onProblem?: (problem: FollowProblem | undefined) => void;
}

/** Why the objects may be outdated. */
export interface FollowProblem {
  /** Wall time of the first of consecutive failures. */
  readonly sinceMs: number;
  readonly error: unknown;
}

/** The next request. `watch` continues after `version`; `list` starts again, at least at `version` if there is one. */
type Step = { readonly kind: 'list'; readonly version: string } | { readonly kind: 'watch'; readonly version: string };

/** Without managedFields, which are half of many objects and only matter to clients that write. */
export function withoutManagedFields<T extends ApiObject>(object: T): T {
  const { managedFields, ...metadata } = object.metadata;
  return managedFields === undefined ? object : { ...object, metadata };
}

/**
 * Follows all objects of a kind with a list and then watches, until `signal` aborts (upstream: client-go tools/cache
 * Reflector).
 * 1. When a watch ends, the next one continues from the last version that was received, bookmarks included. A new list
 *    is requested only after `410`, or when the server's versions went back.
 * 2. Lists are requested as streams (WatchList). If the server refuses that, or does not finish the stream, pages are
 *    requested from then on.
 * 3. The sink never gets an incomplete list: the objects of a streamed list are delivered when the server has announced
 *    its end.
 * 4. After a failure it waits, with increasing delays, and at least as long as the server requests; failures never end
 *    it. The wait ends early when another request finds that an outage is over. A watch that was open for some time
 *    does not count as a failure, however it ended.
 */
export async function reflect<T extends ApiObject>(options: ReflectorOptions<T>, signal: AbortSignal): Promise<void> {
  await new Reflector(options, signal).run();
}

class Reflector<T extends ApiObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #signal: AbortSignal;
  /** The objects of watches and lists, before they are delivered. */
  readonly #sink: ReflectorSink<T>;
  #streamsLists = true;
  #failures = 0;
  #lastFailureMs = -Infinity;
  #problemSinceMs: number | undefined;

  constructor(options: ReflectorOptions<T>, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
    const { sink, transform } = options;
    this.#sink =
      transform === undefined
        ? sink
        : {
            replace: (items) => sink.replace(items.map(transform)),
            event: (type, object) => sink.event(type, transform(object)),
          };
  }

  async run(): Promise<void> {
    let step: Step = { kind: 'list', version: this.#options.startsAt === 'newest' ? '' : '0' };
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
    const { clock, random, log, type, onProblem } = this.#options;
    const { version, cause } = error instanceof WatchFailure ? error : { version: step.version, cause: error };
    const next = nextAfterFailure(step, version, cause);
    if (isApiError(cause, 'Expired', 'Gone') && (step.kind === 'watch' || step.version !== '')) {
      log.debug(2, 'The past that is being followed was forgotten, listing again', { kind: type.kind, version });
      return next;
    }
    const nowMs = clock.monotonicMs();
    this.#failures = nowMs - this.#lastFailureMs > FORGET_FAILURES_MS ? 1 : this.#failures + 1;
    this.#lastFailureMs = nowMs;
    this.#problemSinceMs ??= clock.nowMs();
    onProblem?.({ sinceMs: this.#problemSinceMs, error: cause });
    log.debug(this.#failures === 1 ? 2 : 4, 'Following objects failed, trying again', {
      kind: type.kind,
      step: step.kind,
      error: errorMessage(cause),
    });
    const askedMs = askedPauseMs(cause, random);
    await this.#pause(Math.max(jitter(random, backoffDelayMs(retryCurve, this.#failures), 1), askedMs), askedMs === 0);
    return next;
  }

  /** If the server did not request the pause, it ends as soon as the server can be reached again. */
  async #pause(pauseMs: number, mayEndEarly: boolean): Promise<void> {
    const { clock, random, client } = this.#options;
    const early = new AbortController();
    const abort = (): void => early.abort();
    this.#signal.addEventListener('abort', abort, { once: true });
    let soon: Timer | undefined;
    const end = mayEndEarly
      ? client.onReturn?.((why) =>
          why === 'admitted' ? abort() : (soon ??= clock.setTimer(random.next() * RETURN_SPREAD_MS, abort)),
        )
      : undefined;
    try {
      await sleep(clock, pauseMs, early.signal).catch(() => undefined);
    } finally {
      end?.();
      soon?.cancel();
      this.#signal.removeEventListener('abort', abort);
    }
  }

  #worked(): void {
    if (this.#problemSinceMs === undefined) return;
    this.#problemSinceMs = undefined;
    this.#options.onProblem?.(undefined);
  }

  async #list(version: string): Promise<Step> {
    if (this.#streamsLists) return await this.#watch(version, true);
    const { client, type, namespace, labelSelector, fieldSelector, includeUninitialized, clock } = this.#options;
    const items: T[] = [];
    let next: string | undefined;
    let resourceVersion = '';
    do {
      const page = {
        labelSelector,
        fieldSelector,
        ...(includeUninitialized !== undefined && { includeUninitialized }),
        limit: PAGE,
        ...(next === undefined ? { resourceVersion: version } : { continue: next }),
      };
      const got = await withDeadline(
        { clock, limitMs: LIST_LIMIT_MS, op: `list ${type.plural}`, signal: this.#signal },
        (signal) => untilAborted(client.list(type, namespace, page), signal),
      );
      for (const item of got.items) items.push(item);
      resourceVersion = got.resourceVersion;
      next = got.continue === '' ? undefined : got.continue;
    } while (next !== undefined && !this.#signal.aborted);
    if (!this.#signal.aborted) {
      this.#sink.replace(items);
      this.#worked();
    }
    return { kind: 'watch', version: resourceVersion };
  }

  /** Runs one watch to its end. With `streamList` it starts with all existing objects. */
  async #watch(from: string, streamList = false): Promise<Step> {
    const { clock } = this.#options;
    const startedMs = clock.monotonicMs();
    const stop = new AbortController();
    const abort = (): void => stop.abort();
    this.#signal.addEventListener('abort', abort, { once: true });
    const session = new WatchSession(this.#sink, from, streamList);
    const ended = Promise.withResolvers<'ended' | 'silent'>();
    stop.signal.addEventListener('abort', () => ended.resolve('ended'), { once: true });
    const idleTimer = startIdleTimer(clock, SILENCE_LIMIT_MS, () => ended.resolve('silent'));
    let how: 'ended' | 'silent';
    let openedMs = Infinity;
    try {
      // The server may not end an aborted request, so it is not awaited after the abort.
      how = await Promise.race([
        this.#consume(session, { opened: () => (openedMs = clock.monotonicMs()), heard: idleTimer.heard }, stop.signal),
        ended.promise,
      ]);
    } catch (error) {
      if (streamList && !session.heard && isApiError(error, 'Invalid', 'BadRequest', 'MethodNotAllowed')) {
        this.#streamsLists = false;
        return { kind: 'list', version: from };
      }
      if (clock.monotonicMs() - openedMs >= SHORTEST_WATCH_MS) this.#failures = 0;
      throw new WatchFailure(session.version, error);
    } finally {
      session.close();
      idleTimer.cancel();
      stop.abort();
      this.#signal.removeEventListener('abort', abort);
    }
    return this.#afterWatch(session, { from, how, livedMs: clock.monotonicMs() - startedMs });
  }

  #afterWatch(
    session: WatchSession<T>,
    { from, how, livedMs }: { readonly from: string; readonly how: 'ended' | 'silent'; readonly livedMs: number },
  ): Step {
    if (!session.heard && livedMs < SHORTEST_WATCH_MS && !this.#signal.aborted)
      throw new WatchFailure(session.version, new KubeletError('Unavailable', 'a watch ended at once'));
    if (session.heard) this.#failures = 0;
    if (!session.complete) {
      if (how === 'silent') this.#streamsLists = false;
      return { kind: 'list', version: from };
    }
    // A server restored from a backup sends nothing to a client that waits for a later version. A silent server is
    // asked for everything it has.
    return how === 'silent' && !session.heard
      ? { kind: 'list', version: '' }
      : { kind: 'watch', version: session.version };
  }

  async #consume(
    session: WatchSession<T>,
    { opened, heard }: { readonly opened: () => void; readonly heard: () => void },
    signal: AbortSignal,
  ): Promise<'ended'> {
    const { client, type, namespace, labelSelector, fieldSelector, includeUninitialized, random } = this.#options;
    const timeoutSeconds = Math.floor(jitter(random, WATCH_SECONDS, 1));
    const options = {
      labelSelector,
      fieldSelector,
      ...(includeUninitialized !== undefined && { includeUninitialized }),
      resourceVersion: session.version,
      allowBookmarks: true,
      timeoutSeconds,
      onOpen: opened,
      ...(session.complete ? {} : { sendInitialEvents: true }),
    };
    for await (const event of client.watch(type, namespace, options, signal)) {
      if (!session.take(event)) break;
      heard();
      if (session.complete) this.#worked();
    }
    return 'ended';
  }
}

/**
 * The step after a failure. There is a pause before it unless the server only had dropped old versions. If a list fails
 * because its version is too old, the next list has no version. After a failed watch, the list must be at least as new
 * as what the watch delivered.
 */
function nextAfterFailure(step: Step, version: string, cause: unknown): Step {
  if (isApiError(cause, 'Expired', 'Gone')) return { kind: 'list', version: step.kind === 'watch' ? version : '' };
  // A restored server does not have the version yet. Its own version counts.
  if (cause instanceof WentBack || isTooLarge(cause)) return { kind: 'list', version: '' };
  return { kind: step.kind, version: step.kind === 'watch' ? version : step.version };
}

/**
 * Upstream: metav1.CauseTypeResourceVersionTooLarge. Other timeouts only mean that the server is busy, and need no new
 * list.
 */
const isTooLarge = (cause: unknown): boolean =>
  isApiError(cause, 'Timeout') &&
  (cause.details?.causes ?? []).some(({ reason }) => reason === 'ResourceVersionTooLarge');

/**
 * The pause that a server requests (Retry-After), with a random part, so that clients do not all return at the same
 * time.
 */
function askedPauseMs(cause: unknown, random: Random): number {
  const seconds = isApiError(cause) ? (cause.details?.retryAfterSeconds ?? 0) : 0;
  return Math.min(jitter(random, seconds * 1000, 0.5), LONGEST_PAUSE_MS);
}

/** The failure of a watch that had reached `version`. */
class WatchFailure extends Error {
  readonly version: string;
  override readonly cause: unknown;

  constructor(version: string, cause: unknown) {
    super(errorMessage(cause));
    this.version = version;
    this.cause = cause;
  }
}
