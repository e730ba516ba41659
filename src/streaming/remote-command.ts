import { Buffer } from 'node:buffer';
import type { WebSocket } from 'ws';
import type { Clock } from '../base/clock.ts';
import { channels } from './protocols.ts';
import type { CommandStreams } from './protocols.ts';
import type { SpdySession, SpdyStream } from './spdy-session.ts';
import { readMessages, sendMessage } from './web-socket.ts';

export interface CommandBridge {
  /** The client's connection, with version 5. */
  readonly webSocket: WebSocket;
  /** The connection to the server of the command, with version 4. */
  readonly session: SpdySession;
  readonly streams: CommandStreams;
  /** Called for all data that passes. */
  readonly onActivity: () => void;
  /**
   * Set when output may arrive immediately: how long it is held for a client that sends nothing. kubectl 1.31 and 1.32
   * discard what arrives before their channels are ready.
   */
  readonly settling?: { readonly clock: Clock; readonly limitMs: number };
}

const MOST_STATUS_BYTES = 64 * 1024;
const MOST_RESIZE_BYTES = 1024;

/**
 * Translates one command between a WebSocket with channels (v5) and SPDY with streams (v4); upstream:
 * apiserver/pkg/util/proxy/streamtranslator.go. The first message is empty and tells the client that the connection is
 * ready. The last message is the status. When either side closes, both are closed.
 */
export async function bridgeCommand({
  webSocket,
  session,
  streams,
  onActivity,
  settling,
}: CommandBridge): Promise<void> {
  const { promise: heard, resolve: hear } = Promise.withResolvers<void>();
  const open = (streamType: string): SpdyStream => session.open({ streamType });
  // The order in which upstream's client opens them.
  const error = open('error');
  const stdin = streams.stdin ? open('stdin') : undefined;
  const stdout = streams.stdout ? open('stdout') : undefined;
  const stderr = streams.stderr ? open('stderr') : undefined;
  const resize = streams.tty ? open('resize') : undefined;
  const send = (channel: number, data: Uint8Array): Promise<void> => {
    onActivity();
    // One that is gone is noticed by its close.
    return new Promise((resolve) => sendMessage(webSocket, Buffer.concat([Buffer.of(channel), data]), () => resolve()));
  };
  const copy = async (stream: SpdyStream | undefined, channel: number): Promise<void> => {
    if (stream !== undefined) for await (const chunk of chunksOf(stream)) await send(channel, chunk);
  };
  const input = readMessages(webSocket, {
    onMessage: (message) => {
      onActivity();
      hear();
      return takeMessage(message, { stdin, resize });
    },
    onClose: () => {
      hear();
      session.close();
    },
  });
  // The peer sends no data on these streams; reading them detects their end.
  stdin?.resume();
  resize?.resume();
  stdin?.on('drain', input.resume);
  stdin?.on('close', input.resume);
  if (settling !== undefined) {
    const timer = settling.clock.setTimer(settling.limitMs, hear);
    await heard;
    timer.cancel();
  }
  await send(streams.stdout ? channels.stdout : streams.stderr ? channels.stderr : channels.error, Buffer.alloc(0));
  const [text] = await Promise.all([readStatus(error), copy(stdout, channels.stdout), copy(stderr, channels.stderr)]);
  await send(channels.error, Buffer.from(statusMessage(text, error.remote === 'lost'), 'utf8'));
  // The client's answer to the close is a message like any other.
  input.resume();
  webSocket.close(1000);
  session.close();
}

/** False: standard input is not read fast enough. */
function takeMessage(
  message: Buffer,
  { stdin, resize }: { readonly stdin: SpdyStream | undefined; readonly resize: SpdyStream | undefined },
): boolean {
  const [channel] = message;
  const body = message.subarray(1);
  if (channel === channels.close) {
    if (body[0] === channels.stdin && stdin !== undefined && !stdin.destroyed) stdin.end();
    return true;
  }
  if (channel === channels.resize && resize !== undefined && body.length <= MOST_RESIZE_BYTES && isWritable(resize))
    resize.write(body);
  // Input after its end, or that the command no longer reads, is dropped.
  if (channel !== channels.stdin || body.length === 0 || stdin === undefined || !isWritable(stdin)) return true;
  return stdin.write(body);
}

const isWritable = (stream: SpdyStream): boolean => !stream.destroyed && !stream.writableEnded;

/**
 * Yields all data and leaves the stream open. Destroying the stream would send a frame; a runtime that closes with
 * unread data resets the connection, and a status that is still on its way would be lost.
 */
const chunksOf = (stream: SpdyStream): AsyncIterable<Buffer> => stream.iterator({ destroyOnReturn: false });

/** The complete content of the error stream. */
export async function readStatus(stream: SpdyStream): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunksOf(stream)) {
    bytes += chunk.length;
    if (bytes <= MOST_STATUS_BYTES) chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Always a metav1.Status. A status from the runtime is passed on unchanged, because it contains the exit code. */
export function statusMessage(text: string, isLost: boolean): string {
  if (text !== '') return isObject(text) ? text : JSON.stringify(failure(text));
  return JSON.stringify(
    isLost ? failure('the connection ended before the command did') : { metadata: {}, status: 'Success' },
  );
}

const failure = (why: string): object => ({
  metadata: {},
  status: 'Failure',
  message: `Internal error occurred: ${why}`,
  reason: 'InternalError',
  details: { causes: [{ message: why }] },
  code: 500,
});

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null;
  } catch {
    return false;
  }
}
