import type { Clock } from '../../../base/clock.ts';
import { createHash } from 'node:crypto';
import type { Exchange } from '../path/exchange.ts';
import { isLongRunning } from '../path/request-info.ts';
import type { RequestInfo } from '../path/request-info.ts';
import type { Admitted, RequestLimiter } from '../path/request-path.ts';
import { classifyFlow } from './classify-flow.ts';
import { FairQueues } from './fair-queues.ts';
import { flowSchemas, priorityLevels } from './flow-config.ts';
import type { FlowSchema, PriorityLevel } from './flow-config.ts';

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
  /** Seats of all levels together. */
  readonly seats: number;
  /** How long a request may wait. */
  readonly maxWaitMs: number;
  /** How many objects a list would read. */
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

/** What one level does just now, for the metrics. */
export interface LevelState {
  readonly name: string;
  readonly nominalSeats: number;
  readonly seatsInUse: number;
  readonly executing: number;
  readonly waiting: number;
}

/** Lists take a seat for every hundred objects they read, ten at most. */
const objectsPerSeat = 100;
const mostSeats = 10;

/**
 * Priority and fairness: each kind of client has seats of its own, waits in its own queues, and may borrow what others
 * do not use. Invariants: 1. a level within its own seats never waits for another level; 2. no level borrows while all
 * seats are taken; 3. every seat taken is given back once.
 */
export class FlowControl implements RequestLimiter {
  readonly #options: FlowControlOptions;
  readonly #levels = new Map<string, Level>();
  readonly #schemas = [...flowSchemas].sort((left, right) => left.precedence - right.precedence);
  readonly #uids = new Map<string, string>();
  #seatsInUse = 0;

  constructor(options: FlowControlOptions) {
    this.#options = options;
    const shares = priorityLevels.reduce((sum, level) => sum + level.shares, 0);
    for (const config of priorityLevels) {
      const nominalSeats = Math.ceil((options.seats * config.shares) / shares);
      const queues = typeof config.limit === 'object' ? new FairQueues(config.limit) : undefined;
      this.#levels.set(config.name, {
        config,
        nominalSeats,
        lendableSeats: Math.round((nominalSeats * config.lendablePercent) / 100),
        queues,
        seatsInUse: 0,
        executing: 0,
      });
    }
    for (const each of [
      ...flowSchemas.map(({ name }) => `flowschemas/${name}`),
      ...priorityLevels.map(({ name }) => `prioritylevelconfigurations/${name}`),
    ])
      this.#uids.set(each, stableUid(each));
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
    exchange.headers['x-kubernetes-pf-flowschema-uid'] = this.#uids.get(`flowschemas/${found.schema.name}`) ?? '';
    exchange.headers['x-kubernetes-pf-prioritylevel-uid'] =
      this.#uids.get(`prioritylevelconfigurations/${level.config.name}`) ?? '';
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
    // The client no longer waits for a response.
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
    for (const level of this.#levels.values()) {
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
    return wanted <= level.nominalSeats + borrowable;
  }

  #seatsOf(info: RequestInfo, level: Level): number {
    if (info.verb !== 'list' || this.#options.countObjects === undefined) return 1;
    return Math.max(
      1,
      Math.min(Math.ceil(this.#options.countObjects(info) / objectsPerSeat), mostSeats, level.nominalSeats),
    );
  }
}

/** The objects are not in the API, but their UIDs are the same each time. */
function stableUid(name: string): string {
  const hex = createHash('sha256').update(name).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
