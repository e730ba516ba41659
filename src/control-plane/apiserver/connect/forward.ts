import { request as httpRequest } from 'node:http';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream';
import type { Duplex } from 'node:stream';
import { ApiStatusError, badRequest } from '../../../api/status/api-status-error.ts';
import type { Clock } from '../../../base/clock.ts';
import { errorMessage, isKind } from '../../../base/errors.ts';
import { openStream } from '../../../streaming/open-stream.ts';
import type { StreamMode } from '../../../streaming/protocols.ts';
import type { HeaderMap, HttpRequest } from '../http/http-request.ts';
import { headerOf } from '../http/http-request.ts';
import type { Reply, ReplyHeaders, ReplyStream } from '../http/reply.ts';
import type { Dialer, DialTarget } from '../options.ts';

export interface Forwarding {
  readonly dialer: Dialer;
  readonly target: DialTarget;
  readonly method: string;
  readonly path: string;
  /** What the backend hears of the client's headers; hop-by-hop ones and credentials are taken out. */
  readonly headers: HeaderMap;
  readonly http: HttpRequest;
  readonly clock: Clock;
  /** How the client's protocol comes to the backend; as it is unless said otherwise. */
  readonly mode?: StreamMode;
  /** Judges an answer before it goes on: throws, or gives other headers. */
  readonly onAnswer?: (answer: BackendAnswer) => Promise<ReplyHeaders> | ReplyHeaders;
  /** An answer that is no switch of protocols is a refusal. */
  readonly mustUpgrade?: boolean;
  /** What is said when the backend cannot be reached; by default as upstream's proxies do. */
  readonly unreachable?: (why: string) => ApiStatusError;
}

export interface BackendAnswer {
  readonly status: number;
  readonly headers: ReplyHeaders;
  /** The beginning of the body, for messages. */
  readText(limitBytes: number): Promise<string>;
}

const dialTimeoutMs = 10_000;
/** A backend that took the request has so long for the head of its answer. */
const answerTimeoutMs = 60_000;
/** As upstream's. */
const streamIdleMs = 4 * 3_600_000;
const notPassedOn = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'proxy-authenticate',
  'proxy-authorization',
  'authorization',
  'host',
  'http2-settings',
  'audit-id',
  'content-length',
  'expect',
]);

/** Sends a request on and streams the answer back. Redirects are passed on, never followed. */
export async function forward(forwarding: Forwarding): Promise<Reply> {
  const { dialer, target, http } = forwarding;
  const asked = headerOf(http.headers, 'upgrade');
  const upgrade = http.upgrade === undefined || asked === undefined ? undefined : asked;
  if (forwarding.mustUpgrade === true && upgrade === undefined) throw badRequest('Upgrade request required');
  // HTTP/2 lets through what would end the request line of HTTP/1.1.
  if (/[^\u0021-\u007e]/.test(forwarding.path)) throw badRequest('the path has characters that must be escaped');
  const { unreachable = upgrade === undefined ? unreachableService : unreachableBackend } = forwarding;
  const backend = await dialer.dial(target, dialTimeoutMs).catch((error: unknown) => {
    throw unreachable(errorMessage(error));
  });
  http.onFinished(() => backend.destroy());
  if (upgrade !== undefined) return switchOver(forwarding, backend, upgrade);
  return passOn(await answerOf(open(forwarding, backend), http), forwarding);
}

const unreachableService = (why: string): ApiStatusError =>
  new ApiStatusError('ServiceUnavailable', `error trying to reach service: ${why}`);

/** An upgrade is dialed by another part of upstream, whose error has no reason. */
const unreachableBackend = (why: string): ApiStatusError =>
  new ApiStatusError('Unknown', `error dialing backend: ${why}`);

function headersFor({ headers, target }: Forwarding): Record<string, string | readonly string[]> {
  const sent: Record<string, string | readonly string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || name.startsWith(':') || name.startsWith('impersonate-') || notPassedOn.has(name))
      continue;
    // A token among the WebSocket protocols is for this server alone.
    sent[name] = name === 'sec-websocket-protocol' && typeof value === 'string' ? withoutToken(value) : value;
  }
  return {
    ...sent,
    host: target.host.includes(':') ? `[${target.host}]:${target.port}` : `${target.host}:${target.port}`,
  };
}

function open(forwarding: Forwarding, backend: Duplex): ClientRequest {
  const { method, path } = forwarding;
  // One request for each connection: nothing of one client is left for the next.
  const sent = { ...headersFor(forwarding), connection: 'close' } as Record<string, string>;
  // Node's types want a socket; any duplex stream will do.
  return httpRequest({ method, path, headers: sent, createConnection: () => backend as never, setHost: false });
}

const withoutToken = (value: string): string =>
  value
    .split(',')
    .map((each) => each.trim())
    .filter((each) => !each.startsWith('base64url.bearer.'))
    .join(', ');

function answerOf(request: ClientRequest, http: HttpRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.setTimeout(answerTimeoutMs, () => request.destroy(new Error('the backend did not answer in time')));
    request.on('error', (error) => reject(unreachableService(error.message)));
    request.on('response', (message) => {
      request.setTimeout(0);
      resolve(message);
    });
    pipeline(http.bodyStream(), request, () => undefined);
  });
}

/** Client and backend speak to each other from here on, if the backend agrees; its answer otherwise. */
async function switchOver(forwarding: Forwarding, connection: Duplex, protocol: string): Promise<Reply> {
  const { method, path, http, clock, mode = { kind: 'raw' } } = forwarding;
  const opened = await openStream({
    connection,
    method,
    path,
    headers: headersFor(forwarding),
    protocol,
    mode,
    clock,
    idleMs: streamIdleMs,
  }).catch((error: unknown) => {
    throw isKind(error, 'Unavailable')
      ? unreachableService(errorMessage(error))
      : new ApiStatusError('InternalError', `Internal error occurred: ${errorMessage(error)}`);
  });
  if (opened.kind === 'answer') return passOn(opened.response, forwarding);
  // Upgrades come by HTTP/1.1, so that this is Node's own request.
  const request = http.upgrade?.native as IncomingMessage;
  return { kind: 'taken', status: 101, take: (socket, head) => opened.take({ request, socket, head }) };
}

async function passOn(message: IncomingMessage, { onAnswer }: Forwarding): Promise<Reply> {
  const status = message.statusCode ?? 502;
  const headers: Record<string, string | readonly string[]> = {};
  for (const [name, value] of Object.entries(message.headers))
    if (value !== undefined && !hopByHop.has(name)) headers[name] = value;
  let sent: ReplyHeaders;
  try {
    sent =
      onAnswer === undefined
        ? headers
        : await onAnswer({ status, headers, readText: (limitBytes) => readText(message, limitBytes) });
  } catch (error) {
    message.destroy();
    throw error;
  }
  return { kind: 'stream', status, headers: sent, start: (out) => pump(message, out) };
}

const hopByHop = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
  'trailer',
  'te',
  'proxy-connection',
]);

/** As fast as the reader takes it. An answer that breaks off breaks off for the reader, too. */
function pump(message: IncomingMessage, out: ReplyStream): void {
  out.onClose(() => message.destroy());
  out.onDrain(() => message.resume());
  message.on('data', (chunk: Buffer) => {
    if (!out.write(chunk)) message.pause();
  });
  message.on('end', () => out.end());
  message.on('error', () => out.destroy());
  message.on('aborted', () => out.destroy());
}

async function readText(message: IncomingMessage, limitBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= limitBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, limitBytes).toString('utf8');
}
