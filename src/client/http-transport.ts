import { Buffer } from 'node:buffer';
import { StringDecoder } from 'node:string_decoder';
import { ApiStatusError } from '../api/status/api-status-error.ts';
import { sleep, systemClock, withDeadline } from '../base/clock.ts';
import { errorMessage } from '../base/errors.ts';
import { LineSplitter } from '../base/line-splitter.ts';
import { parseJsonQuietly } from '../base/quiet-parse.ts';
import { jitter, systemRandom } from '../base/random.ts';
import type { Random } from '../base/random.ts';
import { startIdleTimer } from '../base/idle-timer.ts';
import type { Tracer } from '../base/tracer.ts';
import type { ReturnListener } from '../api/client/api-client.ts';
import type { ClientProblem, ObserveClient } from '../api/client/client-observations.ts';
import { fixedAccess, isAccessSource } from './cluster-access.ts';
import type { AccessSource, ClusterAccess } from './cluster-access.ts';
import { ConnectionFailure } from './connection.ts';
import type { Answer, Connections, Outgoing } from './connection.ts';
import { sameTarget } from './dial.ts';
import { NegotiatedConnections } from './negotiated-connections.ts';
import type { ConnectionOptions } from './negotiated-connections.ts';
import { openGate } from './request-budget.ts';
import type { RequestGate } from './request-budget.ts';
import { refusal } from './refusal.ts';
import { requestHeaders } from './request-headers.ts';
import { beginRequestSpan } from './request-span.ts';
import { afterAnswer, isRefusalOfAll, isSentAgain, parseRetryAfterMs } from './retry-rules.ts';

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With its query. */
  readonly path: string;
  readonly body?: object;
  readonly contentType?: string;
}

/** The transport of API clients: access to the server within certain limits. */
export interface ApiTransport {
  /** Resolves with the response's value; rejects with `ApiStatusError`. */
  send(request: ApiRequest): Promise<unknown>;
  /** The values of a watch, one a line, until the server ends it. Rejects when `signal` aborts. */
  stream(path: string, signal: AbortSignal, onOpen?: () => void): AsyncGenerator<unknown>;
  /**
   * Calls `listener` when the server answers after an outage of seconds, or when the access changes. Returns a function
   * that unsubscribes.
   */
  onReturn(listener: ReturnListener): () => void;
}

/** Limits for a group of requests. */
export interface RequestTerms {
  /** The rate limiter of these requests. */
  readonly gate: RequestGate;
  /** In milliseconds, from when the rate limiter admits the request, including retries; watches: until they begin. */
  readonly limitMs: number;
}

export interface HttpTransportOptions extends Partial<ConnectionOptions> {
  readonly userAgent: string;
  readonly random?: Random;
  /** The total timeout of a request other than a watch. API servers time out after a minute themselves. */
  readonly requestLimitMs?: number;
  /** A watch without data for this time is considered dead: servers send bookmarks every minute. */
  readonly watchIdleMs?: number;
  /** The longest accepted response. */
  readonly maxBodyBytes?: number;
  /** The longest line of a watch. */
  readonly maxLineBytes?: number;
  /** An interruption of at least this length is an outage; listeners are notified of its end. */
  readonly outageMs?: number;
  /** Traces every attempt, and propagates the trace to the server. */
  readonly tracer?: Tracer | undefined;
}

const defaults = {
  clock: systemClock,
  random: systemRandom,
  dialLimitMs: 30_000,
  // Faster than client-go (30 s and 15 s), so that a silently broken connection is detected before the node is
  // considered lost.
  readIdleMs: 10_000,
  pingTimeoutMs: 10_000,
  maxSockets: 16,
  http1Only: false,
  requestLimitMs: 60_000,
  watchIdleMs: 180_000,
  maxBodyBytes: 128 * 1024 * 1024,
  // As client-go's.
  maxLineBytes: 16 * 1024 * 1024,
  outageMs: 5_000,
} satisfies Partial<HttpTransportOptions>;

interface Opened {
  readonly answer: Answer;
  /** Tells the observer of the end. */
  done(responseBytes: number): void;
}

