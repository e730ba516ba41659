import { connect, constants } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import type { Socket } from 'node:net';
import type { Clock, Timer } from '../base/clock.ts';
import { errorMessage } from '../base/errors.ts';
import { ConnectionFailure, untilAbortedWithReason } from './connection.ts';
import type { Answer, Connections, Outgoing } from './connection.ts';

export interface Http2Options {
  readonly clock: Clock;
  dial(): Promise<Socket>;
  /** `host:port`. */
  readonly authority: string;
  /** After this time without data, a ping is sent (upstream: HTTP2_READ_IDLE_TIMEOUT_SECONDS, 30 s). */
  readonly readIdleMs: number;
  /** The timeout of the ping (upstream: HTTP2_PING_TIMEOUT_SECONDS, 15 s). */
  readonly pingTimeoutMs: number;
}

/** The receive window of a stream and of the connection: enough for a whole list. */
const STREAM_WINDOW_BYTES = 1024 * 1024;
const SESSION_WINDOW_BYTES = 4 * 1024 * 1024;
/**
 * The memory limit of the session in MB for all streams; above it Node refuses new streams. Node's default, 10, is too
 * small for large objects.
 */
const SESSION_MEMORY_MEGABYTES = 64;
/** Used until the server sends its limit; 100 is the limit of Kubernetes' API server. */
const STREAMS_BEFORE_SETTINGS = 100;
/** The number of checks for data during the idle time. */
const CHECKS = 6;

/**
 * HTTP/2: all requests and watches share one connection, another one is opened when it is full. 1. A request that needs
 * a connection while one is being dialed waits for it. 2. If a ping is not answered, all streams of the connection fail
 * at once; the next request dials again. 3. After GOAWAY a connection gets no new streams, and closes after its last
 * one.
 */
export class Http2Connections implements Connections {
  readonly #options: Http2Options;
  readonly #sessions = new Set<LiveSession>();
  readonly #onEmpty: () => void;
  #dialing: Promise<void> | undefined;
  #retired = false;

  /** `onEmpty` is called when no connection is left: the server may support another protocol by now. */
  constructor(options: Http2Options, first: Socket, onEmpty: () => void) {
    this.#options = options;
    this.#onEmpty = onEmpty;
    this.#add(first);
  }

