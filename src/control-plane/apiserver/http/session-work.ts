import { constants } from 'node:http2';
import type { Http2Session, ServerHttp2Stream } from 'node:http2';

/**
 * The number of rejections after which the connection is closed, as a multiple of the allowed concurrent work (as in
 * Go's server).
 */
const PATIENCE = 4;

/**
 * Counts the work in progress of each HTTP/2 connection, including that of reset streams. The protocol counts only open
 * streams, so a client that resets its streams immediately could start an unlimited amount of work (CVE-2023-44487).
 */
export class SessionWork {
  readonly #limit: number;
  readonly #sessions = new WeakMap<Http2Session, { running: number; refused: number }>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * Starts the work of a stream. Rejects the stream if there is too much work already, and closes the connection after
   * too many rejections. `end` is called when the work is done.
   */
  begin(stream: ServerHttp2Stream): { end(): void } | 'refused' {
    const { session } = stream;
    if (session === undefined) return { end: () => undefined };
    let state = this.#sessions.get(session);
    if (state === undefined) this.#sessions.set(session, (state = { running: 0, refused: 0 }));
    if (state.running >= this.#limit) {
      stream.on('error', () => undefined);
      stream.close(constants.NGHTTP2_REFUSED_STREAM);
      if (++state.refused > PATIENCE * this.#limit) session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
      return 'refused';
    }
    const own = state;
    own.running++;
    return {
      end: () => {
        own.running--;
        // A client that lets its requests finish does not count as a flood.
        if (own.running === 0) own.refused = 0;
      },
    };
  }
}
