import { constants } from 'node:http2';
import type { Http2Session, ServerHttp2Stream } from 'node:http2';

/** So many refusals, in times of what may be worked on, and the connection ends (as Go's server does it). */
const PATIENCE = 4;

/**
 * What is being worked on for each HTTP/2 connection, streams that are gone included: the protocol counts only those
 * that are open, so a client that resets its streams at once would have any amount of work begun (CVE-2023-44487).
 */
export class SessionWork {
  readonly #limit: number;
  readonly #sessions = new WeakMap<Http2Session, { running: number; refused: number }>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * Refuses the stream when there is too much already, and after too many of those ends the connection. `end` is called
   * when the work is done.
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
        // Who lets work be finished is no flood.
        if (own.running === 0) own.refused = 0;
      },
    };
  }
}