/**
 * JSON over HTTP/2 or HTTP/1.1 with connections that stay open. Every failure is an `ApiStatusError`. Its reason is
 * ServiceUnavailable if the server cannot be reached, does not respond, ends a response early or responds with invalid
 * JSON, or if the credentials cannot be used. 1. Each request first gets the current access. If the server, the
 * authorities or the client certificate changed, new connections are made, watches on the old ones end at once, and
 * other requests in flight may finish. 2. After 401, a request is retried once if fetching credentials again returns
 * others. 3. 429 and 5xx with Retry-After are retried after that time, up to ten times, within the timeout of the
 * request; for watches the caller retries.
 * 4. Closing does not wait: requests in flight fail at once.
 * 5. Redirects are not followed. Responses are not compressed: a node's requests are small, and processor time costs
 * more than a local network.
 */
export class HttpTransport implements ApiTransport {
  readonly #source: AccessSource;
  readonly #options: Required<Omit<HttpTransportOptions, 'tracer'>> & Pick<HttpTransportOptions, 'tracer'>;
  readonly #observers = new Set<ObserveClient>();
  readonly #returnListeners = new Set<ReturnListener>();
  readonly #endOfSource: () => void;
  #access: ClusterAccess | undefined;
  #connections: Connections | undefined;
  #problem: (ClientProblem & { readonly atMs: number }) | undefined;
  /** Since when all requests were refused; undefined while any succeeds. */
  #refusedAtMs: number | undefined;
  readonly #closed = new AbortController();

  constructor(access: ClusterAccess | AccessSource, options: HttpTransportOptions) {
    this.#source = isAccessSource(access) ? access : fixedAccess(access);
    this.#options = { ...defaults, ...options };
    // An access that is invalid, or arrives after `close`, fails the next request.
    this.#endOfSource = this.#source.onChange(
      () =>
        void this.#source
          .current()
          .then((now) => this.#accessChanged(now))
          .catch(() => undefined),
    );
  }

  close(): void {
    this.#closed.abort(new ConnectionFailure('the client was closed'));
    this.#endOfSource();
    this.#connections?.close();
  }

  /** Closes all connections; the next requests dial again (upstream does so when heartbeats fail). */
  reconnect(): void {
    this.#connections?.retire();
    this.#connections = undefined;
    this.#access = undefined;
  }

  /** Returns what ends it. */
  observe(observer: ObserveClient): () => void {
    this.#observers.add(observer);
    return () => void this.#observers.delete(observer);
  }

  onReturn(listener: ReturnListener): () => void {
    this.#returnListeners.add(listener);
    return () => void this.#returnListeners.delete(listener);
  }

  /** Undefined if the last request got any response. */
  problem(): ClientProblem | undefined {
    return this.#problem;
  }

  /** A transport with the same connections and other limits. */
  withTerms(terms: Partial<RequestTerms>): ApiTransport {
    return {
      send: (request) => this.send(request, terms),
      stream: (path, signal, onOpen) => this.stream(path, signal, onOpen, terms),
      onReturn: (listener) => this.onReturn(listener),
    };
  }

