import type { Clock } from '../../../base/clock.ts';
import { isDeepStrictEqual } from 'node:util';
import type { Exchange } from '../path/exchange.ts';
import { isLongRunning } from '../path/request-info.ts';
import type { RequestInfo } from '../path/request-info.ts';
import type { Admitted, RequestLimiter } from '../path/request-path.ts';
import { classifyFlow } from './classify-flow.ts';
import { FairQueues } from './fair-queues.ts';
import { standardFlowConfig } from './flow-config.ts';
import type { FlowConfig, FlowSchema, PriorityLevel } from './flow-config.ts';

export type RejectReason = 'queue-full' | 'concurrency-limit' | 'time-out';

/** Observes events for the metrics. */
export interface FlowObserver {
  rejected(flow: FlowName, reason: RejectReason): void;
  dispatched(flow: FlowName, waitedMs: number, exchange: Exchange): void;
}
export interface FlowName {
  readonly level: string;
  readonly schema: string;
}

export interface FlowControlOptions {
  readonly clock: Clock;
  /** The total number of seats of all levels. */
  readonly seats: number;
  /** The maximum time that a request waits. */
  readonly maxWaitMs: number;
  /** Returns the number of objects that a list reads. */
  readonly countObjects?: (info: RequestInfo) => number;
  readonly observer?: FlowObserver;
}

interface Level {
  readonly config: PriorityLevel;
  readonly nominalSeats: number;
  readonly lendableSeats: number;
  readonly queues: FairQueues | undefined;
  seatsInUse: number;
  executing: number;
}

/** The current state of one level, for metrics. */
export interface LevelState {
  readonly name: string;
  readonly nominalSeats: number;
  readonly seatsInUse: number;
  readonly executing: number;
  readonly waiting: number;
}

/** The number of objects per seat. A list uses one seat for each hundred objects that it reads, at most ten. */
const OBJECTS_PER_SEAT = 100;
const MOST_SEATS = 10;

/**
 * Implements priority and fairness: each level has its own seats and queues, and may borrow unused seats of others.
 * Invariants:
 * 1. A level within its own seats never waits for another level.
 * 2. No level borrows while all seats are taken.
 * 3. Every occupied seat is released exactly once.
 */
export class FlowControl implements RequestLimiter {
  readonly #options: FlowControlOptions;
  readonly #levels = new Map<string, Level>();
  /** The removed levels that still have requests. */
  readonly #leaving = new Set<Level>();
  #schemas: readonly FlowSchema[] = [];
  #seatsInUse = 0;

  constructor(options: FlowControlOptions) {
    this.#options = options;
    this.configure(standardFlowConfig);
  }

