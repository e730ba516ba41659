import type { IncomingMessage } from 'node:http';
import { Duplex } from 'node:stream';
import type { RawData, WebSocket } from 'ws';
import { KubeletError } from '../base/errors.ts';

/** As golang.org/x/net/websocket, which upstream reads with. */
const MOST_MESSAGE_BYTES = 32 * 1024 * 1024;
/** More than this waiting for a client is a client that is behind. */
const MOST_WAITING_BYTES = 256 * 1024;

/** A client that asks for a WebSocket, before it is answered. */
export interface WebSocketClient {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

/**
 * Answers the handshake with `protocol`, or with none when it is empty. The library is loaded with the first one. A
 * handshake that is wrong is refused with 400 by the library, and the promise never settles: the client is gone.
 * The names of tunnels (`SPDY/3.1+...`) are no names to the library, so it does not see what was asked for.
 */
export async function acceptWebSocket(
  { request, socket, head }: WebSocketClient,
  protocol: string,
  mostMessageBytes = MOST_MESSAGE_BYTES,
): Promise<WebSocket> {
  const { WebSocketServer } = await import('ws');
  const server = new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload: mostMessageBytes });
  if (protocol !== '') server.on('headers', (headers) => headers.push(`Sec-WebSocket-Protocol: ${protocol}`));
  const { 'sec-websocket-protocol': _asked, ...headers } = request.headers;
  const unnamed = Object.create(request, { headers: { value: headers } }) as IncomingMessage;
  return new Promise((resolve) => {
    server.handleUpgrade(unnamed, socket, head, (webSocket) => {
      // Until there is a reader: a message without a listener is lost.
      webSocket.pause();
      resolve(webSocket);
    });
  });
}

/** The messages of a WebSocket as messages: whole, in order, and none while the last one is still being worked on. */
export function readMessages(
  webSocket: WebSocket,
  handlers: { readonly onMessage: (data: Buffer) => boolean; readonly onClose: () => void },
): { resume(): void } {
  webSocket.binaryType = 'nodebuffer';
  webSocket.on('message', (data: RawData) => {
    if (!handlers.onMessage(data as Buffer)) webSocket.pause();
  });
  webSocket.on('error', () => webSocket.terminate());
  webSocket.on('close', handlers.onClose);
  webSocket.resume();
  return { resume: () => webSocket.resume() };
}

/** Sends, and calls back when there is room for more. */
export function sendMessage(webSocket: WebSocket, data: Buffer, done: (error?: Error | null) => void): void {
  if (webSocket.readyState !== webSocket.OPEN) return done(new KubeletError('Unavailable', 'the WebSocket is closed'));
  const isBehind = webSocket.bufferedAmount > MOST_WAITING_BYTES;
  webSocket.send(data, { binary: true }, isBehind ? (error) => done(error ?? null) : undefined);
  if (!isBehind) done();
}

/** A WebSocket whose messages are pieces of one stream of bytes, as tunnels of Kubernetes are. */
export function webSocketDuplex(webSocket: WebSocket): Duplex {
  const duplex = new Duplex({
    read: () => messages.resume(),
    write: (chunk: Buffer, _encoding, done) => sendMessage(webSocket, chunk, done),
    final: (done) => {
      webSocket.close(1000);
      done();
    },
    destroy: (error, done) => {
      // What was sent before still goes out with a close; a peer that does not answer it is cut by the library.
      if (webSocket.readyState === webSocket.OPEN) webSocket.close(1000);
      done(error);
    },
  });
  const messages = readMessages(webSocket, {
    onMessage: (data) => duplex.push(data),
    onClose: () => void duplex.push(null),
  });
  duplex.on('error', () => webSocket.terminate());
  return duplex;
}
