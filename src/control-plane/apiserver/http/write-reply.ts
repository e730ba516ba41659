import { once } from 'node:events';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { finished } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { headerOf } from './http-request.ts';
import type { HttpRequest } from './http-request.ts';
import type { NodeRequest, NodeResponse } from './node-request.ts';
import { bytesOf } from './reply.ts';
import type { BodyReply, ReplyHeaders, ReplyStream, StreamReply } from './reply.ts';
import { unsentBytes, writeCounted } from './unsent-bytes.ts';

export interface WriteOptions {
  readonly gzipFromBytes: number;
}

/** Writes a response of known length. Resolves when it was passed to the connection. */
export async function writeBody(
  http: HttpRequest,
  response: NodeResponse,
  reply: BodyReply,
  { gzipFromBytes }: WriteOptions,
): Promise<void> {
  const { body } = reply;
  const headers: Record<string, string | readonly string[]> = { ...reply.headers };
  if (http.protocol !== 'HTTP/2.0' && http.method !== 'HEAD' && !isRead(http)) headers.connection = 'close';
  const length = bytesOf(body);
  if (
    length > gzipFromBytes &&
    takesGzip(http) &&
    headers['content-encoding'] === undefined &&
    http.method !== 'HEAD'
  ) {
    const packed = await compress(body);
    return send(
      response,
      reply.status,
      { ...headers, 'content-encoding': 'gzip', vary: 'Accept-Encoding', 'content-length': String(packed.length) },
      packed,
    );
  }
  headers['content-length'] = String(length);
  if (http.method === 'HEAD') return send(response, reply.status, headers, '');
  if (!Array.isArray(body)) return send(response, reply.status, headers, body as string | Uint8Array);
  writeHead(response, reply.status, headers);
  await writePieces(response, body as readonly Uint8Array[]);
}

/** Whether the body was read. An unread body is not awaited: the connection ends after the response. */
const isRead = (http: HttpRequest): boolean => http.bodyLength === 0 || http.bodyStream().readableEnded;

const takesGzip = ({ headers }: HttpRequest): boolean =>
  /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:,|$))/.test(headerOf(headers, 'accept-encoding') ?? '');

/**
 * The number of bytes of a long response that are written ahead of its reader. Waiting after each piece would cost a
 * turn of the event loop each time, which is long on a busy server.
 */
const AHEAD_BYTES = 1024 * 1024;

const PACKED_CHUNK_BYTES = 256 * 1024;
/**
 * The size of the parts of a compressed response. Each part takes a turn of the event loop, which is long on a busy
 * server.
 */
const PACKED_PART_BYTES = 2 * 1024 * 1024;

/** Joins the pieces into parts of about this size. */
function* joined(pieces: readonly Uint8Array[]): Generator<Uint8Array> {
  let from = 0;
  let bytes = 0;
  for (const [index, piece] of pieces.entries()) {
    bytes += piece.length;
    if (bytes < PACKED_PART_BYTES && index < pieces.length - 1) continue;
    yield Buffer.concat(pieces.slice(from, index + 1));
    from = index + 1;
    bytes = 0;
  }
}

/** Compresses the body part by part in the thread pool, with level 1 as in upstream. */
async function compress(body: BodyReply['body']): Promise<Buffer> {
  const packer = createGzip({ level: 1, chunkSize: PACKED_CHUNK_BYTES });
  const packed: Buffer[] = [];
  packer.on('data', (chunk: Buffer) => packed.push(chunk));
  const done = finished(packer);
  for (const part of typeof body === 'string' || body instanceof Uint8Array ? [body] : joined(body))
    if (!packer.write(part)) await once(packer, 'drain');
  packer.end();
  await done;
  return Buffer.concat(packed);
}

function writeHead(
  response: NodeResponse,
  status: number,
  headers: Readonly<Record<string, string | readonly string[]>>,
): void {
  // Both response types accept the same arguments, but their union type does not show that.
  (response as { writeHead(status: number, headers: object): unknown }).writeHead(status, headers);
}

function send(
  response: NodeResponse,
  status: number,
  headers: Readonly<Record<string, string | readonly string[]>>,
  body: string | Uint8Array,
): void {
  writeHead(response, status, headers);
  if ('stream' in response && body.length > 0) {
    writeCounted(response, body);
    response.end();
  } else (response as { end(body: string | Uint8Array): unknown }).end(body);
}

async function writePieces(response: NodeResponse, pieces: readonly Uint8Array[]): Promise<void> {
  for (const piece of pieces) {
    if (isGone(response)) return;
    if (!writeCounted(response, piece) && unsentBytes(response) > AHEAD_BYTES) await drained(response);
  }
  if (!isGone(response)) response.end();
}

