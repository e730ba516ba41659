import { STATUS_CODES } from 'node:http';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { readNodeHead } from '../../../base/node-head.ts';
import { plainPath } from '../../../base/request-head.ts';
import type { RequestHead } from '../../../base/request-head.ts';
import { nextTurn } from '../../../base/turn.ts';
import { untilDrained } from '../../../base/until-drained.ts';

/** An app that uses web standards, such as a Hono app. */
export interface FetchApp {
  fetch(request: Request): Response | Promise<Response>;
}

/** A request as it is authorized and routed. */
export interface KubeletRequest extends Pick<RequestHead, 'method' | 'body'> {
  /** The path, percent-decoded, without the query, and unambiguous. */
  readonly path: string;
  /** The query with its `?`, as sent. */
  readonly search: string;
}

export interface Refusal {
  readonly status: number;
  readonly body: string;
}

/** How long a client that does not read, or does not stop sending, is awaited. */
const LINGER_MS = 500;

export type KubeletReading =
  | { readonly outcome: 'request'; readonly asked: KubeletRequest }
  | ({ readonly outcome: 'refused' } & Refusal);

/**
 * Reads the target of a Node request. The head is parsed once, so that the same request always gives the same value.
 */
export function readKubeletRequest(request: IncomingMessage): KubeletReading {
  const reading = readNodeHead(request);
  if (reading.outcome === 'refused')
    return { outcome: 'refused', status: reading.status, body: `${STATUS_CODES[reading.status]}: ${reading.why}\n` };
  const { target, ...head } = reading.head;
  // The absolute form is for proxies, and no client of a kubelet sends it.
  const path = request.url?.startsWith('/') === true ? plainPath(target) : undefined;
  return path === undefined
    ? { outcome: 'refused', status: 400, body: 'Bad Request: the path can be read in two ways\n' }
    : { outcome: 'request', asked: { ...head, path, search: target.search } };
}

/**
 * Returns the URL for the app's routing: a fixed host, and the authorized path. A URL parser does not change the result
 * of `encodeURI`.
 */
const urlOf = ({ path, search }: KubeletRequest): string => `http://kubelet${encodeURI(path)}${search}`;

/**
 * Answers a request with an app, with back-pressure. Rejects if the app fails or its response breaks off; the caller
 * then ends the connection.
 */
export async function serveApp(
  app: FetchApp,
  asked: KubeletRequest,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (isLast(request)) response.setHeader('connection', 'close');
  const abort = new AbortController();
  response.on('close', () => {
    if (!response.writableFinished) abort.abort();
  });
  const hasBody = asked.method !== 'GET' && asked.method !== 'HEAD' && asked.body !== 0;
  // Node's stream types and the web's are not compatible.
  const body = hasBody ? { body: bodyOf(request), duplex: 'half' } : {};
  const answer = await app.fetch(
    new Request(urlOf(asked), {
      method: asked.method,
      headers: headersOf(request),
      signal: abort.signal,
      ...body,
    } as RequestInit),
  );
  if (!request.complete) lingerBriefly(request, response);
  await writeAnswer(answer, response);
}

/**
 * Refuses a request without reading its body. After a request with a body, or an invalid one, the connection cannot be
 * reused.
 */
export function refuseRequest(response: ServerResponse, { status, body }: Refusal): void {
  const reading = readNodeHead(response.req);
  if (reading.outcome === 'refused' || reading.head.body !== 0 || isLast(response.req))
    response.setHeader('connection', 'close');
  response.writeHead(status, {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
}

/** Refuses a request on a connection that Node has passed on. The connection ends with the response. */
export function refuseClient(
  socket: Duplex,
  { status, body, headers = [] }: Refusal & { readonly headers?: readonly string[] },
): void {
  if (socket.destroyed) return;
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Unknown'}`,
    'Content-Type: text/plain; charset=utf-8',
    'X-Content-Type-Options: nosniff',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    ...headers,
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

/** Handles the servers' `connect` event: tunnels are not supported. */
export function refuseTunnel(_request: IncomingMessage, socket: Duplex): void {
  socket.on('error', () => socket.destroy());
  refuseClient(socket, { status: 405, body: 'Method Not Allowed\n' });
}

/**
 * Whether the connection must end after this request. After an ignored upgrade, Node's parser does not answer a
 * malformed next request.
 */
const isLast = ({ headers }: IncomingMessage): boolean => headers.upgrade !== undefined;

/** Returns the headers without `Host`, because no app may depend on the name under which it was reached. */
function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.toLowerCase() !== 'host') headers.append(name, rawHeaders[index + 1] ?? '');
  }
  return headers;
}

function bodyOf(request: IncomingMessage): ReadableStream<Uint8Array> {
  const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>;
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    const { done, value } = await chunks.next();
    if (done === true) controller.close();
    else controller.enqueue(value);
  };
  return new ReadableStream({ pull }, { highWaterMark: 0 });
}

/** Discards the rest of a body that the app did not read, as far as it arrives immediately. */
function lingerBriefly(request: IncomingMessage, response: ServerResponse): void {
  response.once('finish', () => {
    if (request.complete) return;
    request.resume();
    const timer = setTimeout(() => request.socket.destroy(), LINGER_MS);
    request.once('close', () => clearTimeout(timer));
    request.once('end', () => clearTimeout(timer));
  });
}

async function writeAnswer(answer: Response, response: ServerResponse): Promise<void> {
  const headers = nodeHeaders(answer.headers);
  // An app that sets this header wants its head to be sent immediately. Node chooses the encoding itself.
  const isStream = headers['transfer-encoding'] !== undefined;
  delete headers['transfer-encoding'];
  const reader = answer.body?.getReader();
  if (reader === undefined) {
    response.writeHead(answer.status, headers).end();
    return;
  }
  const cancel = (): void => void reader.cancel().catch(() => undefined);
  response.once('close', cancel);
  if (response.destroyed) cancel();
  const { chunks, rest } = isStream ? { chunks: [], rest: reader.read() } : await readAtOnce(reader);
  if (rest === undefined && headers['content-length'] === undefined)
    headers['content-length'] = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  response.writeHead(answer.status, headers);
  if (rest !== undefined) response.flushHeaders();
  for (const chunk of chunks) await write(response, chunk);
  for (let next = await rest; next !== undefined && !next.done; next = await reader.read())
    await write(response, next.value);
  response.off('close', cancel);
  response.end();
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

/**
 * Reads the part of a response that is available without waiting, so that a short response has a length. Returns it
 * with the rest, if there is more.
 */
async function readAtOnce(
  reader: Reader,
): Promise<{ readonly chunks: readonly Uint8Array[]; readonly rest: ReturnType<Reader['read']> | undefined }> {
  const chunks: Uint8Array[] = [];
  for (;;) {
    const next = reader.read();
    const now = chunks.length < 2 ? await Promise.race([next, nextTurn()]) : undefined;
    if (now === undefined) return { chunks, rest: next };
    if (now.done) return { chunks, rest: undefined };
    chunks.push(now.value);
  }
}

function nodeHeaders(headers: Headers): OutgoingHttpHeaders {
  const cookies = headers.getSetCookie();
  return { ...Object.fromEntries(headers), ...(cookies.length > 0 && { 'set-cookie': cookies }) };
}

async function write(response: ServerResponse, chunk: Uint8Array): Promise<void> {
  if (!response.destroyed && !response.write(chunk)) await untilDrained(response);
}
