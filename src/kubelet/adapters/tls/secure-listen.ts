import { STATUS_CODES } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { SecureContextOptions, TLSSocket } from 'node:tls';
import { getRequestListener } from '@hono/node-server';
import type { Clock } from '../../../base/clock.ts';
import { KubeletError, errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import { tlsSettings } from './tls-settings.ts';
import type { TlsConfig } from './tls-settings.ts';

/** Upstream's: between requests, and for one of them, logs that are followed among them. */
const IDLE_MS = 90_000;
const REQUEST_MS = 4 * 3_600_000;
const HEADERS_MS = 32_000;
const HANDSHAKE_MS = 10_000;
const HEADER_BYTES = 256 * 1024;
const CONNECTIONS = 1024;
const KEEP_ALIVE_PROBE_MS = 30_000;

/** Ways into a container, that are raw connections once they are open. */
const streams = /^\/(exec|attach|portForward)\//;

export interface SecureUser {
  readonly name: string;
  readonly groups: readonly string[];
}

/** A request for a raw connection of somebody who may have it. Whoever is given it owns the connection, and ends it. */
export interface StreamRequest {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
  /** Percent-decoded, without the query: what was authorized. */
  readonly path: string;
  readonly user: SecureUser;
}

export interface SecureListenOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: TlsConfig;
  /** What is served with; undefined while there is none, when no connection comes about. PEM. */
  readonly identity: () => { readonly certificate: string; readonly key: string } | undefined;
  /** Of client certificates, PEM; undefined where none are asked for. */
  readonly clientAuthorities: (() => string | undefined) | undefined;
  /** Calls back when either is another one. */
  readonly onChange: (listener: () => void) => () => void;
  readonly guard: Guard;
  /** Everything but raw connections, for those who may. */
  readonly fetch: (request: Request) => Response | Promise<Response>;
  readonly openStream: (request: StreamRequest) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Guard {
  check(request: {
    readonly method: string;
    readonly path: string;
    readonly isUpgrade: boolean;
    readonly clientCertificate: Uint8Array | undefined;
    readonly authorization: string | undefined;
  }): Promise<
    | { readonly outcome: 'allowed'; readonly user: SecureUser }
    | { readonly outcome: 'refused'; readonly status: 401 | 403 | 500; readonly body: string }
  >;
}

export interface SecureListening {
  /** Where it listens, for the log. */
  readonly address: string;
  readonly port: number;
  close(): Promise<void>;
}

type Verdict =
  | { readonly outcome: 'allowed'; readonly user: SecureUser; readonly path: string }
  | { readonly outcome: 'refused'; readonly status: number; readonly body: string };

/** The kubelet's own server: HTTP/1.1 over TLS, nothing of it without the guard's word. Rejects with `AlreadyExists` when the port is taken. */
export async function listenSecurely(options: SecureListenOptions): Promise<SecureListening> {
  const { host, port, clientAuthorities, onChange, log } = options;
  const server = https.createServer({
    ...contextOf(options),
    requestCert: clientAuthorities !== undefined,
    // Who is let in is the guard's to say, and whose certificate is unknown may have a token.
    rejectUnauthorized: false,
    ALPNProtocols: ['http/1.1'],
    handshakeTimeout: HANDSHAKE_MS,
    headersTimeout: HEADERS_MS,
    requestTimeout: REQUEST_MS,
    keepAliveTimeout: IDLE_MS,
    maxHeaderSize: HEADER_BYTES,
    shouldUpgradeCallback: (request: IncomingMessage) => streams.test(pathOf(request) ?? ''),
  });
  server.maxConnections = CONNECTIONS;
  const answer = getRequestListener((request) => options.fetch(request), { overrideGlobalObjects: false });
  server.on(
    'request',
    (request, response) =>
      void serve(options, request, response, answer).catch((error: unknown) => fail(log, error, response.socket)),
  );
  server.on(
    'upgrade',
    (request, socket: Duplex, head: Buffer) =>
      void upgrade(options, { request, socket, head }).catch((error: unknown) => fail(log, error, socket)),
  );
  server.on('secureConnection', (socket: TLSSocket) => {
    socket.setKeepAlive(true, KEEP_ALIVE_PROBE_MS);
    socket.on('error', () => socket.destroy());
  });
  // Scanners and health checks fail to shake hands all the time.
  server.on('tlsClientError', () => undefined);
  const end = onChange(() => setContext(server, options));
  const address = `${host}:${port}`;
  const bound = await bind(server, host, port, address, log);
  return {
    address,
    port: bound,
    close: () =>
      new Promise((resolve) => {
        end();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function contextOf({ tls, identity, clientAuthorities }: SecureListenOptions): SecureContextOptions {
  const pair = identity();
  const authorities = clientAuthorities?.();
  return {
    ...tlsSettings(tls),
    ...(pair !== undefined && { cert: pair.certificate, key: pair.key }),
    ca: authorities === undefined ? [] : [authorities],
  };
}

/** For new connections; those that are open go on. */
function setContext(server: https.Server, options: SecureListenOptions): void {
  try {
    server.setSecureContext(contextOf(options));
  } catch (error) {
    options.log.error('a new certificate cannot be served with; the one before stays', { error: errorMessage(error) });
  }
}

function bind(server: https.Server, host: string, port: number, address: string, log: Logger): Promise<number> {
  return new Promise((resolve, reject) => {
    let isBound = false;
    // Stays for good: an error later on, such as no free descriptor for a connection, must not end the agent.
    server.on('error', (error: NodeJS.ErrnoException) => {
      if (isBound) log.error('the secure server failed', { error: error.message });
      else
        reject(
          new KubeletError(
            error.code === 'EADDRINUSE' ? 'AlreadyExists' : 'Unavailable',
            `cannot listen on ${address}: ${error.message}`,
            { op: 'listen', cause: error },
          ),
        );
    });
    server.listen({ host, port }, () => {
      isBound = true;
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/**
 * The path as the router reads it. Undefined for what could be read in two ways, such as one with dots or empty parts: what is authorized and what is
 * served have to be the same.
 */
function pathOf({ url = '' }: IncomingMessage): string | undefined {
  const raw = url.split(/[?#]/, 1)[0] ?? '';
  if (!raw.startsWith('/') || raw.length > 4096 || /\/\/|%2f|%5c|%2e|%00|\\/i.test(raw) || /\/\.{1,2}(\/|$)/.test(raw))
    return undefined;
  try {
    return decodeURI(raw);
  } catch {
    return undefined;
  }
}

async function judge({ guard }: SecureListenOptions, request: IncomingMessage, isUpgrade: boolean): Promise<Verdict> {
  const path = pathOf(request);
  if (path === undefined) return { outcome: 'refused', status: 400, body: 'Bad Request' };
  const verdict = await guard.check({
    method: request.method ?? '',
    path,
    isUpgrade,
    clientCertificate: peerOf(request.socket as TLSSocket),
    authorization: request.headers.authorization,
  });
  return verdict.outcome === 'allowed' ? { ...verdict, path } : verdict;
}

function peerOf(socket: TLSSocket): Uint8Array | undefined {
  return socket.getPeerX509Certificate()?.raw;
}

async function serve(
  options: SecureListenOptions,
  request: IncomingMessage,
  response: ServerResponse,
  answer: (request: IncomingMessage, response: ServerResponse) => Promise<unknown>,
): Promise<void> {
  const limit = options.clock.setTimer(REQUEST_MS, () => response.destroy());
  response.on('close', () => limit.cancel());
  response.on('error', () => response.destroy());
  const verdict = await judge(options, request, false);
  if (response.destroyed) return;
  if (verdict.outcome === 'allowed') {
    await answer(request, response);
    return;
  }
  // What was sent along is not read, so the connection is of no more use.
  response.writeHead(verdict.status, {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': Buffer.byteLength(verdict.body),
    ...(request.method !== 'GET' && { connection: 'close' }),
  });
  response.end(verdict.body);
}

async function upgrade(
  options: SecureListenOptions,
  stream: Pick<StreamRequest, 'request' | 'socket' | 'head'>,
): Promise<void> {
  const { request, socket } = stream;
  socket.on('error', () => socket.destroy());
  const verdict = await judge(options, request, true);
  if (socket.destroyed) return;
  if (verdict.outcome === 'allowed') {
    options.openStream({ ...stream, path: verdict.path, user: verdict.user });
    return;
  }
  const head = [
    `HTTP/1.1 ${verdict.status} ${STATUS_CODES[verdict.status] ?? 'Error'}`,
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(verdict.body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${verdict.body}`, () => socket.destroy());
}

function fail(log: Logger, error: unknown, socket: Duplex | null): void {
  log.error('a request to the secure server failed', { error: errorMessage(error) });
  socket?.destroy();
}
