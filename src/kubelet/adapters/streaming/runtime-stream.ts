import { STATUS_CODES } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { connect as connectTcp } from 'node:net';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import type { Clock } from '../../../base/clock.ts';
import { errorKind, errorMessage, KubeletError } from '../../../base/errors.ts';
import { isLoopbackHost } from '../../../base/loopback-host.ts';
import type { Logger } from '../../../base/log.ts';
import { openStream } from '../../../streaming/open-stream.ts';
import type { CommandStreams, StreamMode } from '../../../streaming/protocols.ts';
import { streamModeOf } from '../../../streaming/protocols.ts';

/** A client that asked for a raw connection and may have it. */
export interface StreamClient {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

export interface RuntimeStream {
  /** As the runtime gave it. */
  readonly url: string;
  /** Of a command; undefined for forwarded ports. */
  readonly streams: CommandStreams | undefined;
  readonly idleMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

const DIAL_TIMEOUT_MS = 10_000;
/** What a refusal of the runtime's is shown of. */
const MOST_ANSWER_BYTES = 16 * 1024;
/** Of the client's headers the runtime hears those by which a protocol is agreed on, and nothing of who asked. */
const passedOn = [
  'x-stream-protocol-version',
  'sec-websocket-key',
  'sec-websocket-version',
  'sec-websocket-protocol',
  'user-agent',
];

/** How the client's protocol comes to the runtime. */
export const runtimeStreamMode = (request: IncomingMessage, streams: CommandStreams | undefined): StreamMode =>
  streamModeOf(request.headers, streams);

/**
 * Joins the client to the runtime's streaming server. The runtime is asked first; the connection is a raw one only after its 101. Owns the client's
 * connection: whatever happens, it is answered and ends. Never rejects.
 */
export async function serveRuntimeStream(client: StreamClient, stream: RuntimeStream): Promise<void> {
  const { request, socket } = client;
  const { url, streams, idleMs, clock, log } = stream;
  let connection: Duplex | undefined;
  try {
    const target = streamingTarget(url);
    connection = await dial(target, clock);
    const opened = await openStream({
      connection,
      method: request.method ?? 'GET',
      path: target.path,
      headers: headersFor(request, target.host),
      protocol: request.headers.upgrade ?? '',
      mode: runtimeStreamMode(request, streams),
      clock,
      idleMs,
    });
    if (socket.destroyed) connection.destroy();
    else if (opened.kind === 'switched') opened.take(client);
    else {
      refuseClient(socket, {
        status: opened.response.statusCode ?? 502,
        body: await textOf(opened.response),
        headers: protocolsOf(opened.response),
      });
      connection.destroy();
    }
  } catch (error) {
    connection?.destroy();
    log.error('Error while proxying request', {
      path: request.url?.split('?', 1)[0],
      error: errorMessage(error),
      kind: errorKind(error),
    });
    refuseClient(socket, { status: 500, body: `${errorMessage(error)}\n` });
  }
}

/** A plain answer to a client that hoped for more; the connection ends with it. */
export function refuseClient(
  socket: Duplex,
  {
    status,
    body,
    headers = [],
  }: { readonly status: number; readonly body: string; readonly headers?: readonly string[] },
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

interface StreamingTarget {
  readonly host: string;
  readonly port: number;
  readonly isSecure: boolean;
  readonly path: string;
}

/** A streaming server of a runtime is on this machine; whatever else it names is not gone to. */
function streamingTarget(text: string): StreamingTarget {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new KubeletError('Internal', `the runtime gave no URL to stream from: ${JSON.stringify(text.slice(0, 200))}`);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (!isLoopbackHost(host))
    throw new KubeletError('Internal', `the runtime's streaming server ${url.host} is not on a loopback address`);
  const isSecure = url.protocol === 'https:';
  return {
    host,
    port: url.port === '' ? (isSecure ? 443 : 80) : Number(url.port),
    isSecure,
    path: `${url.pathname}${url.search}`,
  };
}

function dial({ host, port, isSecure }: StreamingTarget, clock: Clock): Promise<Socket> {
  return new Promise((resolve, reject) => {
    // A runtime signs its own certificate, and nobody else answers on a loopback address.
    const socket = isSecure ? connectTls({ host, port, rejectUnauthorized: false }) : connectTcp({ host, port });
    const fail = (why: string): void => {
      timer.cancel();
      socket.destroy();
      reject(new KubeletError('Unavailable', `the runtime's streaming server does not answer: ${why}`));
    };
    const timer = clock.setTimer(DIAL_TIMEOUT_MS, () => fail('timeout'));
    const onError = (error: Error): void => fail(error.message);
    socket.once('error', onError);
    socket.once(isSecure ? 'secureConnect' : 'connect', () => {
      timer.cancel();
      socket.off('error', onError);
      socket.setNoDelay(true);
      resolve(socket);
    });
  });
}

function headersFor(request: IncomingMessage, host: string): Record<string, string | readonly string[]> {
  const headers: Record<string, string | readonly string[]> = { host: host.includes(':') ? `[${host}]` : host };
  for (const name of passedOn) {
    const value = request.headers[name];
    if (value !== undefined) headers[name] = value;
  }
  return headers;
}

/** By these a client learns which versions it could have asked for. */
function protocolsOf(response: IncomingMessage): readonly string[] {
  const accepted = response.headers['x-accepted-stream-protocol-versions'];
  return accepted === undefined ? [] : [`X-Accepted-Stream-Protocol-Versions: ${String(accepted)}`];
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= MOST_ANSWER_BYTES) break;
  }
  return Buffer.concat(chunks).subarray(0, MOST_ANSWER_BYTES).toString('utf8');
}
