import type { IncomingMessage, ServerResponse } from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { SecureContextOptions, TLSSocket } from 'node:tls';
import type { Clock } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { ListenedRequest, RequestGuard, RequestUser } from '../../ports/request-guard.ts';
import { bindServer, closeServer } from '../net/bind-server.ts';
import { readKubeletRequest, refuseClient, refuseRequest, refuseTunnel, serveApp } from '../net/serve-app.ts';
import type { FetchApp, KubeletRequest, Refusal } from '../net/serve-app.ts';
import { tlsSettings } from './tls-settings.ts';
import type { TlsConfig } from './tls-settings.ts';

/** Upstream's time limits between requests, and for a whole request, including followed logs. */
const IDLE_MS = 90_000;
const REQUEST_MS = 4 * 3_600_000;
const HEADERS_MS = 32_000;
const HANDSHAKE_MS = 10_000;
const HEADER_BYTES = 256 * 1024;
const CONNECTIONS = 1024;
const KEEP_ALIVE_PROBE_MS = 30_000;

/** Streaming paths, which become raw connections when they are open. */
const streams = /^\/(exec|attach|portForward)\//;

/** An authorized request for a raw connection. The callee owns the connection, and ends it. */
export interface StreamRequest {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
  /** The authorized path, percent-decoded and without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly user: RequestUser;
}

export interface SecureListenOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: TlsConfig;
  /** Returns the serving certificate in PEM; undefined while there is none, and no connection is possible then. */
  readonly identity: () => { readonly certificate: string; readonly key: string } | undefined;
  /** Returns the client CA in PEM; undefined if no client certificates are requested. */
  readonly clientAuthorities: (() => string | undefined) | undefined;
  /** Calls back when the certificate or the CA changes. */
  readonly onChange: (listener: () => void) => () => void;
  readonly guard: RequestGuard<ListenedRequest>;
  /** Handles authorized requests, except for raw connections. */
  readonly fetch: FetchApp['fetch'];
  readonly openStream: (request: StreamRequest) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface SecureListening {
  /** The address for the log. */
  readonly address: string;
  readonly port: number;
  close(): Promise<void>;
}

type Verdict =
  | { readonly outcome: 'allowed'; readonly user: RequestUser; readonly asked: KubeletRequest }
  | ({ readonly outcome: 'refused' } & Refusal);

/**
 * Serves the kubelet's own server: HTTP/1.1 over TLS, where every request passes the guard. Rejects with
 * `AlreadyExists` if the port is in use.
 */
export async function listenSecurely(options: SecureListenOptions): Promise<SecureListening> {
  const { host, port, clientAuthorities, onChange, log } = options;
  const server = https.createServer({
    ...contextOf(options),
    requestCert: clientAuthorities !== undefined,
    // The guard decides about access, and a client with an unknown certificate may have a token.
    rejectUnauthorized: false,
    ALPNProtocols: ['http/1.1'],
    handshakeTimeout: HANDSHAKE_MS,
    headersTimeout: HEADERS_MS,
    requestTimeout: REQUEST_MS,
    keepAliveTimeout: IDLE_MS,
    maxHeaderSize: HEADER_BYTES,
    insecureHTTPParser: false,
    shouldUpgradeCallback: isStream,
  });
  server.maxConnections = CONNECTIONS;
  server.on(
    'request',
    (request, response) =>
      void serve(options, request, response).catch((error: unknown) => fail(log, error, response.socket)),
  );
  server.on(
    'upgrade',
    (request, socket: Duplex, head: Buffer) =>
      void upgrade(options, { request, socket, head }).catch((error: unknown) => fail(log, error, socket)),
  );
  server.on('connect', refuseTunnel);
  server.on('secureConnection', (socket: TLSSocket) => {
    socket.setKeepAlive(true, KEEP_ALIVE_PROBE_MS);
    socket.on('error', () => socket.destroy());
  });
  // Scanners and health checks cause failed handshakes all the time.
  server.on('tlsClientError', () => undefined);
  const end = onChange(() => setContext(server, options));
  const address = `${host}:${port}`;
  await bindServer(server, { host, port }, address, (error) =>
    log.error('the secure server failed', { error: error.message }),
  );
  return {
    address,
    port: (server.address() as AddressInfo).port,
    close: () => {
      end();
      return closeServer(server);
    },
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

/** Sets the certificate for new connections. Open ones continue. */
function setContext(server: https.Server, options: SecureListenOptions): void {
  try {
    server.setSecureContext(contextOf(options));
  } catch (error) {
    options.log.error('a new serving certificate cannot be used; keeping the previous one', {
      error: errorMessage(error),
    });
  }
}

function isStream(request: IncomingMessage): boolean {
  const reading = readKubeletRequest(request);
  return reading.outcome === 'request' && streams.test(reading.asked.path);
}

async function judge({ guard }: SecureListenOptions, request: IncomingMessage, isUpgrade: boolean): Promise<Verdict> {
  const reading = readKubeletRequest(request);
  if (reading.outcome === 'refused') return reading;
  const { asked } = reading;
  // Node would pass such a body on as the first bytes of the new protocol.
  if (isUpgrade && asked.body !== 0)
    return { outcome: 'refused', status: 400, body: 'Bad Request: a request for another protocol has no body\n' };
  const verdict = await guard.check({
    method: asked.method,
    path: asked.path,
    isUpgrade,
    clientCertificate: peerOf(request.socket as TLSSocket),
    authorization: request.headers.authorization,
    cookie: request.headers.cookie,
    remoteAddress: request.socket.remoteAddress ?? '',
  });
  return verdict.outcome === 'allowed' ? { ...verdict, asked } : verdict;
}

function peerOf(socket: TLSSocket): Uint8Array | undefined {
  return socket.getPeerX509Certificate()?.raw;
}

async function serve(options: SecureListenOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const limit = options.clock.setTimer(REQUEST_MS, () => response.destroy());
  response.on('close', () => limit.cancel());
  response.on('error', () => response.destroy());
  const verdict = await judge(options, request, false);
  if (response.destroyed) return;
  if (verdict.outcome === 'allowed') await serveApp(options, verdict.asked, request, response);
  else refuseRequest(response, verdict);
}

async function upgrade(
  options: SecureListenOptions,
  stream: Pick<StreamRequest, 'request' | 'socket' | 'head'>,
): Promise<void> {
  const { request, socket } = stream;
  socket.on('error', () => socket.destroy());
  const verdict = await judge(options, request, true);
  if (socket.destroyed) return;
  if (verdict.outcome === 'refused') return refuseClient(socket, verdict);
  const { path, search } = verdict.asked;
  options.openStream({ ...stream, path, query: new URLSearchParams(search), user: verdict.user });
}

function fail(log: Logger, error: unknown, socket: Duplex | null): void {
  log.error('a request to the secure server failed', { error: errorMessage(error) });
  socket?.destroy();
}
