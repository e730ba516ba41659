import { STATUS_CODES } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { createSecureServer } from 'node:http2';
import type { Http2SecureServer, Http2Session } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { SecureContextOptions, TLSSocket } from 'node:tls';
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import { readNodeHead } from '../../../base/node-head.ts';
import type { RefusedHead } from '../../../base/request-head.ts';
import { ApiStatusError, badRequest } from '../../../api/status/api-status-error.ts';
import { Connections } from './connections.ts';
import { CutAnswers } from './cut-answers.ts';
import type { HttpRequest } from './http-request.ts';
import { NodeHttpRequest } from './node-request.ts';
import type { NodeRequest, NodeResponse } from './node-request.ts';
import { Pipelines } from './pipelines.ts';
import { statusOf, statusReply } from './reply.ts';
import type { BodyReply, Reply } from './reply.ts';
import { SessionWork } from './session-work.ts';
import { LostBytes, unsentBytes } from './unsent-bytes.ts';
import { refuseHead, writeBody, writeRaw, writeRawStream, writeStream } from './write-reply.ts';

export interface TlsOptions extends SecureContextOptions {
  /** The private key, as PEM. */
  readonly key: string;
  readonly cert: string;
  /** The additional certificates by name (`--tls-sni-cert-key`). */
  readonly sni?: readonly { readonly names: readonly string[]; readonly key: string; readonly cert: string }[];
  /**
   * The CAs of client certificates, as PEM. The handshake rejects no client, but certificates of other CAs are invalid
   * credentials. Without CAs, all client certificates are invalid.
   */
  readonly clientCa?: string;
}

export interface CertificatePair {
  readonly key: string;
  readonly cert: string;
  /** The new client CAs. If absent, they do not change. */
  readonly clientCa?: string;
}

export interface HttpServerOptions {
  readonly tls: TlsOptions;
  readonly serve: (http: HttpRequest) => Promise<Reply>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly maxConnections: number;
  readonly gzipFromBytes: number;
  /** The limit of unread bytes per connection. */
  readonly unreadBytesPerConnection: number;
}

/** The time limit for the head of a request, against clients that send single bytes. */
const HEADERS_TIMEOUT_MS = 32_000;
/** The time limit for a whole request. The request path also limits the time for the body. */
const REQUEST_TIMEOUT_MS = 60_000;
const IDLE_TIMEOUT_MS = 180_000;
const KEEP_ALIVE_PROBE_MS = 30_000;
const HANDSHAKE_TIMEOUT_MS = 10_000;
/** The limit of headers: Go's default of 1 MiB, reduced because Node stores them twice. */
const MAX_HEADER_BYTES = 256 * 1024;
/** The limit of streams, as in upstream's http2-max-streams-per-connection. */
const MAX_STREAMS = 100;
const MEBIBYTE = 1024 * 1024;
/**
 * The number of unsent bytes of reset streams on one HTTP/2 connection after which the client is asked to open another.
 */
const LOST_BYTES = 16 * MEBIBYTE;
/** The memory for heads of requests and frames, in addition to unread and lost bytes. */
const SESSION_BYTES = 64 * MEBIBYTE;
/** The time after which requests that are still in flight are aborted. */
const DRAIN_MS = 10_000;

/**
 * HTTP/1.1 and HTTP/2 over TLS on one port. Node's HTTP/2 server with `allowHTTP1` passes HTTP/1.1 connections to the
 * same code as `node:https`, at the same speed, so one server handles both.
 */
export class HttpServer {
  readonly #options: HttpServerOptions;
  readonly #server: Http2SecureServer;
  readonly #sessions = new Set<Http2Session>();
  readonly #sockets = new Set<TLSSocket>();
  readonly #connections: Connections;
  #clientCa: string | undefined;
  #state: 'open' | 'draining' | 'closed' = 'open';

