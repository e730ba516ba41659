import { constants } from 'node:http2';
import type { Http2Session } from 'node:http2';
import type { Clock } from '../../../base/clock.ts';
import type { NodeResponse } from './node-request.ts';

/** Bytes that were written to each response and not yet sent to the connection. */
const unsent = new WeakMap<NodeResponse, number>();

/** Writes, and counts the bytes until they have been sent. */
export function writeCounted(response: NodeResponse, chunk: string | Uint8Array): boolean {
  const bytes = typeof chunk === 'string' ? Buffer.byteLength(chunk) : chunk.length;
  unsent.set(response, unsentBytes(response) + bytes);
  // For a reset stream, Node reports that everything was written.
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

/** The time during which a client may still open streams after GOAWAY. Streams that cross it on the wire are served. */
const NOTICE_MS = 1000;
const ANY_STREAM = 2 ** 31 - 1;

/**
 * Counts the lost bytes of sessions. Node counts unsent bytes of a stream against its session's `maxSessionMemory`, and
 * does not subtract them when the stream is reset: the memory is freed, but the count stays. A session at its limit
 * rejects every new stream with ENHANCE_YOUR_CALM. Before that happens, the client is asked to open another connection
 * (GOAWAY without an error), and the streams on this one finish.
 */
export class LostBytes {
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #sessions = new WeakMap<Http2Session, { bytes: number; isLeaving: boolean }>();

  constructor(clock: Clock, limit: number) {
    this.#clock = clock;
    this.#limit = limit;
  }

  /** Records that a stream of the session has ended with this many unsent bytes. */
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
