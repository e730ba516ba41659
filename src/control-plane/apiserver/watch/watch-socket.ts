import type { IncomingMessage } from 'node:http';
import type { HttpRequest } from '../http/http-request.ts';
import type { FrameOutput } from './watch-connection.ts';

/** The limit of bytes buffered in the socket before the watch is blocked. */
const HIGH_WATER_BYTES = 65_536;
/** Limit of messages from clients, which have nothing to send. */
const MAX_MESSAGE_BYTES = 65_536;

export interface WatchSocketTarget {
  readonly attach: (output: FrameOutput) => void;
  readonly resume: () => void;
  /** Set for binary frames: extracts the message from a frame. */
  readonly message?: (frame: Buffer) => Buffer;
}

/** Answers the upgrade and sends each frame as one message. The library is loaded by the first WebSocket. */
export async function openWatchSocket(
  { upgrade }: HttpRequest,
  { attach, resume, message }: WatchSocketTarget,
): Promise<void> {
  if (upgrade === undefined) return;
  const { WebSocketServer } = await import('ws');
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE_BYTES,
    clientTracking: false,
    handleProtocols: (offered) => [...offered].find((each) => !each.startsWith('base64url.bearer.')) ?? false,
  });
  server.handleUpgrade(upgrade.native as IncomingMessage, upgrade.socket, upgrade.head, (socket) => {
    socket.on('error', () => socket.terminate());
    const drained = (): void => {
      if (socket.bufferedAmount < HIGH_WATER_BYTES) resume();
    };
    attach({
      send: (bytes) => {
        if (message === undefined) socket.send(bytes, { binary: false }, drained);
        else socket.send(message(bytes), { binary: true }, drained);
        return socket.bufferedAmount < HIGH_WATER_BYTES;
      },
      end: () => socket.close(1000),
      destroy: () => socket.terminate(),
    });
  });
}
