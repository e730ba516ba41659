import type { IncomingMessage } from 'node:http';
import { Duplex } from 'node:stream';
import type { RawData, WebSocket } from 'ws';
import { KubeletError } from '../base/errors.ts';

/** The limit of golang.org/x/net/websocket, which upstream uses. */
const MOST_MESSAGE_BYTES = 32 * 1024 * 1024;
/** A client for which more than this waits is slow, and its sender must wait. */
const MOST_WAITING_BYTES = 256 * 1024;

/** A client that has asked for a WebSocket and was not answered yet. */
export interface WebSocketClient {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

/**
 * Completes the handshake with `protocol`; empty: without one. The library is loaded on first use. The library refuses
 * an invalid handshake with 400, and the promise then never settles. The library does not accept the protocol names of
 * tunnels (`SPDY/3.1+...`), so it is not given the requested names.
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
      // Paused until there is a reader: a message without a listener is lost.
      webSocket.pause();
      resolve(webSocket);
    });
  });
}

/** Delivers the messages of a WebSocket: whole, in order, and each only after the previous one was handled. */
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

/** Sends a message, and calls back when there is room for more. */
export function sendMessage(webSocket: WebSocket, data: Buffer, done: (error?: Error | null) => void): void {
  if (webSocket.readyState !== webSocket.OPEN) return done(new KubeletError('Unavailable', 'the WebSocket is closed'));
  const isBehind = webSocket.bufferedAmount > MOST_WAITING_BYTES;
  webSocket.send(data, { binary: true }, isBehind ? (error) => done(error ?? null) : undefined);
  if (!isBehind) done();
}

/** A WebSocket as one stream of bytes: its messages are pieces of the stream, as in the tunnels of Kubernetes. */
export function webSocketDuplex(webSocket: WebSocket): Duplex {
  const duplex = new Duplex({
    read: () => messages.resume(),
    write: (chunk: Buffer, _encoding, done) => sendMessage(webSocket, chunk, done),
    final: (done) => {
      webSocket.close(1000);
      done();
    },
    destroy: (error, done) => {
      // A close sends what was written before it. The library cuts the connection of a peer that does not answer the
      // close.
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
