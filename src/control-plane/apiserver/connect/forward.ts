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
  /** What the backend hears of the client's headers; hop-by-hop ones and credentials are taken out. */
  readonly headers: HeaderMap;
  /** Headers of this server's own, whatever the client's are. */
  readonly added?: Readonly<Record<string, string | readonly string[]>>;
  readonly http: HttpRequest;
  readonly clock: Clock;
  /** How the client's protocol comes to the backend; as it is unless said otherwise. */
  readonly mode?: StreamMode;
  /** How long the backend has for the head of its answer. Absent: a minute. */
  readonly answerMs?: number;
  /** Judges an answer before it goes on: throws, or gives other headers. */
  readonly onAnswer?: (answer: BackendAnswer) => Promise<ReplyHeaders> | ReplyHeaders;
  /** What the body passes through on its way to the client. Absent, or none: it stays as it is. */
  readonly rewriteBody?: (answer: Pick<BackendAnswer, 'status' | 'headers'>) => readonly Duplex[];
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

const DIAL_TIMEOUT_MS = 10_000;
/** A backend that took the request has so long for the head of its answer. */
const ANSWER_TIMEOUT_MS = 60_000;
/** As upstream's. */
const STREAM_IDLE_MS = 4 * 3_600_000;
/** Beside hop-by-hop headers: credentials, and what is said of the request as it is sent here. */
const notPassedOn = new Set(['authorization', 'host', 'audit-id', 'content-length', 'expect']);

/** Sends a request on and streams the answer back. Redirects are passed on, never followed. */
export async function forward(forwarding: Forwarding): Promise<Reply> {
  const { dialer, target, http } = forwarding;
  const asked = headerOf(http.headers, 'upgrade');
  const upgrade = http.upgrade === undefined || asked === undefined ? undefined : asked;
  if (forwarding.mustUpgrade === true && upgrade === undefined) throw badRequest('Upgrade request required');
  // HTTP/2 lets through what would end the request line of HTTP/1.1.
  if (/[^\u0021-\u007e]/.test(forwarding.path)) throw badRequest('the path has characters that must be escaped');
  const { unreachable = upgrade === undefined ? unreachableService : unreachableBackend } = forwarding;
  const backend = await dialer.dial(target, DIAL_TIMEOUT_MS).catch((error: unknown) => {
    throw error instanceof ApiStatusError ? error : unreachable(errorMessage(error));
  });
  http.onFinished(() => backend.destroy());
  if (upgrade !== undefined) return switchOver(forwarding, backend, upgrade);
  return passOn(await answerOf(open(forwarding, backend), forwarding), forwarding);
}

const unreachableService = (why: string): ApiStatusError =>
  new ApiStatusError('ServiceUnavailable', `error trying to reach service: ${why}`);

/** An upgrade is dialed by another part of upstream, whose error has no reason. */
const unreachableBackend = (why: string): ApiStatusError =>
  new ApiStatusError('Unknown', `error dialing backend: ${why}`);

function headersFor({ headers, added = {}, target }: Forwarding): Record<string, string | readonly string[]> {
  const sent = Object.entries(endToEndHeaders(headers))
    .filter(
      ([name]) =>
        !name.startsWith(':') && !name.startsWith('impersonate-') && !isIdentityHeader(name) && !notPassedOn.has(name),
    )
    // A token among the WebSocket protocols is for this server alone.
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
  // One request for each connection: nothing of one client is left for the next. The length is written here, as Node
  // has none for bodies of GET, HEAD and DELETE.
  const sent = { ...headersFor(forwarding), ...framingOf(http.bodyLength), connection: 'close' } as Record<
    string,
    string
  >;
  // Node's types want a socket; any duplex stream will do.
  return httpRequest({ method, path, headers: sent, createConnection: () => backend as never, setHost: false });
}

function framingOf(length: BodyLength): Record<string, string> {
  if (length === 0) return {};
  return length === 'chunked' ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(length) };
}

/** A body with a length has that length on the way out, or breaks off: more would be a request of its own. */
async function* exactly(length: BodyLength, body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (length !== 'chunked' && bytes > length) break;
    yield chunk;
  }
  if (length !== 'chunked' && bytes !== length) throw badRequest('the body is not as long as was announced');
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
    // HTTP/2 has no such status.
    if ((message.statusCode ?? 0) > 599) throw new Error(`the server answered with status ${message.statusCode}`);
    return message;
  } catch (error) {
    request.destroy();
    throw error instanceof ApiStatusError ? error : unreachableService(errorMessage(error));
  }
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
    idleMs: STREAM_IDLE_MS,
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
      // A body that breaks off ends what it passes through with an error, which the pump sees.
      pipeline([message, ...rewriting], () => undefined);
    },
  };
}

/** As fast as the reader takes it. An answer that breaks off breaks off for the reader, too. */
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
