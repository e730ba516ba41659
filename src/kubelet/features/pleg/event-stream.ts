import { backoffDelayMs } from '../../../base/backoff.ts';
import type { Clock } from '../../../base/clock.ts';
import { sleep } from '../../../base/clock.ts';
import { errorMessage, isKind } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import { jitter } from '../../../base/random.ts';
import type { EventSourceKind, RuntimeEvent, RuntimeEventSource } from '../../ports/runtime.ts';

const reconnect = { initialMs: 100, maxMs: 10_000, factor: 2 };
const RECONNECT_JITTER = 0.5;
/** A stream that was open for this long was healthy, so its end resets the back-off. */
const GOOD_STREAM_MS = 10_000;
/** If no source works, all are tried again after this time, because the runtime may have been replaced. */
const UNSUPPORTED_RETRY_MS = 10 * 60_000;

export interface EventStreamOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** The sources in the order of preference. */
  readonly sources: readonly RuntimeEventSource[];
  readonly onEvent: (event: RuntimeEvent) => void;
  /** Called when a stream opened (with its kind) or ended (undefined). */
  readonly onState: (kind: EventSourceKind | undefined) => void;
}

/**
 * Keeps one stream of runtime events open: that of the first source that works. It reconnects whenever the stream ends,
 * and never gives up (upstream does after five errors). An unsupported source is skipped until a stream of another
 * source breaks, because the runtime may have been upgraded.
 */
export class EventStream {
  readonly #options: EventStreamOptions;
  readonly #unsupported = new Set<RuntimeEventSource>();
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  #kind: EventSourceKind | undefined;

  constructor(options: EventStreamOptions) {
    this.#options = options;
  }

  /** The kind of the open stream; undefined if there is none. */
  get kind(): EventSourceKind | undefined {
    return this.#kind;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, random, sources } = this.#options;
    let failures = 0;
    while (!this.#stop.signal.aborted && sources.length > 0) {
      const stoodMs = await this.#tryAll();
      failures = stoodMs >= GOOD_STREAM_MS ? 1 : failures + 1;
      const hopeless = sources.every((source) => this.#unsupported.has(source));
      const waitMs = hopeless ? UNSUPPORTED_RETRY_MS : backoffDelayMs(reconnect, failures);
      if (hopeless) this.#unsupported.clear();
      await sleep(clock, jitter(random, waitMs, RECONNECT_JITTER), this.#stop.signal).catch(() => undefined);
    }
  }

  /** Tries the sources until one has worked. Returns how long its stream was open, or 0 if none worked. */
  async #tryAll(): Promise<number> {
    const { clock, sources } = this.#options;
    for (const source of sources) {
      if (this.#unsupported.has(source)) continue;
      const openedAtMs = await this.#hold(source);
      if (this.#stop.signal.aborted) return 0;
      if (openedAtMs === undefined) continue;
      this.#unsupported.clear();
      return clock.monotonicMs() - openedAtMs;
    }
    return 0;
  }

  /** Subscribes and waits until the stream ends. Returns when it opened; undefined if it never did. */
  async #hold(source: RuntimeEventSource): Promise<number | undefined> {
    const { clock, log, onEvent } = this.#options;
    let openedAtMs: number | undefined;
    const onOpen = (): void => {
      openedAtMs = clock.monotonicMs();
      log.info('runtime event stream open', { source: source.kind });
      this.#setKind(source.kind);
    };
    try {
      await source.subscribe({ onOpen, onEvent }, this.#stop.signal);
    } catch (error) {
      const cannot = isKind(error, 'Unimplemented');
      if (cannot) this.#unsupported.add(source);
      if (cannot && openedAtMs === undefined) log.debug(2, 'runtime has no such event stream', { source: source.kind });
      else if (openedAtMs !== undefined)
        log.warn('runtime event stream broke, relisting until it is back', {
          source: source.kind,
          error: errorMessage(error),
        });
      else log.debug(4, 'runtime event stream not available', { source: source.kind, error: errorMessage(error) });
    }
    if (openedAtMs !== undefined) this.#setKind(undefined);
    return openedAtMs;
  }

  #setKind(kind: EventSourceKind | undefined): void {
    if (kind === this.#kind) return;
    this.#kind = kind;
    if (!this.#stop.signal.aborted) this.#options.onState(kind);
  }
}
