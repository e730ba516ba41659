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
/** A stream that was open this long was healthy: its end resets the back-off. */
const GOOD_STREAM_MS = 10_000;
/** When no source works at all, all are tried again after this time: the runtime may have been replaced. */
const UNSUPPORTED_RETRY_MS = 10 * 60_000;

export interface EventStreamOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** In order of preference. */
  readonly sources: readonly RuntimeEventSource[];
  readonly onEvent: (event: RuntimeEvent) => void;
  /** The stream is open (its kind) or not (undefined). */
  readonly onState: (kind: EventSourceKind | undefined) => void;
}

/**
 * Keeps one live stream of runtime events open: the first source that works, reconnecting whenever it ends. It never
 * gives up (upstream does after five errors). A source found unsupported is skipped until a stream of another source
 * breaks, because the runtime may have been upgraded.
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

  /** The kind of the open stream, if there is one. */
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

  /** Goes through the sources until one has worked; returns how long its stream was open, 0 if none. */
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

  /** Subscribes and stays until the stream ends; returns when it opened, undefined if it never did. */
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
