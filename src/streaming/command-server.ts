import type { IncomingMessage } from 'node:http';
import { duplexPair } from 'node:stream';
import type { Duplex } from 'node:stream';
import type { Clock } from '../base/clock.ts';
import { KubeletError } from '../base/errors.ts';
import { cutWhenIdle } from './join-connections.ts';
import { COMMAND_V4, COMMAND_V5, SPDY, SPDY_PROTOCOL_HEADER, webSocketProtocols } from './protocols.ts';
import type { CommandStreams } from './protocols.ts';
import { bridgeCommand } from './remote-command.ts';
import { SpdySession } from './spdy-session.ts';
import type { SpdyStream } from './spdy-session.ts';
import { acceptWebSocket } from './web-socket.ts';
import type { WebSocketClient } from './web-socket.ts';

/** The streams of one command, as its client opened them. The client reads what is written to `stdout`. */
export interface CommandEnds {
  readonly session: SpdySession;
  readonly error: SpdyStream;
  readonly stdin: SpdyStream | undefined;
  readonly stdout: SpdyStream | undefined;
  readonly stderr: SpdyStream | undefined;
  readonly resize: SpdyStream | undefined;
  /** Must be called for all data that passes. */
  readonly onActivity: () => void;
  /** Must be called when everything was written and ended. */
  close(): void;
}

export interface CommandServing {
  readonly streams: CommandStreams;
  readonly clock: Clock;
  readonly idleMs: number;
}

/** The same limit as upstream (cri-streaming: streamCreationTimeout). */
const OPENING_LIMIT_MS = 30_000;

/** On an idle machine, kubectl needs less than a millisecond from the answer until its channels are ready. */
const SETTLING_LIMIT_MS = 50;

/**
 * The WebSocket versions that can be served, in order of preference. In version 4, which the official clients for
 * Python and JavaScript use, standard input ends only with the connection.
 */
export const everyVersion: readonly string[] = [COMMAND_V5, COMMAND_V4];

/**
 * Whether this client's command can be served here: it uses SPDY version 4, or WebSocket with one of
 * `webSocketVersions`. Other clients need a server that supports their protocol.
 */
export function isServable(
  { headers }: Pick<IncomingMessage, 'headers'>,
  webSocketVersions: readonly string[] = [COMMAND_V5],
): boolean {
  const protocol = headers.upgrade?.toLowerCase();
  if (protocol === 'websocket') return webSocketProtocols(headers).some((each) => webSocketVersions.includes(each));
  const versions = String(headers[SPDY_PROTOCOL_HEADER] ?? '')
    .split(',')
    .map((each) => each.trim());
  return protocol === SPDY.toLowerCase() && versions.includes(COMMAND_V4);
}

/**
 * Answers the upgrade of a client that is `isServable`, and waits for its streams. If they do not arrive in time, it
 * rejects and closes the client's connection.
 */
export async function acceptCommand(client: WebSocketClient, serving: CommandServing): Promise<CommandEnds> {
  const { socket, request } = client;
  const onActivity = cutWhenIdle([socket], serving);
  if (request.headers.upgrade?.toLowerCase() === 'websocket') {
    const asked = webSocketProtocols(request.headers);
    const version = everyVersion.find((each) => asked.includes(each)) ?? COMMAND_V5;
    const webSocket = await acceptWebSocket(client, version);
    const [own, other] = duplexPair();
    // Closing the pair would lose data that is still on its way to the WebSocket. The bridge closes the pair when it
    // has passed on the end of each stream.
    const ends = streamsOf(own, Buffer.alloc(0), { ...serving, onActivity }).then((opened) => ({
      ...opened,
      close: () => undefined,
    }));
    const bridged = bridgeCommand({
      webSocket,
      session: new SpdySession(other, Buffer.alloc(0)),
      streams: serving.streams,
      onActivity,
      settling: { clock: serving.clock, limitMs: SETTLING_LIMIT_MS },
    });
    void Promise.all([bridged, ends]).catch(() => socket.destroy());
    return ends;
  }
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${SPDY}\r\nX-Stream-Protocol-Version: ${COMMAND_V4}\r\n\r\n`,
  );
  return streamsOf(socket, client.head, { ...serving, onActivity });
}

function streamsOf(
  connection: Duplex,
  head: Buffer,
  { streams, clock, onActivity }: CommandServing & { readonly onActivity: () => void },
): Promise<CommandEnds> {
  const { tty, ...asked } = streams;
  const wanted = new Set([
    'error',
    ...Object.entries({ ...asked, resize: tty }).flatMap(([name, isWanted]) => (isWanted ? [name] : [])),
  ]);
  return new Promise((resolve, reject) => {
    const opened = new Map<string, SpdyStream>();
    let isOpen = false;
    const fail = (why: string): void => {
      if (isOpen) return;
      timer.cancel();
      connection.destroy();
      reject(new KubeletError('Unavailable', why));
    };
    const timer = clock.setTimer(OPENING_LIMIT_MS, () => fail('the client did not open its streams in time'));
    const session = new SpdySession(connection, Buffer.alloc(0), (stream, headers) => {
      const type = headers.get('streamtype') ?? '';
      if (!wanted.has(type) || opened.has(type)) return false;
      opened.set(type, stream);
      const error = opened.get('error');
      if (opened.size === wanted.size && error !== undefined) {
        isOpen = true;
        timer.cancel();
        resolve({
          session,
          error,
          stdin: opened.get('stdin'),
          stdout: opened.get('stdout'),
          stderr: opened.get('stderr'),
          resize: opened.get('resize'),
          onActivity,
          close: () => session.finish(clock),
        });
      }
      return true;
    });
    session.onClose(() => fail('the client left before its streams were open'));
    if (head.length > 0) connection.unshift(head);
  });
}
