import { request as httpRequest } from 'node:http';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream';
import type { Duplex, Readable } from 'node:stream';
import { ApiStatusError, badRequest } from '../../../api/status/api-status-error.ts';
import type { Clock } from '../../../base/clock.ts';
import { errorMessage, isKind } from '../../../base/errors.ts';
import { endToEndHeaders } from '../../../base/hop-by-hop.ts';
import { answerTo } from '../../../base/node-answer.ts';
import type { BodyLength } from '../../../base/request-head.ts';
import { openStream } from '../../../streaming/open-stream.ts';
import type { StreamMode } from '../../../streaming/protocols.ts';
import type { HeaderMap, HttpRequest } from '../http/http-request.ts';
import { headerOf } from '../http/http-request.ts';
import type { Reply, ReplyHeaders, ReplyStream } from '../http/reply.ts';
import { isIdentityHeader } from '../aggregation/proxy-headers.ts';
import type { Dialer, DialTarget } from '../options.ts';

export interface Forwarding {
  readonly dialer: Dialer;
  readonly target: DialTarget;
  readonly method: string;
  readonly path: string;
  /** The client's headers for the backend, without hop-by-hop headers and credentials. */
  readonly headers: HeaderMap;
  /** The headers that this server sets, whatever the client sent. */
  readonly added?: Readonly<Record<string, string | readonly string[]>>;
  readonly http: HttpRequest;
  readonly clock: Clock;
  /** The translation of the client's protocol. By default it is not changed. */
  readonly mode?: StreamMode;
  /** The time limit for the head of the backend's response. The default is one minute. */
  readonly answerMs?: number;
  /** The time limit for the whole response, which is then aborted. There is none by default. */
  readonly wholeMs?: number;
  /** Checks a response before it is forwarded. It throws, or returns other headers. */
  readonly onAnswer?: (answer: BackendAnswer) => Promise<ReplyHeaders> | ReplyHeaders;
  /** Returns a transform for the body. Without it the body stays unchanged. */
  readonly rewriteBody?: (answer: Pick<BackendAnswer, 'status' | 'headers'>) => readonly Duplex[];
  /** Whether a response that does not switch protocols is an error. */
  readonly mustUpgrade?: boolean;
  /** Builds the error if the backend cannot be reached. The default is that of upstream's proxies. */
  readonly unreachable?: (why: string) => ApiStatusError;
}

export interface BackendAnswer {
  readonly status: number;
  readonly headers: ReplyHeaders;
  /** Reads the beginning of the body, for messages. */
  readText(limitBytes: number): Promise<string>;
}

const DIAL_TIMEOUT_MS = 10_000;
/** The time limit for the head of the response of a backend that accepted the request. */
const ANSWER_TIMEOUT_MS = 60_000;
/** The idle time after which a stream is closed, as in upstream. */
const STREAM_IDLE_MS = 4 * 3_600_000;
/**
 * The headers that are removed in addition to hop-by-hop headers: credentials, and headers about the request to this
 * server.
 */
const notPassedOn = new Set(['authorization', 'host', 'audit-id', 'content-length', 'expect']);

/** Forwards a request and streams the response back. Redirects are forwarded, never followed. */
export async function forward(forwarding: Forwarding): Promise<Reply> {
  const { dialer, target, http } = forwarding;
  const asked = headerOf(http.headers, 'upgrade');
  const upgrade = http.upgrade === undefined || asked === undefined ? undefined : asked;
  if (forwarding.mustUpgrade === true && upgrade === undefined) throw badRequest('Upgrade request required');
  // HTTP/2 permits characters that would end the request line of HTTP/1.1.
  if (/[^\u0021-\u007e]/.test(forwarding.path)) throw badRequest('the path has characters that must be escaped');
  const { unreachable = upgrade === undefined ? unreachableService : unreachableBackend } = forwarding;
  const backend = await dialer.dial(target, DIAL_TIMEOUT_MS).catch((error: unknown) => {
    throw error instanceof ApiStatusError ? error : unreachable(errorMessage(error));
  });
  const { wholeMs, clock } = forwarding;
  const cut = wholeMs === undefined ? undefined : clock.setTimer(wholeMs, () => backend.destroy());
  http.onFinished(() => {
    cut?.cancel();
    backend.destroy();
  });
  if (upgrade !== undefined) return switchOver(forwarding, backend, upgrade);
  return passOn(await answerOf(open(forwarding, backend), forwarding), forwarding);
}

const unreachableService = (why: string): ApiStatusError =>
  new ApiStatusError('ServiceUnavailable', `error trying to reach service: ${why}`);

