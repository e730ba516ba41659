import { dealHand } from './classify-flow.ts';

/** A request that waits for seats. */
export interface Waiting {
  readonly seats: number;
  readonly start: () => void;
}

interface Queue {
  readonly waiting: Waiting[];
  /** The virtual start time of its next request. It grows with the seats that the queue has used. */
  virtualStart: number;
}

/**
 * The queues of one priority level, served in the order of their virtual start times (start-time fair queuing). So a
 * flow with a thousand requests delays itself and not others. Invariants:
 * 1. A queue is not longer than the limit.
 * 2. The waiting queue that has used the least is next.
 * 3. Idle time earns no credit.
 */
export class FairQueues {
  readonly #queues: readonly Queue[];
  readonly #handSize: number;
  readonly #queueLength: number;
  #virtualNow = 0;
  #length = 0;

  constructor({
    queues,
    handSize,
    queueLength,
  }: { readonly queues: number; readonly handSize: number; readonly queueLength: number }) {
    this.#queues = Array.from({ length: queues }, () => ({ waiting: [], virtualStart: 0 }));
    this.#handSize = handSize;
    this.#queueLength = queueLength;
  }

  get length(): number {
    return this.#length;
  }

  /**
   * Adds the request to the shortest of the flow's queues. Returns undefined if that one is full. The returned function
   * removes the request, and returns whether it was still queued.
   */
  add(flow: string, request: Waiting): (() => boolean) | undefined {
    const hand = dealHand(flow, this.#queues.length, this.#handSize)
      .map((card) => this.#queues[card])
      .filter((queue) => queue !== undefined);
    const shortest = hand.reduce((best, queue) => (queue.waiting.length < best.waiting.length ? queue : best));
    if (shortest.waiting.length >= this.#queueLength) return undefined;
    if (shortest.waiting.length === 0) shortest.virtualStart = Math.max(shortest.virtualStart, this.#virtualNow);
    shortest.waiting.push(request);
    this.#length++;
    return () => {
      const at = shortest.waiting.indexOf(request);
      if (at < 0) return false;
      shortest.waiting.splice(at, 1);
      this.#length--;
      return true;
    };
  }

  /** Returns the next request, without removing it. */
  peek(): Waiting | undefined {
    return this.#next()?.waiting[0];
  }

  take(): Waiting | undefined {
    const queue = this.#next();
    const request = queue?.waiting.shift();
    if (queue === undefined || request === undefined) return undefined;
    this.#length--;
    this.#virtualNow = queue.virtualStart;
    queue.virtualStart += request.seats;
    return request;
  }

  #next(): Queue | undefined {
    if (this.#length === 0) return undefined;
    let best: Queue | undefined;
    for (const queue of this.#queues)
      if (queue.waiting.length > 0 && (best === undefined || queue.virtualStart < best.virtualStart)) best = queue;
    return best;
  }
}