  async send(
    request: ApiRequest,
    { gate = openGate, limitMs = this.#options.requestLimitMs }: Partial<RequestTerms> = {},
  ): Promise<unknown> {
    await this.#admit(request, gate, this.#closed.signal).catch((error: unknown) => {
      throw this.#failure(request, error);
    });
    const text = await this.#within(request, limitMs, (signal, endMs) =>
      this.#exchange(request, { gate, signal, endMs }),
    );
    return text === '' ? undefined : this.#parse(request, text);
  }

  async *stream(
    path: string,
    signal: AbortSignal,
    onOpen?: () => void,
    { gate = openGate, limitMs = this.#options.requestLimitMs }: Partial<RequestTerms> = {},
  ): AsyncGenerator<unknown> {
    const request = { method: 'GET', path } as const;
    const controller = new AbortController();
    const abort = (): void => controller.abort(signal.reason);
    const close = (): void => controller.abort(this.#closed.signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    this.#closed.signal.addEventListener('abort', close, { once: true });
    const { clock, watchIdleMs } = this.#options;
    try {
      await this.#admit(request, gate, controller.signal);
      const { answer, done } = await this.#within(request, limitMs, (late) => {
        late.addEventListener('abort', () => controller.abort(new Error(`no answer for ${limitMs / 1000} s`)), {
          once: true,
        });
        return this.#openWatch(request, controller.signal);
      });
      done(0);
      onOpen?.();
      const idleTimer = startIdleTimer(clock, watchIdleMs, () =>
        controller.abort(new Error(`nothing came for ${watchIdleMs / 1000} s`)),
      );
      try {
        yield* this.#lines(request, answer, idleTimer.heard);
      } finally {
        idleTimer.cancel();
      }
    } catch (error) {
      // A caller that aborts is not an error.
      if (signal.aborted) throw error;
      throw this.#failure(request, error);
    } finally {
      signal.removeEventListener('abort', abort);
      this.#closed.signal.removeEventListener('abort', close);
      controller.abort(new Error('the reader is gone'));
    }
  }

  async *#lines(request: ApiRequest, { body, wasCut }: Answer, heard: () => void): AsyncGenerator<unknown> {
    const decoder = new StringDecoder('utf8');
    const lines = new LineSplitter();
    for await (const chunk of body as AsyncIterable<Buffer>) {
      heard();
      const whole = lines.push(decoder.write(chunk));
      if (lines.heldLength > this.#options.maxLineBytes)
        throw new Error(`a line of more than ${this.#options.maxLineBytes} bytes`);
      for (const line of whole) if (line !== '') yield this.#parse(request, line);
    }
    // An incomplete line is half an event: the watcher continues after the last complete one.
    if (wasCut()) throw new Error('the connection was closed');
  }

  async #exchange(
    request: ApiRequest,
    given: { readonly gate: RequestGate; readonly signal: AbortSignal; readonly endMs: number },
  ): Promise<string> {
    const { clock, random } = this.#options;
    let [retries, signedInAgain] = [0, false];
    let access = await this.#source.current();
    for (;;) {
      const { answer, done } = await this.#open(request, access, { ...given, lasting: false, isRetry: retries > 0 });
      const text = await this.#textOf(answer);
      done(Buffer.byteLength(text));
      if (answer.status < 300) return text;
      const retryAfterMs = parseRetryAfterMs(answer.headers['retry-after']);
      const next = afterAnswer(answer.status, retryAfterMs, { retries, signedInAgain });
      const refused = refusal(answer.status, text, retryAfterMs);
      if (next.kind === 'done') throw refused;
      if (next.kind === 'sign-in') {
        signedInAgain = true;
        const before = access;
        access = await this.#source.renew(access);
        if (access === before) throw refused;
      } else {
        // Random, so that refused clients do not all retry at the same moment.
        const waitMs = jitter(random, next.waitMs, 0.2);
        if (clock.monotonicMs() + waitMs >= given.endMs) throw refused;
        retries++;
        await sleep(clock, waitMs, given.signal);
        access = await this.#source.current();
      }
      await this.#admit(request, given.gate, given.signal);
    }
  }

  async #openWatch(request: ApiRequest, signal: AbortSignal): Promise<Opened> {
    let access = await this.#source.current();
    for (let signedInAgain = false; ; signedInAgain = true) {
      const opened = await this.#open(request, access, { signal, lasting: true, isRetry: signedInAgain });
      const { status, headers } = opened.answer;
      if (status < 300) return opened;
      const text = await this.#textOf(opened.answer);
      opened.done(Buffer.byteLength(text));
      const before = access;
      if (status === 401 && !signedInAgain) access = await this.#source.renew(before);
      if (access === before) throw refusal(status, text, parseRetryAfterMs(headers['retry-after']));
    }
  }

  /** One attempt, and a second one at once if a reused connection turned out to be closed. */
  async #open(
    request: ApiRequest,
    access: ClusterAccess,
    {
      signal,
      lasting,
      isRetry,
    }: { readonly signal: AbortSignal; readonly lasting: boolean; readonly isRetry: boolean },
  ): Promise<Opened> {
    const { clock, userAgent } = this.#options;
    const { host, pathname } = new URL(access.server);
    const { tracer } = this.#options;
    const body = request.body === undefined ? undefined : JSON.stringify(request.body);
    const outgoing: Outgoing = {
      method: request.method,
      path: pathname.replace(/\/$/, '') + request.path,
      headers: requestHeaders(access, { userAgent, contentType: request.contentType, body }),
      ...(body !== undefined && { body }),
    };
    const requestBytes = body === undefined ? 0 : Buffer.byteLength(body);
    for (let again = false; ; again = true) {
      const startMs = clock.monotonicMs();
      const span = tracer && beginRequestSpan(tracer, access.server, outgoing);
      const report = (code: string, responseBytes: number): void => {
        for (const observer of this.#observers)
          observer({
            kind: 'attempt',
            method: request.method,
            host,
            code,
            durationMs: clock.monotonicMs() - startMs,
            requestBytes,
            responseBytes,
            isRetry: isRetry || again,
            isWatch: lasting,
          });
      };
      try {
        const headers = { ...outgoing.headers, ...span?.headers() };
        const answer = await this.#connectionsTo(access).open({ ...outgoing, headers }, signal, lasting);
        this.#answered(answer.status);
        span?.answered(answer.status);
        return { answer, done: (responseBytes) => report(String(answer.status), responseBytes) };
      } catch (error) {
        report('<error>', 0);
        span?.failed(error);
        if (again || !(error instanceof ConnectionFailure) || !isSentAgain(request.method, error)) throw error;
      }
    }
  }

  #answered(status: number): void {
    const nowMs = this.#options.clock.monotonicMs();
    const awayAtMs = this.#problem?.atMs;
    this.#problem = undefined;
    if (isRefusalOfAll(status)) {
      this.#refusedAtMs ??= awayAtMs ?? nowMs;
      return;
    }
    const sinceMs = this.#refusedAtMs ?? awayAtMs;
    this.#refusedAtMs = undefined;
    // A server that answers only occasionally must not get more requests.
    if (sinceMs === undefined || nowMs - sinceMs < this.#options.outageMs) return;
    for (const listener of [...this.#returnListeners]) listener('answers');
  }

  /** Callers that failed before may succeed now: a node has just joined, or a credential was replaced. */
  #accessChanged(now: ClusterAccess): void {
    this.#connectionsTo(now);
    for (const listener of [...this.#returnListeners]) listener('admitted');
  }

  #connectionsTo(access: ClusterAccess): Connections {
    this.#closed.signal.throwIfAborted();
    if (
      this.#connections !== undefined &&
      (access === this.#access || (this.#access !== undefined && sameTarget(access, this.#access)))
    )
      return this.#connections;
    this.#connections?.retire();
    this.#access = access;
    return (this.#connections = new NegotiatedConnections(access, this.#options));
  }

  async #admit({ method }: ApiRequest, gate: RequestGate, signal: AbortSignal): Promise<void> {
    const waitedMs = await gate.admit(signal);
    const host = this.#access === undefined ? '' : new URL(this.#access.server).host;
    for (const observer of this.#observers) observer({ kind: 'admitted', method, host, waitedMs });
  }

  /** Runs work that must fail only with an `ApiStatusError`, within the timeout. */
  async #within<T>(
    request: ApiRequest,
    limitMs: number,
    work: (signal: AbortSignal, endMs: number) => Promise<T>,
  ): Promise<T> {
    const { clock } = this.#options;
    const endMs = clock.monotonicMs() + limitMs;
    try {
      return await withDeadline(
        { clock, limitMs, op: `${request.method} ${request.path}`, signal: this.#closed.signal },
        (signal) => work(signal, endMs),
      );
    } catch (error) {
      throw this.#failure(request, error);
    }
  }

  async #textOf({ body, wasCut }: Answer): Promise<string> {
    const { maxBodyBytes } = this.#options;
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBodyBytes) throw new Error(`an answer of more than ${maxBodyBytes} bytes`);
      chunks.push(chunk);
    }
    if (wasCut()) throw new Error('the connection was closed');
    return Buffer.concat(chunks).toString('utf8');
  }

  #parse(request: ApiRequest, text: string): unknown {
    try {
      return parseJsonQuietly(text);
    } catch (error) {
      throw this.#failure(request, error);
    }
  }

  /** An `ApiStatusError` is kept; any other error means that the server cannot be reached. */
  #failure({ method, path }: ApiRequest, error: unknown): ApiStatusError {
    if (error instanceof ApiStatusError) return error;
    const cause: unknown = this.#closed.signal.aborted ? this.#closed.signal.reason : error;
    const server = this.#access?.server ?? '';
    const failure = new ApiStatusError(
      'ServiceUnavailable',
      `${method} ${server}${path}: ${errorMessage(cause)}`,
      undefined,
      { cause },
    );
    const { clock } = this.#options;
    const { sinceMs, atMs } = this.#problem ?? { sinceMs: clock.nowMs(), atMs: clock.monotonicMs() };
    this.#problem = { sinceMs, atMs, message: errorMessage(cause) };
    return failure;
  }
}
