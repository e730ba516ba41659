import { STATUS_CODES } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { createSecureServer } from 'node:http2';
import type { Http2SecureServer, Http2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { SecureContextOptions, TLSSocket } from 'node:tls';
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import type { HttpRequest } from './http-request.ts';
import { NodeHttpRequest } from './node-request.ts';
import type { NodeRequest, NodeResponse } from './node-request.ts';
import { statusOf, statusReply } from './reply.ts';
import type { Reply } from './reply.ts';
import { SessionWork } from './session-work.ts';
import { writeBody, writeRaw, writeRawStream, writeStream } from './write-reply.ts';

export interface TlsOptions extends SecureContextOptions {
  /** PEM. */
  readonly key: string;
  readonly cert: string;
  /** Names that have a certificate of their own (`--tls-sni-cert-key`). */
  readonly sni?: readonly { readonly names: readonly string[]; readonly key: string; readonly cert: string }[];
  /** The CAs of client certificates, PEM. Nobody is refused here by them, but certificates of others count as wrong credentials. Absent: all do. */
  readonly clientCa?: string;
}

export interface CertificatePair {
  readonly key: string;
  readonly cert: string;
  /** Absent: the client CAs stay. */
  readonly clientCa?: string;
}

export interface HttpServerOptions {
  readonly tls: TlsOptions;
  readonly serve: (http: HttpRequest) => Promise<Reply>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly maxConnections: number;
  readonly gzipFromBytes: number;
}

/** Time for the head of a request, against clients that send a byte now and then. */
const headersTimeoutMs = 32_000;
/** Time for a whole request; its body is bounded by the time-out of the request path as well. */
const requestTimeoutMs = 60_000;
const idleTimeoutMs = 180_000;
const keepAliveProbeMs = 30_000;
const handshakeTimeoutMs = 10_000;
/** As Go's default, 1 MiB, less what Node keeps twice. */
const maxHeaderBytes = 256 * 1024;
/** As upstream's http2-max-streams-per-connection. */
const maxStreams = 100;
/** After this long what is still in flight is cut. */
const drainMs = 10_000;

/**
 * HTTP/1.1 and HTTP/2 over TLS on one port. Node's HTTP/2 server with `allowHTTP1` hands HTTP/1.1 connections to the same code as `node:https`,
 * at the same speed, so one server does for both.
 */
export class HttpServer {
  readonly #options: HttpServerOptions;
  readonly #server: Http2SecureServer;
  readonly #sessions = new Set<Http2Session>();
  readonly #sockets = new Set<TLSSocket>();
  #clientCa: string | undefined;
  #state: 'open' | 'draining' | 'closed' = 'open';

  constructor(options: HttpServerOptions) {
    this.#options = options;
    this.#server = createServer(options.tls);
    this.#clientCa = options.tls.clientCa;
    this.#server.on('request', (request: NodeRequest, response: NodeResponse) => this.#request(request, response));
    this.#server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) =>
      this.#upgrade(request, socket, head),
    );
    this.#server.on('connect', (_request: IncomingMessage, socket: Duplex) =>
      writeRaw(
        socket,
        statusReply(
          new ApiStatusError('MethodNotAllowed', 'the server does not allow this method on the requested resource'),
        ),
        'Method Not Allowed',
      ),
    );
    this.#server.on('session', (session) => this.#session(session));
    this.#server.on('secureConnection', (socket: TLSSocket) => this.#connection(socket));
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => refuseClient(error, socket));
    // A failed handshake ends its socket by itself; scanners and health checks make them all the time.
    this.#server.on('tlsClientError', () => undefined);
    this.#server.on('error', (error) => options.log.error('The server failed', { error: error.message }));
  }

  /** Resolves with the port once connections are taken. */
  listen(host: string, port: number): Promise<AddressInfo> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host, port, backlog: 1024 }, () => {
        this.#server.off('error', reject);
        resolve(this.#server.address() as AddressInfo);
      });
    });
  }

  /** New certificates for new connections. */
  setCertificate({ key, cert, clientCa = this.#clientCa }: CertificatePair): void {
    this.#clientCa = clientCa;
    this.#server.setSecureContext({ key, cert, ca: clientCa ?? [], minVersion: 'TLSv1.2' });
  }

  /** Takes no more connections, lets what is in flight finish, then cuts the rest. */
  close(): Promise<void> {
    this.#state = 'draining';
    return new Promise((resolve) => {
      const cut = this.#options.clock.setTimer(drainMs, () => {
        for (const socket of this.#sockets) socket.destroy();
      });
      this.#server.close(() => {
        this.#state = 'closed';
        cut.cancel();
        resolve();
      });
      for (const session of this.#sessions) session.close();
      // HTTP/2 sessions end by themselves when their streams are done.
      for (const socket of this.#sockets) if (!this.#busy.has(socket) && socket.alpnProtocol !== 'h2') socket.destroy();
    });
  }

  readonly #work = new SessionWork(maxStreams);

  /** Connections with requests in flight, and how many. */
  readonly #busy = new Map<Duplex, number>();

  #connection(socket: TLSSocket): void {
    if (this.#state !== 'open' || this.#sockets.size >= this.#options.maxConnections) {
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    // A watcher whose machine went away without a word is noticed, too.
    socket.setKeepAlive(true, keepAliveProbeMs);
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
    session.setTimeout(idleTimeoutMs, () => session.close());
  }

  #request(request: NodeRequest, response: NodeResponse): void {
    const work = 'stream' in request ? this.#work.begin(request.stream) : undefined;
    if (work === 'refused') return;
    const http = new NodeHttpRequest(request);
    const socket = 'stream' in request ? undefined : request.socket;
    this.#count(socket, 1);
    response.on('close', () => {
      http.finish();
      this.#count(socket, -1);
      if (this.#state !== 'open' && socket !== undefined && !this.#busy.has(socket)) socket.destroy();
    });
    response.on('error', () => http.finish());
    request.on('error', () => undefined);
    void this.#answer(http, response).finally(() => work?.end());
  }

  async #answer(http: NodeHttpRequest, response: NodeResponse): Promise<void> {
    try {
      const reply = await this.#options.serve(http);
      if (response.destroyed) return;
      if (reply.kind === 'stream') writeStream(http, response, reply);
      else if (reply.kind === 'body') await writeBody(http, response, this.#withClose(http, reply), this.#options);
      else response.destroy();
    } catch (error) {
      this.#options.log.error('An answer could not be written', {
        path: http.target.slice(0, 512),
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
    const http = new NodeHttpRequest(request, { socket, head });
    socket.on('error', () => socket.destroy());
    socket.on('close', () => http.finish());
    this.#count(socket, 1);
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

  #count(socket: Duplex | undefined, by: 1 | -1): void {
    if (socket === undefined) return;
    const count = (this.#busy.get(socket) ?? 0) + by;
    if (count > 0) this.#busy.set(socket, count);
    else this.#busy.delete(socket);
  }
}

function createServer({ key, cert, sni = [], clientCa, ...context }: TlsOptions): Http2SecureServer {
  const server = createSecureServer({
    ...context,
    key,
    cert,
    ca: clientCa ?? [],
    allowHTTP1: true,
    minVersion: 'TLSv1.2',
    requestCert: true,
    rejectUnauthorized: false,
    handshakeTimeout: handshakeTimeoutMs,
    maxHeaderListPairs: 256,
    maxSessionMemory: 32,
    settings: { maxConcurrentStreams: maxStreams, initialWindowSize: 262_144, maxHeaderListSize: maxHeaderBytes },
    http1Options: {
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: idleTimeoutMs,
      connectionsCheckingInterval: 5000,
      insecureHTTPParser: false,
    },
  } as Parameters<typeof createSecureServer>[0]);
  for (const each of sni)
    for (const name of each.names)
      server.addContext(name, { key: each.key, cert: each.cert, ca: clientCa ?? [], minVersion: 'TLSv1.2' });
  return server;
}

const refused = new WeakSet<Duplex>();

/** What is no HTTP at all is answered in HTTP, and the connection ends. */
function refuseClient(error: NodeJS.ErrnoException, socket: Duplex): void {
  // What was sent after the refused part comes here, too; the answer is given once.
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