/**
 * Builds the error for an unreachable backend. Upstream dials upgrades in another component, whose error has no reason.
 */
const unreachableBackend = (why: string): ApiStatusError =>
  new ApiStatusError('Unknown', `error dialing backend: ${why}`);

function headersFor({ headers, added = {}, target }: Forwarding): Record<string, string | readonly string[]> {
  const sent = Object.entries(endToEndHeaders(headers))
    .filter(
      ([name]) =>
        !name.startsWith(':') && !name.startsWith('impersonate-') && !isIdentityHeader(name) && !notPassedOn.has(name),
    )
    // A token among the WebSocket protocols is meant only for this server.
    .map(([name, value]) => [
      name,
      name === 'sec-websocket-protocol' && typeof value === 'string' ? withoutToken(value) : value,
    ]);
  return {
    ...(Object.fromEntries(sent) as Record<string, string | readonly string[]>),
    ...added,
    host: target.host.includes(':') ? `[${target.host}]:${target.port}` : `${target.host}:${target.port}`,
  };
}

function open(forwarding: Forwarding, backend: Duplex): ClientRequest {
  const { method, path, http } = forwarding;
  // One request per connection, so that no data of one client reaches another. The length is written here, because Node
  // sends none for bodies of GET, HEAD and DELETE.
  const sent = { ...headersFor(forwarding), ...framingOf(http.bodyLength), connection: 'close' } as Record<
    string,
    string
  >;
  // Node's types require a socket, but any duplex stream works.
  return httpRequest({ method, path, headers: sent, createConnection: () => backend as never, setHost: false });
}

function framingOf(length: BodyLength): Record<string, string> {
  if (length === 0) return {};
  return length === 'chunked' ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(length) };
}

/** Passes on a body that must have exactly its announced length, because additional bytes would be another request. */
async function* exactly(length: BodyLength, body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (length !== 'chunked' && bytes > length) break;
    yield chunk;
  }
  if (length !== 'chunked' && bytes !== length)
    throw badRequest('the body is shorter or longer than its Content-Length');
}

const withoutToken = (value: string): string =>
  value
    .split(',')
    .map((each) => each.trim())
    .filter((each) => !each.startsWith('base64url.bearer.'))
    .join(', ');

async function answerOf(
  request: ClientRequest,
  { http, answerMs = ANSWER_TIMEOUT_MS }: Forwarding,
): Promise<IncomingMessage> {
  request.setTimeout(answerMs, () => request.destroy(new Error('the backend did not answer in time')));
  if (http.bodyLength === 0) request.end();
  else pipeline(exactly(http.bodyLength, http.bodyStream() as AsyncIterable<Buffer>), request, () => undefined);
  try {
    const message = await answerTo(request);
    request.setTimeout(0);
    // HTTP/2 does not allow this status.
    if ((message.statusCode ?? 0) > 599) throw new Error(`the server answered with status ${message.statusCode}`);
    return message;
  } catch (error) {
    request.destroy();
    throw error instanceof ApiStatusError ? error : unreachableService(errorMessage(error));
  }
}

/** Connects client and backend if the backend accepts the upgrade. Otherwise it returns the backend's response. */
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
    idleMs: STREAM_IDLE_MS,
  }).catch((error: unknown) => {
    throw isKind(error, 'Unavailable')
      ? unreachableService(errorMessage(error))
      : new ApiStatusError('InternalError', `Internal error occurred: ${errorMessage(error)}`);
  });
  if (opened.kind === 'answer') return passOn(opened.response, forwarding);
  // Upgrades use HTTP/1.1, so this is Node's request object.
  const request = http.upgrade?.native as IncomingMessage;
  return { kind: 'taken', status: 101, take: (socket, head) => opened.take({ request, socket, head }) };
}

async function passOn(message: IncomingMessage, { onAnswer, rewriteBody }: Forwarding): Promise<Reply> {
  const status = message.statusCode ?? 502;
  const headers = endToEndHeaders(message.headers);
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
  const rewriting = rewriteBody?.({ status, headers }) ?? [];
  const last = rewriting.at(-1);
  if (last === undefined) return { kind: 'stream', status, headers: sent, start: (out) => pump(message, out) };
  const { 'content-length': _, ...rest } = sent;
  return {
    kind: 'stream',
    status,
    headers: rest,
    start: (out) => {
      pump(last, out);
      // If the body is aborted, the transform ends with an error, which the pump receives.
      pipeline([message, ...rewriting], () => undefined);
    },
  };
}

/** Copies as fast as the reader reads. If the source is aborted, the response to the reader is aborted too. */
function pump(message: Readable, out: ReplyStream): void {
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