  constructor(options: HttpServerOptions) {
    this.#options = options;
    this.#server = createServer(options);
    this.#clientCa = options.tls.clientCa;
    this.#cuts = new CutAnswers(options.clock);
    this.#lost = new LostBytes(options.clock, LOST_BYTES);
    this.#connections = new Connections(options.maxConnections);
    this.#server.on('request', (request: NodeRequest, response: NodeResponse) => this.#request(request, response));
    this.#server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) =>
      this.#upgrade(request, socket, head),
    );
    this.#server.on('connect', (request: NodeRequest, connection: Duplex | NodeResponse) =>
      refuseTunnel(request, connection),
    );
    this.#server.on('session', (session) => this.#session(session));
    this.#server.on('connection', (socket: Socket) => this.#connection(socket));
    this.#server.on('secureConnection', (socket: TLSSocket) => this.#secureConnection(socket));
    // No data may be written into the middle of a response.
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) =>
      this.#busy.has(socket) ? void socket.destroy() : refuseClient(error, socket),
    );
    // A failed handshake closes its socket. Scanners and health checks cause them often.
    this.#server.on('tlsClientError', () => undefined);
    this.#server.on('error', (error) => options.log.error('The server failed', { error: error.message }));
  }

  /** Starts to listen. Resolves to the address when the server accepts connections. */
  listen(host: string, port: number): Promise<AddressInfo> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host, port, backlog: 1024 }, () => {
        this.#server.off('error', reject);
        resolve(this.#server.address() as AddressInfo);
      });
    });
  }

  /** Sets new certificates for new connections. */
  setCertificate({ key, cert, clientCa = this.#clientCa }: CertificatePair): void {
    this.#clientCa = clientCa;
    this.#server.setSecureContext({ key, cert, ca: clientCa ?? [], minVersion: 'TLSv1.2' });
  }

  /** Accepts no more connections, waits for requests in flight, then aborts the rest. */
  close(): Promise<void> {
    this.#state = 'draining';
    return new Promise((resolve) => {
      const cut = this.#options.clock.setTimer(DRAIN_MS, () => {
        for (const socket of this.#sockets) socket.destroy();
      });
      this.#server.close(() => {
        this.#state = 'closed';
        cut.cancel();
        resolve();
      });
      for (const session of this.#sessions) session.close();
      // HTTP/2 sessions close when their streams have ended.
      for (const socket of this.#sockets) if (!this.#busy.has(socket) && socket.alpnProtocol !== 'h2') socket.destroy();
    });
  }

  readonly #work = new SessionWork(MAX_STREAMS);
  readonly #cuts: CutAnswers;
  readonly #lost: LostBytes;

  readonly #pipelines = new Pipelines();

  /** The HTTP/1.1 connections on which a request is in flight. */
  readonly #busy = new Set<Duplex>();

  /** Handles a new connection. It is counted before its handshake, which also uses resources. */
  #connection(socket: Socket): void {
    const { remoteAddress = '', remotePort = 0 } = socket;
    socket.on('close', () => this.#connections.remove(remoteAddress, remotePort));
    this.#connections.add(socket, remoteAddress, remotePort);
  }

  #secureConnection(socket: TLSSocket): void {
    if (this.#state !== 'open') return void socket.destroy();
    this.#sockets.add(socket);
    // Node does this for its own servers of HTTP/1.1 and for HTTP/2, but not for HTTP/1.1 on this port: answers in two
    // pieces would wait 40 ms for each other.
    socket.setNoDelay(true);
    // Also detects watchers whose machine disappeared.
    socket.setKeepAlive(true, KEEP_ALIVE_PROBE_MS);
    socket.on('close', () => {
      this.#sockets.delete(socket);
      this.#busy.delete(socket);
    });
    socket.on('error', () => socket.destroy());
  }

  #session(session: Http2Session): void {
    this.#sessions.add(session);
    session.on('close', () => this.#sessions.delete(session));
    session.on('error', () => session.destroy());
    session.setTimeout(IDLE_TIMEOUT_MS, () => session.close());
  }

  #request(request: NodeRequest, response: NodeResponse): void {
    request.on('error', () => undefined);
    if (!('stream' in request))
      return this.#pipelines.begin(request.socket, () => this.#requestOnSocket(request, response));
    const work = this.#work.begin(request.stream);
    if (work === 'refused') return;
    const reading = readNodeHead(request);
    if (reading.outcome === 'refused') {
      refuseHead(request, response, refusalOf(reading));
      return work.end();
    }
    const http = new NodeHttpRequest(request, reading.head, {
      clock: this.#options.clock,
      cut: () => this.#cuts.cut(request.stream),
    });
    this.#inFlight(http);
    const { session } = request.stream;
    response.on('close', () => {
      http.finish();
      if (session !== undefined) this.#lost.add(session, unsentBytes(response));
    });
    response.on('error', () => http.finish());
    void this.#answer(http, response).finally(() => work.end());
  }

  /**
   * Handles a request over HTTP/1.1. Requests that wait behind a rejected head are not started: the connection is
   * closed after the rejection.
   */
  #requestOnSocket(request: IncomingMessage, response: NodeResponse): void {
    const { socket } = request;
    const reading = readNodeHead(request);
    if (reading.outcome === 'refused') {
      refused.add(socket);
      return refuseHead(request, response, refusalOf(reading));
    }
    const http = new NodeHttpRequest(request, reading.head, {
      clock: this.#options.clock,
      cut: () => void socket.destroy(),
    });
    this.#busy.add(socket);
    this.#inFlight(http);
    response.on('close', () => {
      this.#busy.delete(socket);
      http.finish();
      if (this.#state !== 'open') socket.destroy();
      this.#pipelines.end(socket);
    });
    response.on('error', () => http.finish());
    void this.#answer(http, response);
  }

  #inFlight(http: NodeHttpRequest): void {
    const { remoteAddress, remotePort } = http.peer;
    const connection = this.#connections.find(remoteAddress, remotePort);
    if (connection === undefined) return;
    connection.inFlight++;
    http.onFinished(() => connection.inFlight--);
  }

  async #answer(http: NodeHttpRequest, response: NodeResponse): Promise<void> {
    try {
      const reply = await this.#options.serve(http);
      if (response.destroyed) return;
      if (reply.kind === 'stream') writeStream(http, response, reply);
      else if (reply.kind === 'body') await writeBody(http, response, this.#withClose(http, reply), this.#options);
      else response.destroy();
    } catch (error) {
      this.#options.log.error('Unable to write a response', {
        path: http.target.rawPath.slice(0, 512),
        error: error instanceof Error ? error.message : String(error),
      });
      response.destroy();
    }
  }

  #withClose<R extends Reply & { kind: 'body' }>(http: HttpRequest, reply: R): R {
    return this.#state === 'open' || http.protocol === 'HTTP/2.0'
      ? reply
      : { ...reply, headers: { ...reply.headers, connection: 'close' } };
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => socket.destroy());
    this.#pipelines.begin(socket, () => this.#upgraded(request, socket, head));
  }

  #upgraded(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const reading = readNodeHead(request);
    if (reading.outcome === 'refused')
      return writeRaw(socket, refusalOf(reading), STATUS_CODES[reading.status] ?? 'Unknown');
    // Node passes such a body as the first bytes of the new protocol.
    if (reading.head.body !== 0)
      return writeRaw(socket, statusReply(badRequest('a request for another protocol has no body')), 'Bad Request');
    const http = new NodeHttpRequest(
      request,
      reading.head,
      { clock: this.#options.clock, cut: () => void socket.destroy() },
      { socket, head },
    );
    socket.on('close', () => http.finish());
    this.#busy.add(socket);
    this.#inFlight(http);
    void this.#options
      .serve(http)
      .catch((error: unknown): Reply => statusReply(statusOf(error)))
      .then((reply) => {
        if (socket.destroyed) return;
        if (reply.kind === 'taken') reply.take(socket, head);
        else socket.once('finish', () => http.finish());
        if (reply.kind === 'body') writeRaw(socket, reply, STATUS_CODES[reply.status] ?? 'Unknown');
        else if (reply.kind === 'stream') writeRawStream(socket, reply, STATUS_CODES[reply.status] ?? 'Unknown');
      });
  }
}

