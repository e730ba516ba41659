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
import { COMMAND_V4, SPDY, SPDY_PROTOCOL_HEADER, streamModeOf } from '../../../streaming/protocols.ts';
import { SpdySession } from '../../../streaming/spdy-session.ts';
import { requestUpgrade } from '../../../streaming/upgrade.ts';
import { refuseClient } from '../net/serve-app.ts';

/** A client that requested a raw connection and is authorized for it. */
export interface StreamClient {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

export interface RuntimeStream {
  /** The URL that the runtime returned. */
  readonly url: string;
  /** The streams of a command; undefined for forwarded ports. */
  readonly streams: CommandStreams | undefined;
  readonly idleMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

const DIAL_TIMEOUT_MS = 10_000;
/** How much of an error response of the runtime is shown. */
const MOST_ANSWER_BYTES = 16 * 1024;
/** The client headers that are passed to the runtime. They negotiate a protocol; none of them identifies the user. */
const passedOn = [
  'x-stream-protocol-version',
  'sec-websocket-key',
  'sec-websocket-version',
  'sec-websocket-protocol',
  'user-agent',
];

/** Returns how the client's protocol is passed to the runtime. */
export const runtimeStreamMode = (request: IncomingMessage, streams: CommandStreams | undefined): StreamMode =>
  streamModeOf(request.headers, streams);

/**
 * Connects the client to the runtime's streaming server. The runtime is called first, and the client's connection is
 * upgraded only after its 101. It owns the client's connection, and always answers and closes it. Never rejects.
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

/**
 * Opens the runtime's side of a command that is served here, for the client's request. Rejects with the runtime's
 * error.
 */
export async function openRuntimeSession(
  { request }: Pick<StreamClient, 'request'>,
  { url, clock }: Pick<RuntimeStream, 'url' | 'clock'>,
): Promise<SpdySession> {
  const target = streamingTarget(url);
  const connection = await dial(target, clock);
  const headers = { host: headersFor(request, target.host)['host'] ?? '', [SPDY_PROTOCOL_HEADER]: COMMAND_V4 };
  const answer = await requestUpgrade({
    connection,
    method: 'POST',
    path: target.path,
    headers,
    protocol: SPDY,
    clock,
  });
  if (answer.kind === 'switched') return new SpdySession(answer.connection, answer.head);
  const text = await textOf(answer.response);
  connection.destroy();
  throw new KubeletError('Internal', text.trim());
}

interface StreamingTarget {
  readonly host: string;
  readonly port: number;
  readonly isSecure: boolean;
  readonly path: string;
}

/** Returns the streaming server of a runtime. It must be on this machine; other addresses are rejected. */
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
    // A runtime signs its own certificate, and no other server answers on this loopback address.
    const socket = isSecure ? connectTls({ host, port, rejectUnauthorized: false }) : connectTcp({ host, port });
    const fail = (why: string): void => {
      timer.cancel();
      socket.destroy();
      reject(new KubeletError('Unavailable', `the runtime's streaming server does not respond: ${why}`));
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

/** Returns the protocols in the response, from which a client learns which versions are supported. */
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
