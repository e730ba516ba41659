import { constants } from 'node:http2';
import type { Http2Session } from 'node:http2';
import type { Clock } from '../../../base/clock.ts';
import type { NodeResponse } from './node-request.ts';

/** What was handed to each response and has not left for the connection. */
const unsent = new WeakMap<NodeResponse, number>();

/** Writes, and counts until the bytes have left. */
export function writeCounted(response: NodeResponse, chunk: string | Uint8Array): boolean {
  const bytes = typeof chunk === 'string' ? Buffer.byteLength(chunk) : chunk.length;
  unsent.set(response, unsentBytes(response) + bytes);
  // Of a stream that was reset, Node says that all was written.
  const done = (error?: Error | null): void => {
    if ((error === undefined || error === null) && !isOver(response))
      unsent.set(response, unsentBytes(response) - bytes);
  };
  return (response as { write(chunk: string | Uint8Array, done: (error?: Error | null) => void): boolean }).write(
    chunk,
    done,
  );
}

const isOver = (response: NodeResponse): boolean => 'stream' in response && response.stream.destroyed;

export const unsentBytes = (response: NodeResponse): number => unsent.get(response) ?? 0;

/**
 * How long a client that was asked to leave may still begin streams; those that cross the request on their way are
 * served.
 */
const NOTICE_MS = 1000;
const ANY_STREAM = 2 ** 31 - 1;

/**
 * Node counts what a stream has to send against its session's `maxSessionMemory`, and never takes it off when the
 * stream is reset before it is out: the memory is free, the count is not. A session whose count has reached its limit
 * refuses each new stream with ENHANCE_YOUR_CALM for as long as it lasts. So a client that has lost this much is asked
 * before that to go on over another connection (GOAWAY without an error), and what runs on this one finishes.
 */
export class LostBytes {
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #sessions = new WeakMap<Http2Session, { bytes: number; isLeaving: boolean }>();

  constructor(clock: Clock, limit: number) {
    this.#clock = clock;
    this.#limit = limit;
  }

  /** A stream of the session has ended with this much unsent. */
  add(session: Http2Session, bytes: number): void {
    if (bytes === 0) return;
    let state = this.#sessions.get(session);
    if (state === undefined) this.#sessions.set(session, (state = { bytes: 0, isLeaving: false }));
    state.bytes += bytes;
    if (state.bytes < this.#limit || state.isLeaving || session.closed || session.destroyed) return;
    state.isLeaving = true;
    session.goaway(constants.NGHTTP2_NO_ERROR, ANY_STREAM);
    const timer = this.#clock.setTimer(NOTICE_MS, () => session.close());
    session.once('close', () => timer.cancel());
  }
}