function createServer({
  tls: { key, cert, sni = [], clientCa, ...context },
  unreadBytesPerConnection,
}: HttpServerOptions): Http2SecureServer {
  // The unit is millions of bytes. The last response may exceed the limit by any amount.
  const maxSessionMemory = Math.ceil((2 * unreadBytesPerConnection + LOST_BYTES + SESSION_BYTES) / 1_000_000);
  const server = createSecureServer({
    ...context,
    key,
    cert,
    ca: clientCa ?? [],
    allowHTTP1: true,
    minVersion: 'TLSv1.2',
    requestCert: true,
    rejectUnauthorized: false,
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    maxHeaderListPairs: 256,
    maxSessionMemory,
    settings: { maxConcurrentStreams: MAX_STREAMS, initialWindowSize: 262_144, maxHeaderListSize: MAX_HEADER_BYTES },
    http1Options: {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: IDLE_TIMEOUT_MS,
      connectionsCheckingInterval: 5000,
      insecureHTTPParser: false,
    },
  } as Parameters<typeof createSecureServer>[0]);
  for (const each of sni)
    for (const name of each.names)
      server.addContext(name, { key: each.key, cert: each.cert, ca: clientCa ?? [], minVersion: 'TLSv1.2' });
  return server;
}

const methodNotAllowed = (): BodyReply =>
  statusReply(
    new ApiStatusError('MethodNotAllowed', 'the server does not allow this method on the requested resource'),
  );

const refusalOf = ({ status, why }: RefusedHead): BodyReply =>
  status === 405 ? methodNotAllowed() : statusReply(badRequest(why));

/** Rejects CONNECT in both versions. */
function refuseTunnel(request: NodeRequest, connection: Duplex | NodeResponse): void {
  if ('stream' in request) return refuseHead(request, connection as NodeResponse, methodNotAllowed());
  const socket = connection as Duplex;
  socket.on('error', () => socket.destroy());
  writeRaw(socket, methodNotAllowed(), 'Method Not Allowed');
}

const refused = new WeakSet<Duplex>();

/** Responds to data that is not HTTP with an HTTP error, and closes the connection. */
function refuseClient(error: NodeJS.ErrnoException, socket: Duplex): void {
  // Data after the refused part also arrives here; the error is sent once.
  if (refused.has(socket)) return;
  refused.add(socket);
  if (socket.destroyed || !socket.writable) return void socket.destroy();
  const isLarge = error.code === 'HPE_HEADER_OVERFLOW';
  const isLate = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
  const [status, reason] = isLarge
    ? [431, 'Request Header Fields Too Large']
    : isLate
      ? [408, 'Request Timeout']
      : [400, 'Bad Request'];
  socket.write(
    `HTTP/1.1 ${status} ${reason}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n${status} ${reason}`,
    () => socket.destroy(),
  );
}
