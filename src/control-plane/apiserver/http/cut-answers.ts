import { constants } from 'node:http2';
import type { Http2Session, ServerHttp2Stream } from 'node:http2';
import type { Clock, Timer } from '../../../base/clock.ts';

/** The number of aborted responses of one connection after which the connection is closed. */
const PATIENCE = 10;
/** The time after which a closing connection is destroyed. */
const GRACE_MS = 5000;

interface SessionState {
  cuts: number;
  readonly streams: Set<ServerHttp2Stream>;
  timer: Timer | undefined;
}

/**
 * Aborts responses that are not read. The stream is reset and its connection stays open. If this happens too often, or
 * the peer does not read the reset either, the connection is closed, and destroyed after a moment.
 */
export class CutAnswers {
  readonly #clock: Clock;
  readonly #sessions = new WeakMap<Http2Session, SessionState>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  cut(stream: ServerHttp2Stream): void {
    const { session } = stream;
    stream.close(constants.NGHTTP2_CANCEL);
    if (session === undefined || session.destroyed) return;
    let state = this.#sessions.get(session);
    if (state === undefined) this.#sessions.set(session, (state = { cuts: 0, streams: new Set(), timer: undefined }));
    state.streams.add(stream);
    if (++state.cuts > PATIENCE && !session.closed) session.close();
    this.#lookLater(session, state);
  }

  #lookLater(session: Http2Session, state: SessionState): void {
    if (state.timer !== undefined) return;
    const timer = this.#clock.setTimer(GRACE_MS, () => {
      state.timer = undefined;
      const hangs = [...state.streams].some((stream) => !stream.destroyed);
      state.streams.clear();
      if (session.closed || hangs) session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
    });
    state.timer = timer;
    session.once('close', () => timer.cancel());
  }
}