  /**
   * Applies a new configuration. Admitted and waiting requests stay in their level: a level that is removed, or gets
   * other queues, is kept until it is idle.
   */
  configure({ levels, schemas }: FlowConfig): void {
    const before = new Map(this.#levels);
    this.#levels.clear();
    this.#schemas = schemas;
    const shares = Math.max(
      1,
      levels.reduce((sum, level) => sum + level.shares, 0),
    );
    for (const config of levels) {
      const nominalSeats = Math.ceil((this.#options.seats * config.shares) / shares);
      const numbers = {
        config,
        nominalSeats,
        lendableSeats: Math.round((nominalSeats * config.lendablePercent) / 100),
      };
      const known = before.get(config.name);
      if (known !== undefined && isDeepStrictEqual(known.config.limit, config.limit)) {
        before.delete(config.name);
        this.#levels.set(config.name, Object.assign(known, numbers));
      } else {
        const queues = typeof config.limit === 'object' ? new FairQueues(config.limit) : undefined;
        this.#levels.set(config.name, { ...numbers, queues, seatsInUse: 0, executing: 0 });
      }
    }
    for (const level of before.values()) this.#leaving.add(level);
    this.#startWaiting();
  }

  get states(): readonly LevelState[] {
    return [...this.#levels.values()].map(({ config, nominalSeats, seatsInUse, executing, queues }) => ({
      name: config.name,
      nominalSeats,
      seatsInUse,
      executing,
      waiting: queues?.length ?? 0,
    }));
  }

  admit(exchange: Exchange): Admitted | Promise<Admitted> {
    const found = classifyFlow(this.#schemas, exchange.user, exchange.info);
    const level = found === undefined ? undefined : this.#levels.get(found.schema.level);
    if (found === undefined || level === undefined) return { admitted: false, retryAfterSeconds: 1 };
    exchange.headers['x-kubernetes-pf-flowschema-uid'] = found.schema.uid;
    exchange.headers['x-kubernetes-pf-prioritylevel-uid'] = level.config.uid;
    if (isLongRunning(exchange.info)) return { admitted: true, release: () => undefined };
    const seats = level.config.limit === 'exempt' ? 0 : this.#seatsOf(exchange.info, level);
    const name: FlowName = { level: level.config.name, schema: found.schema.name };
    if (seats === 0 || ((level.queues?.length ?? 0) === 0 && this.#hasSeats(level, seats))) {
      this.#options.observer?.dispatched(name, 0, exchange);
      return this.#seat(level, seats);
    }
    return this.#wait({ exchange, level, seats, name, schema: found.schema, flow: found.flow });
  }

  #wait({
    exchange,
    level,
    seats,
    name,
    schema,
    flow,
  }: {
    exchange: Exchange;
    level: Level;
    seats: number;
    name: FlowName;
    schema: FlowSchema;
    flow: string;
  }): Admitted | Promise<Admitted> {
    const { clock, maxWaitMs, observer } = this.#options;
    const reject = (reason: RejectReason): Admitted => {
      observer?.rejected(name, reason);
      return { admitted: false, retryAfterSeconds: 1 };
    };
    if (level.queues === undefined) return reject('concurrency-limit');
    const waiting = Promise.withResolvers<Admitted>();
    const beganMs = clock.monotonicMs();
    const remove = level.queues.add(`${schema.name}/${flow}`, {
      seats,
      start: () => {
        timer.cancel();
        observer?.dispatched(name, clock.monotonicMs() - beganMs, exchange);
        waiting.resolve(this.#seat(level, seats));
      },
    });
    if (remove === undefined) return reject('queue-full');
    const timer = clock.setTimer(maxWaitMs, () => {
      if (remove()) waiting.resolve(reject('time-out'));
    });
    // The client has disconnected and waits for no response.
    exchange.http.onFinished(() => {
      if (!remove()) return;
      timer.cancel();
      waiting.resolve({ admitted: false, retryAfterSeconds: 1 });
    });
    return waiting.promise;
  }

  #seat(level: Level, seats: number): Admitted {
    level.seatsInUse += seats;
    level.executing++;
    this.#seatsInUse += seats;
    let isHeld = true;
    return {
      admitted: true,
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        level.seatsInUse -= seats;
        level.executing--;
        this.#seatsInUse -= seats;
        this.#startWaiting();
      },
    };
  }

  #startWaiting(): void {
    for (const level of this.#leaving)
      if (level.executing === 0 && (level.queues?.length ?? 0) === 0) this.#leaving.delete(level);
    for (const level of [...this.#leaving, ...this.#levels.values()]) {
      if (level.queues === undefined) continue;
      for (
        let next = level.queues.peek();
        next !== undefined && this.#hasSeats(level, next.seats);
        next = level.queues.peek()
      )
        level.queues.take()?.start();
    }
  }

  #hasSeats(level: Level, seats: number): boolean {
    const wanted = level.seatsInUse + seats;
    if (wanted <= level.nominalSeats || level.seatsInUse === 0) return true;
    if (this.#seatsInUse + seats > this.#options.seats) return false;
    let borrowable = 0;
    for (const other of this.#levels.values())
      if (other !== level)
        borrowable += Math.max(0, Math.min(other.lendableSeats, other.nominalSeats - other.seatsInUse));
    const { borrowingPercent } = level.config;
    const mostBorrowed =
      borrowingPercent === undefined ? borrowable : Math.round((level.nominalSeats * borrowingPercent) / 100);
    return wanted <= level.nominalSeats + Math.min(borrowable, mostBorrowed);
  }

  #seatsOf(info: RequestInfo, level: Level): number {
    if (info.verb !== 'list' || this.#options.countObjects === undefined) return 1;
    return Math.max(
      1,
      Math.min(Math.ceil(this.#options.countObjects(info) / OBJECTS_PER_SEAT), MOST_SEATS, level.nominalSeats),
    );
  }
}