const isGone = (response: NodeResponse): boolean => response.destroyed || response.writableEnded;

function drained(response: NodeResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.on('drain', done);
    response.on('close', done);
  });
}

/** Sends the head; the reply writes the rest. */
export function writeStream(http: HttpRequest, response: NodeResponse, reply: StreamReply): void {
  const headers: Record<string, string | readonly string[]> = { ...reply.headers };
  // The unread body of a request must not delay the end of the connection.
  if (http.protocol === 'HTTP/1.0') headers.connection = 'close';
  writeHead(response, reply.status, headers);
  (response as { flushHeaders(): void }).flushHeaders();
  reply.start(streamOf(response));
}

/** Responds to an invalid request. Its body is not read, and on HTTP/1 the connection is closed. */
export function refuseHead(request: NodeRequest, response: NodeResponse, { status, headers, body }: BodyReply): void {
  if ('stream' in request) {
    const { stream } = request;
    response.on('finish', () => stream.close());
  }
  send(
    response,
    status,
    { ...headers, 'content-length': String(bytesOf(body)), ...(!('stream' in request) && { connection: 'close' }) },
    body as string,
  );
}

function streamOf(response: NodeResponse): ReplyStream {
  let isClosed = false;
  const closing: (() => void)[] = [];
  const close = (): void => {
    if (isClosed) return;
    isClosed = true;
    for (const listener of closing.splice(0)) listener();
  };
  response.on('close', close);
  response.on('error', close);
  return {
    write: (chunk) => isGone(response) || writeCounted(response, chunk),
    onDrain: (listener) => void response.on('drain', listener),
    onClose: (listener) => (isClosed ? listener() : void closing.push(listener)),
    end: () => {
      if (!isGone(response)) response.end();
    },
    destroy: () => ('stream' in response ? response.stream.destroy() : void response.destroy()),
  };
}

/** Responds to a rejected upgrade. The connection is closed afterwards. */
export function writeRaw(socket: Duplex, reply: BodyReply, reason: string): void {
  const body =
    typeof reply.body === 'string'
      ? Buffer.from(reply.body)
      : reply.body instanceof Uint8Array
        ? reply.body
        : Buffer.concat(reply.body);
  const headers = { ...reply.headers, 'content-length': String(body.length) };
  leaveAfterAnswer(socket);
  socket.end(Buffer.concat([rawHead(reply.status, reason, headers), body]));
}

/** Does the same for a response of unknown length, which ends with the connection. */
export function writeRawStream(socket: Duplex, reply: StreamReply, reason: string): void {
  const headers = Object.fromEntries(Object.entries(reply.headers).filter(([name]) => name !== 'content-length'));
  leaveAfterAnswer(socket);
  socket.write(rawHead(reply.status, reason, headers));
  reply.start({
    write: (chunk) => socket.destroyed || socket.write(chunk),
    onDrain: (listener) => void socket.on('drain', listener),
    onClose: (listener) => void socket.once('close', listener),
    end: () => void socket.end(),
    destroy: () => void socket.destroy(),
  });
}

/** The maximum number of bytes that are read after a rejected upgrade. */
const DISCARDED_BYTES = 64 * 1024;
const LEAVE_MS = 5000;

/**
 * Reads and discards data that the client sent after its request. Unread data would hide the end of the connection,
 * which would then stay open permanently. Closing immediately would reset the connection, and the response would be
 * lost.
 */
function leaveAfterAnswer(socket: Duplex): void {
  socket.once('finish', () => {
    let discarded = 0;
    socket.on('data', (chunk: Buffer) => {
      discarded += chunk.length;
      if (discarded > DISCARDED_BYTES) socket.destroy();
    });
    socket.once('end', () => socket.destroy());
    if (socket instanceof Socket) socket.setTimeout(LEAVE_MS, () => socket.destroy());
  });
}

/**
 * Characters that a header cannot contain. Those beyond Latin-1 are included, because some become line breaks when
 * truncated to a byte.
 */
const unfit = /[^\t\u0020-\u007e\u0080-\u00ff]/g;

function rawHead(status: number, reason: string, headers: ReplyHeaders): Buffer {
  const lines = [`HTTP/1.1 ${status} ${reason}`];
  for (const [name, value] of Object.entries(headers))
    for (const each of typeof value === 'string' ? [value] : value) lines.push(`${name}: ${each.replace(unfit, ' ')}`);
  return Buffer.from([...lines, 'connection: close', '', ''].join('\r\n'), 'latin1');
}