  async open(outgoing: Outgoing, signal: AbortSignal, lasting: boolean): Promise<Answer> {
    for (;;) {
      if (this.#retired) throw new ConnectionFailure('the connection was replaced by another one', { unsent: true });
      const session = [...this.#sessions].find((each) => each.hasRoom());
      if (session !== undefined) return session.open(outgoing, signal, lasting);
      await untilAbortedWithReason((this.#dialing ??= this.#dial()), signal);
    }
  }

  retire(): void {
    this.#retired = true;
    for (const session of this.#sessions) session.retire();
  }

  close(): void {
    this.#retired = true;
    for (const session of this.#sessions) session.destroy(new Error('the client was closed'));
  }

  async #dial(): Promise<void> {
    try {
      const socket = await this.#options.dial();
      if (this.#retired) socket.destroy();
      else this.#add(socket);
    } finally {
      this.#dialing = undefined;
    }
  }

  #add(socket: Socket): void {
    const session = new LiveSession(this.#options, socket);
    this.#sessions.add(session);
    session.onClosing(() => {
      this.#sessions.delete(session);
      if (this.#sessions.size === 0) this.#onEmpty();
    });
  }
}

class LiveSession {
  readonly #session: ClientHttp2Session;
  readonly #options: Http2Options;
  readonly #lasting = new Set<ClientHttp2Stream>();
  #streams = 0;
  #served = 0;
  readonly #socket: Socket;
  #heard: { readonly bytes: number; readonly atMs: number };
  #timer: Timer;
  #isPinging = false;
  /** The last stream that the server has processed. */
  #lastStreamId = Infinity;

  constructor(options: Http2Options, socket: Socket) {
    this.#options = options;
    this.#session = connect(`https://${options.authority}`, {
      createConnection: () => socket,
      maxSessionMemory: SESSION_MEMORY_MEGABYTES,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES },
    });
    this.#session.setLocalWindowSize(SESSION_WINDOW_BYTES);
    this.#session.on('error', () => undefined);
    this.#session.on('goaway', (_code, lastStreamId) => {
      this.#lastStreamId = lastStreamId;
    });
    this.#socket = socket;
    this.#heard = { bytes: socket.bytesRead, atMs: options.clock.monotonicMs() };
    this.#timer = options.clock.setTimer(options.readIdleMs / CHECKS, () => this.#checkIdle());
    this.#session.on('close', () => this.#timer.cancel());
  }

  onClosing(listener: () => void): void {
    this.#session.on('goaway', listener);
    this.#session.on('close', listener);
  }

  hasRoom(): boolean {
    if (this.#session.closed || this.#session.destroyed) return false;
    const limit = this.#session.remoteSettings?.maxConcurrentStreams ?? STREAMS_BEFORE_SETTINGS;
    return this.#streams < Math.min(limit, 0xffff_ffff);
  }

  open(outgoing: Outgoing, signal: AbortSignal, lasting: boolean): Promise<Answer> {
    const { method, path, headers, body } = outgoing;
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error);
      const reused = this.#served++ > 0;
      const stream = this.#session.request(
        { ':method': method, ':path': path, ...headers } as Record<string, string | string[]>,
        { endStream: body === undefined },
      );
      let answered = false;
      const abort = (): void => {
        cancel(stream, signal.reason as Error);
        // A request that timed out may be the first sign of a dead connection.
        if (!answered && !lasting) this.#suspect();
      };
      signal.addEventListener('abort', abort, { once: true });
      this.#streams++;
      if (lasting) this.#lasting.add(stream);
      const wasCut = (): boolean => stream.rstCode !== constants.NGHTTP2_NO_ERROR;
      stream.on('response', (answer) => {
        answered = true;
        resolve({ status: answer[':status'] ?? 500, headers: answer as IncomingHttpHeaders, body: stream, wasCut });
      });
      stream.on('error', (error) => reject(signal.aborted ? error : this.#failure(stream, error, reused)));
      stream.on('close', () => {
        signal.removeEventListener('abort', abort);
        this.#streams--;
        this.#lasting.delete(stream);
        // Cut off without an error: the connection was lost.
        reject(this.#failure(stream, new Error('the connection was closed'), reused));
      });
      if (body !== undefined) stream.end(body);
    });
  }

  retire(): void {
    for (const stream of this.#lasting)
      cancel(stream, new ConnectionFailure('the connection was replaced by another one'));
    this.#session.close();
  }

  destroy(error: Error): void {
    this.#session.destroy(error);
  }

  #failure(stream: ClientHttp2Stream, error: unknown, reused: boolean): ConnectionFailure {
    if (error instanceof ConnectionFailure) return error;
    const unsent =
      stream.rstCode === constants.NGHTTP2_REFUSED_STREAM ||
      (stream.id ?? Infinity) > this.#lastStreamId ||
      stream.id === undefined;
    return new ConnectionFailure(errorMessage(error), { unsent, reused, cause: error });
  }

  /** Checks periodically whether data arrived; this costs less than recording every event. */
  #checkIdle(): void {
    // The session emits its end in a later turn; until then this timer may still fire.
    if (this.#session.destroyed) return;
    const { clock, readIdleMs } = this.#options;
    const bytes = this.#socket.bytesRead;
    const nowMs = clock.monotonicMs();
    if (bytes !== this.#heard.bytes) this.#heard = { bytes, atMs: nowMs };
    if (nowMs - this.#heard.atMs >= readIdleMs) this.#ping();
    else this.#timer = clock.setTimer(readIdleMs / CHECKS, () => this.#checkIdle());
  }

  #suspect(): void {
    if (this.#isPinging || this.#session.destroyed) return;
    this.#timer.cancel();
    this.#ping();
  }

  #ping(): void {
    const { clock, pingTimeoutMs } = this.#options;
    this.#isPinging = true;
    this.#timer = clock.setTimer(pingTimeoutMs, () =>
      this.#session.destroy(new Error(`the server has not answered a ping for ${pingTimeoutMs / 1000} s`)),
    );
    const sent = this.#session.ping((error) => {
      this.#timer.cancel();
      this.#isPinging = false;
      if (error === null) this.#checkIdle();
    });
    if (!sent) this.#session.destroy(new Error('a ping could not be sent'));
  }
}

function cancel(stream: ClientHttp2Stream, reason: Error): void {
  stream.close(constants.NGHTTP2_CANCEL);
  stream.destroy(reason);
}
