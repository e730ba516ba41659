import type { Clock, Timer } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { Loop } from '../../../base/loop.ts';
import { createLoop } from '../../../base/loop.ts';
import type { Random } from '../../../base/random.ts';
import type { PageState, PageUsage } from './page-state.ts';

export interface PageFeedParts {
  /** Takes one sample of all figures. */
  readonly sample: () => Promise<PageUsage>;
  readonly state: () => PageState;
  /** Calls `onChange` when the state may have changed. Returns a function that unsubscribes. */
  readonly watch: (onChange: () => void) => () => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Sends one event. Resolves when the client has received it. */
export type SendEvent = (event: 'state' | 'history' | 'usage', json: string) => Promise<void>;

export interface FeedClient {
  readonly send: SendEvent;
  /** Called once, when the feed ends the connection. */
  readonly close: () => void;
}

const MOST_CLIENTS = 32;
const PERIOD_MS = 2000;
const FIRST_PERIOD_MS = 1100;
/** The pause after a sample is at least this many times its duration, which limits the share of a processor. */
const PAUSE_PER_COST = 50;
const LONGEST_PERIOD_MS = 15_000;
/** Changes within this time are sent together. */
const GATHER_MS = 300;
/**
 * The state is computed again after this time without an event, because parts of it, such as node conditions, cause no
 * event.
 */
const STATE_AGE_MS = 10_000;
/** A client that does not read an event for this long is disconnected. */
const SLOW_MS = 20_000;
/** The number of samples that a new client receives: five minutes at the usual period. */
const HISTORY = 150;

/**
 * Sends one sample to all clients. Invariants:
 * 1. Nothing is read, computed or scheduled while no client is connected.
 * 2. A client has at most one waiting event of each kind, the newest.
 * 3. A client that does not read for 20 s is disconnected. There are at most 32 clients.
 */
export class PageFeed {
  readonly #parts: PageFeedParts;
  readonly #clients = new Set<Connection>();
  #loop: Loop | undefined;
  #unwatch: (() => void) | undefined;
  #stateTimer: Timer | undefined;
  #stateJson = '';
  #stateAtMs = Number.NEGATIVE_INFINITY;
  #usageJson: string | undefined;
  #costMs = 0;
  #history: (PageUsage['node'] & { readonly atMs: number })[] = [];

  constructor(parts: PageFeedParts) {
    this.#parts = parts;
  }

  /**
   * Connects a client. Returns a function that disconnects it, or undefined when the maximum number of clients is
   * connected.
   */
  connect(client: FeedClient): (() => void) | undefined {
    if (this.#clients.size >= MOST_CLIENTS) return undefined;
    const connection = new Connection(client, this.#parts.clock);
    this.#clients.add(connection);
    if (this.#clients.size === 1) this.#begin();
    else this.#refreshState();
    connection.offer('state', this.#stateJson);
    if (this.#history.length > 0) connection.offer('history', JSON.stringify(this.#history));
    if (this.#usageJson !== undefined) connection.offer('usage', this.#usageJson);
    return () => this.#drop(connection);
  }

  get clients(): number {
    return this.#clients.size;
  }

  /** Disconnects all clients. */
  stop(): void {
    for (const connection of [...this.#clients]) {
      this.#drop(connection);
      connection.client.close();
    }
  }

  #begin(): void {
    const { clock, random, log, watch } = this.#parts;
    this.#computeState();
    this.#unwatch = watch(() => this.#stateSoon());
    this.#loop = createLoop({
      name: 'page',
      clock,
      random,
      log,
      periodMs: () => this.#periodMs(),
      pass: () => this.#pass(),
    });
    this.#loop.start();
  }

  /** Returns the period. The first pause is short, because rates need two samples. */
  #periodMs(): number {
    const usualMs = this.#history.length < 2 ? FIRST_PERIOD_MS : PERIOD_MS;
    return Math.min(LONGEST_PERIOD_MS, Math.max(usualMs, this.#costMs * PAUSE_PER_COST));
  }

  #end(): void {
    void this.#loop?.stop();
    this.#loop = undefined;
    this.#unwatch?.();
    this.#stateTimer?.cancel();
    this.#stateTimer = undefined;
    this.#usageJson = undefined;
    this.#history = [];
  }

  #drop(connection: Connection): void {
    if (!this.#clients.delete(connection)) return;
    connection.end();
    if (this.#clients.size === 0) this.#end();
  }

  async #pass(): Promise<void> {
    const { clock, sample } = this.#parts;
    const loop = this.#loop;
    this.#dropSlow();
    if (clock.monotonicMs() - this.#stateAtMs >= STATE_AGE_MS) this.#refreshState();
    const startMs = clock.monotonicMs();
    const usage = await sample();
    if (this.#loop !== loop || this.#clients.size === 0) return;
    this.#usageJson = JSON.stringify(usage);
    this.#costMs = clock.monotonicMs() - startMs;
    this.#history.push({ ...usage.node, atMs: usage.atMs });
    if (this.#history.length > HISTORY) this.#history.shift();
    for (const connection of this.#clients) connection.offer('usage', this.#usageJson);
  }

  #dropSlow(): void {
    const limitMs = this.#parts.clock.monotonicMs() - SLOW_MS;
    for (const connection of [...this.#clients])
      if (connection.sendingSinceMs < limitMs) {
        this.#drop(connection);
        connection.client.close();
      }
  }

  #stateSoon(): void {
    this.#stateTimer ??= this.#parts.clock.setTimer(GATHER_MS, () => {
      this.#stateTimer = undefined;
      this.#refreshState();
    });
  }

  #refreshState(): void {
    const before = this.#stateJson;
    this.#computeState();
    if (this.#stateJson !== before) for (const connection of this.#clients) connection.offer('state', this.#stateJson);
  }

  #computeState(): void {
    const { state, clock, log } = this.#parts;
    this.#stateAtMs = clock.monotonicMs();
    try {
      this.#stateJson = JSON.stringify(state());
    } catch (error) {
      log.error('the state for the page cannot be computed', { error: errorMessage(error) });
    }
  }
}

type EventKind = Parameters<SendEvent>[0];

/** The events that one client has not received yet, the newest of each kind. */
class Connection {
  readonly client: FeedClient;
  readonly #clock: Clock;
  readonly #waiting = new Map<EventKind, string>();
  #isOver = false;
  /** The monotonic time since which an event is being sent; Infinity when none is. */
  sendingSinceMs = Infinity;

  constructor(client: FeedClient, clock: Clock) {
    this.client = client;
    this.#clock = clock;
  }

  offer(event: EventKind, json: string): void {
    if (this.#isOver) return;
    this.#waiting.set(event, json);
    if (this.sendingSinceMs === Infinity) void this.#send();
  }

  end(): void {
    this.#isOver = true;
    this.#waiting.clear();
  }

  async #send(): Promise<void> {
    for (const [event, json] of this.#waiting) {
      this.#waiting.delete(event);
      this.sendingSinceMs = this.#clock.monotonicMs();
      await this.client.send(event, json).catch(() => this.end());
    }
    this.sendingSinceMs = Infinity;
  }
}
