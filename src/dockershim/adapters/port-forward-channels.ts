import { Buffer } from 'node:buffer';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { Clock } from '../../base/clock.ts';
import { errorMessage } from '../../base/errors.ts';
import { cutWhenIdle } from '../../streaming/join-connections.ts';
import { acceptWebSocket, readMessages, sendMessage } from '../../streaming/web-socket.ts';
import type { WebSocketClient } from '../../streaming/web-socket.ts';
import type { Dialer } from './namespace-dialer.ts';

const BINARY = 'v4.channel.k8s.io';
const BASE64 = 'v4.base64.channel.k8s.io';

/** Each port uses two channels, and a channel number is one byte. */
const MOST_PORTS = 100;
/** In the base64 form of the protocol, the first channel is `0`. */
const FIRST_DIGIT = 48;

export interface ChannelForwarding {
  readonly client: WebSocketClient;
  /** The protocols in the client's `Sec-WebSocket-Protocol`. */
  readonly asked: readonly string[];
  readonly ports: readonly number[];
  readonly dialer: Dialer;
  readonly clock: Clock;
  readonly idleMs: number;
}

/** undefined for a client that supports none of them. A client that names no protocol gets the binary one. */
export function channelProtocolOf(asked: readonly string[]): string | undefined {
  if (asked.length === 0) return '';
  return asked.find((each) => each === BINARY || each === BASE64);
}

export const isForwardable = (ports: readonly number[]): boolean =>
  ports.length > 0 && ports.length <= MOST_PORTS && ports.every((port) => port >= 1 && port <= 65_535);

/**
 * Forwards ports over one WebSocket, as clients did before port forwarding through tunnels. For the port with index i,
 * channel 2i carries data and channel 2i+1 carries errors. Each channel starts with its port in two bytes,
 * little-endian. Each port has one connection; when all connections have ended, the WebSocket is closed (upstream:
 * cri-streaming/pkg/streaming/portforward/websocket.go).
 */
export async function servePortForwardChannels(forwarding: ChannelForwarding): Promise<void> {
  const { client, asked, ports, dialer, clock, idleMs } = forwarding;
  const onActivity = cutWhenIdle([client.socket], { clock, idleMs });
  client.socket.once('close', () => dialer.close());
  const protocol = channelProtocolOf(asked) ?? '';
  const webSocket = await acceptWebSocket(client, protocol);
  const channels = new Channels(webSocket, protocol === BASE64);
  // The socket is not read before the connections are open, because the client may send data immediately.
  const opened = await Promise.all(ports.map((port, index) => openPort(channels, { port, index, dialer })));
  const connections = new Map(opened.flatMap((each, index) => (each === undefined ? [] : [[2 * index, each]])));
  const messages = readMessages(webSocket, {
    onMessage: (message) => {
      onActivity();
      const { channel, data } = channels.decode(message);
      const connection = connections.get(channel);
      if (connection === undefined || connection.destroyed || data.length === 0 || connection.write(data)) return true;
      roomIn(connection, () => messages.resume());
      return false;
    },
    onClose: () => {
      for (const connection of connections.values()) connection.destroy();
    },
  });
  await Promise.all([...connections].map(([channel, each]) => pump(each, channels, { channel, onActivity })));
  webSocket.close(1000);
}

interface PortToOpen {
  readonly port: number;
  readonly index: number;
  readonly dialer: Dialer;
}

/** undefined after a failure; the error channel has the reason. */
async function openPort(channels: Channels, { port, index, dialer }: PortToOpen): Promise<Duplex | undefined> {
  const name = Buffer.alloc(2);
  name.writeUInt16LE(port);
  await channels.send(2 * index, name);
  await channels.send(2 * index + 1, name);
  try {
    const connection = await dialer.connect(port);
    // The readers of the connection handle its errors.
    return connection.on('error', () => undefined);
  } catch (cause) {
    const words = `an error occurred forwarding port ${port}: ${errorMessage(cause)}`;
    await channels.send(2 * index + 1, Buffer.from(words));
    return undefined;
  }
}

async function pump(
  connection: Duplex,
  channels: Channels,
  { channel, onActivity }: { readonly channel: number; readonly onActivity: () => void },
): Promise<void> {
  try {
    for await (const chunk of connection) {
      onActivity();
      await channels.send(channel, chunk as Buffer);
    }
  } catch (cause) {
    await channels.send(channel + 1, Buffer.from(`an error occurred forwarding the port: ${errorMessage(cause)}`));
  }
}

function roomIn(target: Duplex, next: () => void): void {
  const done = (): void => {
    target.off('drain', done).off('close', done);
    next();
  };
  target.on('drain', done).on('close', done);
}

/** Messages that start with the number of a channel. */
class Channels {
  readonly #webSocket: WebSocket;
  readonly #isBase64: boolean;

  constructor(webSocket: WebSocket, isBase64: boolean) {
    this.#webSocket = webSocket;
    this.#isBase64 = isBase64;
  }

  /** Resolves when there is room for more, and when the client has left. */
  send(channel: number, data: Buffer): Promise<void> {
    const message = this.#isBase64
      ? Buffer.from(String.fromCharCode(FIRST_DIGIT + channel) + data.toString('base64'), 'latin1')
      : Buffer.concat([Buffer.of(channel), data]);
    return new Promise((resolve) => sendMessage(this.#webSocket, message, () => resolve()));
  }

  decode(message: Buffer): { readonly channel: number; readonly data: Buffer } {
    const [first = 0] = message;
    const rest = message.subarray(1);
    if (!this.#isBase64) return { channel: first, data: rest };
    return { channel: first - FIRST_DIGIT, data: Buffer.from(rest.toString('latin1'), 'base64') };
  }
}
