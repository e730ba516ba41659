import type { IncomingMessage } from 'node:http';
import type { WebSocket } from 'ws';
import { ApiStatusError, badRequest } from '../../../api/status/api-status-error.ts';
import { webSocketProtocols } from '../../../streaming/protocols.ts';
import { acceptWebSocket } from '../../../streaming/web-socket.ts';
import type { HttpRequest } from '../http/http-request.ts';
import type { Reply, ReplyStream, StreamReply } from '../http/reply.ts';

/** The number of buffered bytes in the socket at which reading the log pauses. */
const HIGH_WATER_BYTES = 65_536;
/** The maximum size of a message, as in upstream. */
const MESSAGE_BYTES = 2048;
/** The limit of messages from clients, which have nothing to send. */
const MOST_RECEIVED_BYTES = 65_536;
const BINARY = 'binary.k8s.io';
const BASE64 = 'base64.binary.k8s.io';

/**
 * Selects the WebSocket protocol for a client: the first known one, or '' if the client requests none (upstream:
 * streaming/pkg/httpstream/wsstream NewDefaultReaderProtocols). Returns undefined without an upgrade. Throws Forbidden
 * for unknown protocols, as upstream's handshake does, and BadRequest for other upgrades.
 */
export function logProtocolOf({ upgrade, headers }: Pick<HttpRequest, 'upgrade' | 'headers'>): string | undefined {
  if (upgrade === undefined) return undefined;
  const { upgrade: asked, 'sec-websocket-protocol': offered } = headers;
  if (String(asked).toLowerCase() !== 'websocket') throw badRequest('a log is served over WebSocket only');
  const protocols = webSocketProtocols({ 'sec-websocket-protocol': offered });
  // A token among the protocols is meant only for this server.
  const named = protocols.filter((each) => !each.startsWith('base64url.bearer.'));
  const found = named.length === 0 ? '' : named.find((each) => each === BINARY || each === BASE64);
  if (found === undefined)
    throw new ApiStatusError(
      'Forbidden',
      `requested protocol(s) are not supported: [${named.join(' ')}]; supports [ ${BINARY} ${BASE64}]`,
    );
  return found;
}

/** Sends a log as messages, an empty one first. When the client closes the socket, the log is closed too. */
export function throughSocket(log: StreamReply, { upgrade }: HttpRequest, protocol: string): Reply {
  const native = upgrade?.native as IncomingMessage;
  return {
    kind: 'taken',
    status: 101,
    take: (socket, head) =>
      void acceptWebSocket({ request: native, socket, head }, protocol, MOST_RECEIVED_BYTES).then((webSocket) => {
        webSocket.on('error', () => webSocket.terminate());
        log.start(messagesTo(webSocket, protocol === BASE64));
        webSocket.resume();
      }),
  };
}

function messagesTo(webSocket: WebSocket, isText: boolean): ReplyStream {
  const drains: (() => void)[] = [];
  const send = (bytes: Buffer): void =>
    webSocket.send(isText ? bytes.toString('base64') : bytes, { binary: !isText }, () => {
      if (webSocket.bufferedAmount < HIGH_WATER_BYTES) for (const drained of drains) drained();
    });
  send(Buffer.alloc(0));
  return {
    write: (chunk) => {
      const bytes = Buffer.from(chunk as Uint8Array);
      for (let at = 0; at < bytes.length; at += MESSAGE_BYTES) send(bytes.subarray(at, at + MESSAGE_BYTES));
      return webSocket.bufferedAmount < HIGH_WATER_BYTES;
    },
    onDrain: (listener) => drains.push(listener),
    onClose: (listener) => webSocket.on('close', listener),
    end: () => webSocket.close(1000),
    destroy: () => webSocket.terminate(),
  };
}
