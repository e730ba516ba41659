import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { WebSocket } from 'ws';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import type { Dialer } from './namespace-dialer.ts';
import { channelProtocolOf, isForwardable, servePortForwardChannels } from './port-forward-channels.ts';

let pod: Server;
let front: Server;
let ports: readonly number[];
let closed: Promise<void>;
let close: () => void;
let ended: Promise<unknown>;
const clock = new FakeClock();

const dialer: Dialer = {
  connect: async (port) => {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return socket;
  },
  close: () => close(),
};

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

async function setUp(): Promise<void> {
  ({ promise: closed, resolve: close } = Promise.withResolvers<void>());
  pod = createServer({ allowHalfOpen: true }, (socket: Socket) => {
    socket.on('error', () => undefined);
    pod.emit('taken', socket);
  });
  pod.listen(0, '127.0.0.1');
  const http = createHttpServer();
  http.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const asked = String(request.headers['sec-websocket-protocol'] ?? '')
      .split(',')
      .filter(Boolean);
    const client = { request, socket, head };
    socket.on('error', () => undefined);
    ended = servePortForwardChannels({ client, asked, ports, dialer, clock, idleMs: 1000 });
  });
  front = http;
  front.listen(0, '127.0.0.1');
  await Promise.all([once(pod, 'listening'), once(front, 'listening')]);
  ports = [portOf(pod)];
}

function tearDown(): void {
  pod.close();
  front.close();
}

interface Client {
  readonly webSocket: WebSocket;
  readonly heard: Map<number, Buffer>;
}

async function open(protocols: readonly string[], decode = (data: Buffer): Buffer => data): Promise<Client> {
  const webSocket = new WebSocket(`ws://127.0.0.1:${portOf(front)}/`, [...protocols]);
  const heard = new Map<number, Buffer>();
  webSocket.on('message', (message: Buffer) => {
    const data = decode(message);
    const channel = data[0] ?? -1;
    heard.set(channel, Buffer.concat([heard.get(channel) ?? Buffer.alloc(0), data.subarray(1)]));
  });
  await once(webSocket, 'open');
  return { webSocket, heard };
}

/** The first bytes of each channel. */
function name(port: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(port);
  return bytes;
}

describe('a port forwarded over the channels of a WebSocket', () => {
  beforeEach(setUp);
  afterEach(tearDown);

  for (const protocols of [['v4.channel.k8s.io'], []])
    it(`sends the port number and then bytes both ways with ${protocols[0] ?? 'no protocol'}`, async () => {
      pod.on('taken', (socket: Socket) =>
        socket.once('data', (data: Buffer) => socket.end(`heard ${data.toString()}`)),
      );
      const { webSocket, heard } = await open(protocols);
      webSocket.send(Buffer.from('\u0000question'));
      await once(webSocket, 'close');
      assert.deepEqual(heard.get(0), Buffer.concat([name(portOf(pod)), Buffer.from('heard question')]));
      assert.deepEqual(heard.get(1), name(portOf(pod)));
      await ended;
      await closed;
    });

  it('carries them in base64 for clients that ask for it', async () => {
    pod.on('taken', (socket: Socket) => socket.once('data', (data: Buffer) => socket.end(data)));
    const { webSocket, heard } = await open(['v4.base64.channel.k8s.io'], (message) =>
      Buffer.concat([Buffer.of((message[0] ?? 0) - 48), Buffer.from(message.subarray(1).toString('latin1'), 'base64')]),
    );
    webSocket.send(`0${Buffer.from([0, 255, 7]).toString('base64')}`);
    await once(webSocket, 'close');
    assert.deepEqual(heard.get(0)?.subarray(2), Buffer.from([0, 255, 7]));
  });

  it('reports on the error channel that the port is closed, and keeps serving the other ports', async () => {
    const gone = createServer().listen(0, '127.0.0.1');
    await once(gone, 'listening');
    ports = [portOf(gone), portOf(pod)];
    gone.close();
    await once(gone, 'close');
    pod.on('taken', (socket: Socket) => socket.end('second'));
    const { webSocket, heard } = await open(['v4.channel.k8s.io']);
    await once(webSocket, 'close');
    assert.match(heard.get(1)?.subarray(2).toString() ?? '', /^an error occurred forwarding port \d+: .*ECONNREFUSED/);
    assert.equal(heard.get(2)?.subarray(2).toString(), 'second');
  });

  it('reports on the error channel that the pod broke the connection', async () => {
    pod.on('taken', (socket: Socket) => socket.once('data', () => socket.resetAndDestroy()));
    const { webSocket, heard } = await open(['v4.channel.k8s.io']);
    webSocket.send(Buffer.from('\u0000question'));
    await once(webSocket, 'close');
    assert.deepEqual(heard.get(0), name(portOf(pod)));
    assert.match(heard.get(1)?.subarray(2).toString() ?? '', /^an error occurred forwarding the port: .*ECONNRESET/);
  });

  it('stops reading from a client while the pod does not read, and continues afterwards', async () => {
    const taken = once(pod, 'taken') as Promise<[Socket]>;
    const { webSocket, heard } = await open(['v4.channel.k8s.io']);
    const [socket] = await taken;
    socket.pause();
    const piece = Buffer.alloc(1024 * 1024);
    for (let sent = 0; sent < 32; sent += 1) webSocket.send(piece);
    webSocket.send(Buffer.from('\u0000!'));
    let received = 0;
    socket.on('data', (data: Buffer) => {
      received += data.length;
      if (data.at(-1) === 33) socket.end(String(received));
    });
    socket.resume();
    await once(webSocket, 'close');
    assert.equal(heard.get(0)?.subarray(2).toString(), String(32 * (piece.length - 1) + 1));
  });

  it('closes its connections when the client leaves', async () => {
    const taken = once(pod, 'taken') as Promise<[Socket]>;
    const { webSocket } = await open(['v4.channel.k8s.io']);
    const [socket] = await taken;
    const left = once(socket.resume(), 'end');
    webSocket.terminate();
    await left;
    socket.end();
    await ended;
    await closed;
  });
});

describe('what a client asks for', () => {
  it('is a protocol with channels, or no protocol', () => {
    assert.equal(channelProtocolOf([]), '');
    assert.equal(channelProtocolOf(['v5.channel.k8s.io', 'v4.channel.k8s.io']), 'v4.channel.k8s.io');
    assert.equal(channelProtocolOf(['SPDY/3.1+portforward.k8s.io']), undefined);
  });

  it('is at least one port and at most a hundred', () => {
    assert.deepEqual([[], [0], [65_536], [80], Array.from({ length: 101 }, () => 80)].map(isForwardable), [
      false,
      false,
      false,
      true,
      false,
    ]);
  });
});
