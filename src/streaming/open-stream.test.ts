import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { WebSocket } from 'ws';
import { systemClock } from '../base/clock.ts';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { openStream } from './open-stream.ts';
import { streamModeOf } from './protocols.ts';
import type { CommandStreams } from './protocols.ts';
import { FakeSpdyServer } from './testing/fake-spdy-peer.ts';
import type { FakeSpdyPeer } from './testing/fake-spdy-peer.ts';

const all: CommandStreams = { stdin: true, stdout: true, stderr: true, tty: false };

/** A server that handles each upgrade as kubelets and API servers do. */
class Proxy {
  readonly backend = new FakeSpdyServer();
  readonly errors: string[] = [];
  streams: CommandStreams | undefined = all;
  clock: Pick<typeof systemClock, keyof typeof systemClock> = systemClock;
  idleMs = 0;
  readonly #server: Server = createServer();
  readonly #sockets = new Set<Socket>();

  async listen(): Promise<void> {
    await this.backend.listen();
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => this.#sockets.delete(socket));
    });
    this.#server.on('upgrade', (request, socket, head) => {
      void (async () => {
        const connection = await this.backend.dial();
        try {
          const { upgrade = '', connection: _connection, ...headers } = request.headers;
          const opened = await openStream({
            connection,
            method: request.method ?? 'GET',
            path: request.url ?? '/',
            headers: headers as Record<string, string>,
            protocol: upgrade,
            mode: streamModeOf(request.headers, this.streams),
            clock: this.clock,
            idleMs: this.idleMs,
          });
          if (opened.kind === 'switched') return opened.take({ request, socket, head });
          let body = '';
          for await (const chunk of opened.response as AsyncIterable<Buffer>) body += chunk.toString('utf8');
          socket.end(
            `HTTP/1.1 ${opened.response.statusCode} x\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
          );
          connection.destroy();
        } catch (error) {
          this.errors.push(String(error));
          socket.end('HTTP/1.1 502 x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n');
        }
      })();
    });
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get openConnections(): number {
    return this.#sockets.size;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await this.backend.close();
  }
}

/** What a v5 client receives. */
class Client {
  readonly webSocket: WebSocket;
  readonly messages: { readonly channel: number; readonly text: string }[] = [];
  readonly closed: Promise<unknown>;

  constructor(port: number, protocol = 'v5.channel.k8s.io') {
    this.webSocket = new WebSocket(`ws://127.0.0.1:${port}/exec?command=cat`, protocol === '' ? [] : [protocol]);
    this.webSocket.on('message', (data: Buffer) =>
      this.messages.push({ channel: data[0] ?? -1, text: data.subarray(1).toString('utf8') }),
    );
    this.webSocket.on('error', () => undefined);
    this.closed = new Promise((resolve) => this.webSocket.on('close', resolve));
  }

  send(channel: number, data: string | Uint8Array): void {
    this.webSocket.send(Buffer.concat([Buffer.of(channel), Buffer.from(data)]));
  }

  textOf(channel: number): string {
    return this.messages
      .filter((each) => each.channel === channel)
      .map(({ text }) => text)
      .join('');
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a stream opened through a proxy', () => {
  let proxy: Proxy;
  beforeEach(async () => {
    proxy = new Proxy();
    await proxy.listen();
  });
  afterEach(() => proxy.close());
  const peerOf = (): Promise<FakeSpdyPeer> => new Promise((resolve) => (proxy.backend.onPeer = resolve));

  async function command(streams: CommandStreams = all): Promise<{ client: Client; peer: FakeSpdyPeer }> {
    proxy.streams = streams;
    const coming = peerOf();
    const client = new Client(proxy.port);
    const peer = await coming;
    await once(client.webSocket, 'open');
    return { client, peer };
  }

  it('of v5 becomes SPDY v4: streams by what was asked for, an empty message first, the status last', async () => {
    const { client, peer } = await command();
    await peer.until(() => peer.streams.size === 4);
    assert.deepEqual(
      [...peer.streams.values()].map(({ headers }) => headers['streamtype']),
      ['error', 'stdin', 'stdout', 'stderr'],
    );
    const [request] = proxy.backend.requests;
    assert.deepEqual(
      [
        request?.method,
        request?.url,
        request?.headers.upgrade,
        request?.headers['x-stream-protocol-version'],
        request?.headers['sec-websocket-key'],
      ],
      ['POST', '/exec?command=cat', 'SPDY/3.1', 'v4.channel.k8s.io', undefined],
    );
    client.send(0, 'in');
    await peer.until(() => peer.streamOf('stdin')?.text === 'in');
    peer.send('stdout', 'out');
    peer.send('stderr', 'warned');
    peer.send('error', '{"metadata":{},"status":"Failure","reason":"NonZeroExitCode"}');
    peer.end();
    await client.closed;
    assert.deepEqual(
      [client.webSocket.protocol, client.messages[0], client.textOf(1), client.textOf(2)],
      ['v5.channel.k8s.io', { channel: 1, text: '' }, 'out', 'warned'],
    );
    assert.deepEqual(client.messages.at(-1), {
      channel: 3,
      text: '{"metadata":{},"status":"Failure","reason":"NonZeroExitCode"}',
    });
  });

  it('signals the end of input, and receives the rest of the output', async () => {
    const { client, peer } = await command();
    client.send(0, 'all of it');
    client.send(255, Uint8Array.of(0));
    await peer.until(() => peer.streamOf('stdin')?.ended === 'fin');
    client.send(0, 'too late');
    peer.send('stdout', 'counted');
    peer.end();
    await client.closed;
    assert.deepEqual(
      [peer.streamOf('stdin')?.text, client.textOf(1), JSON.parse(client.textOf(3))],
      ['all of it', 'counted', { metadata: {}, status: 'Success' }],
    );
  });

  it('writes nothing on streams the command has finished: a runtime that closes with that unread would take its status with it', async () => {
    const { client, peer } = await command();
    await peer.until(() => peer.streams.size === 4);
    peer.send('stdout', 'all');
    peer.finish('stdout');
    peer.finish('stderr');
    for (const id of [2, 4, 6]) {
      peer.ping(id);
      await peer.until(() => peer.pings.includes(id));
    }
    assert.equal(client.textOf(1), 'all');
    assert.deepEqual(
      ['stdout', 'stderr', 'error'].map((name) => peer.streamOf(name)?.ended),
      ['open', 'open', 'open'],
    );
    peer.end();
    await client.closed;
  });

  it('hands on the sizes of a terminal, and nothing that cannot be one', async () => {
    const { client, peer } = await command({ ...all, stderr: false, tty: true });
    client.send(4, 'x'.repeat(5000));
    client.send(4, '{"Width":80,"Height":24}');
    await peer.until(() => peer.streamOf('resize')?.text.endsWith('}') === true);
    assert.equal(peer.streamOf('resize')?.text, '{"Width":80,"Height":24}');
    assert.equal(peer.streamOf('stderr'), undefined);
    client.webSocket.terminate();
  });

  it('ignores channels that were not asked for, and messages without one', async () => {
    const { client, peer } = await command({ ...all, stdin: false });
    client.send(0, 'unread');
    client.send(9, 'nor this');
    client.send(255, Uint8Array.of(0));
    client.webSocket.send(Buffer.alloc(0));
    await peer.until(() => peer.streams.size === 3);
    peer.end();
    await client.closed;
    assert.equal(peer.streamOf('stdin'), undefined);
  });

  it('is not called a success when the backend is lost', async () => {
    const { client, peer } = await command();
    await peer.until(() => peer.streams.size === 4);
    peer.connection.destroy();
    await client.closed;
    const status = JSON.parse(client.textOf(3)) as { status: string; reason: string };
    assert.deepEqual([status.status, status.reason], ['Failure', 'InternalError']);
  });

  it('carries large output to a slow client whole, and large input to a slow command', async () => {
    const { client, peer } = await command();
    await peer.until(() => peer.streams.size === 4);
    const total = 8 * 1024 * 1024;
    const piece = Buffer.alloc(128 * 1024, 'y');
    let received = 0;
    client.webSocket.on('message', (data: Buffer) => {
      if (data[0] === 1) received += data.length - 1;
      client.webSocket.pause();
      setImmediate(() => client.webSocket.resume());
    });
    const feeding = (async () => {
      for (let sent = 0; sent < total; sent += piece.length)
        if (!peer.send('stdout', piece)) await once(peer.connection, 'drain');
    })();
    for (let sent = 0; sent < total; sent += piece.length) client.send(0, piece);
    client.send(255, Uint8Array.of(0));
    await feeding;
    await peer.until(() => peer.streamOf('stdin')?.ended === 'fin');
    peer.end();
    await client.closed;
    assert.deepEqual([received, peer.streamOf('stdin')?.bytes], [total, total]);
  });

  it('of a tunnel is the bytes of its messages, under the version the backend chose', async () => {
    proxy.streams = undefined;
    let heard = '';
    proxy.backend.raw = (connection) => {
      connection.on('data', (chunk: Buffer) => {
        heard += chunk.toString('latin1');
        connection.write(chunk);
      });
      connection.on('error', () => undefined);
    };
    const socket = connect(proxy.port, '127.0.0.1');
    let back = '';
    socket.setEncoding('latin1').on('data', (text: string) => (back += text));
    socket.write(
      'GET /portForward/a/b HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: MDEyMzQ1Njc4OWFiY2RlZg==\r\nsec-websocket-protocol: SPDY/3.1+portforward.k8s.io\r\n\r\n',
    );
    while (!back.endsWith('\r\n\r\n')) await turn();
    assert.match(back, /^HTTP\/1\.1 101 [^]*Sec-WebSocket-Protocol: SPDY\/3\.1\+portforward\.k8s\.io\r\n/);
    // Binary messages masked with zeros.
    socket.write(
      Buffer.concat([
        Buffer.of(0x82, 0x84, 0, 0, 0, 0, 0x80, 0x03, 0x00, 0x01),
        Buffer.of(0x82, 0x81, 0, 0, 0, 0, 0xff),
      ]),
    );
    while (heard.length < 5) await turn();
    while (!back.endsWith('\xff')) await turn();
    assert.deepEqual(
      [heard, proxy.backend.requests[0]?.headers['x-stream-protocol-version'], proxy.backend.requests[0]?.method],
      ['\x80\x03\x00\x01\xff', 'portforward.k8s.io', 'POST'],
    );
    socket.write(Buffer.of(0x88, 0x80, 0, 0, 0, 0));
    await once(socket, 'close');
    while (proxy.backend.openConnections > 0) await turn();
  });

  it('of anything else passes as it is, in both directions', async () => {
    proxy.backend.raw = (connection) =>
      void connection.on('data', (chunk: Buffer) => connection.write(chunk)).on('error', () => undefined);
    for (const [protocol, extra] of [
      ['SPDY/3.1', 'x-stream-protocol-version: v4.channel.k8s.io\r\n'],
      ['websocket', 'sec-websocket-protocol: v4.channel.k8s.io\r\n'],
    ] as const) {
      const socket = connect(proxy.port, '127.0.0.1');
      let heard = '';
      socket.setEncoding('latin1').on('data', (text: string) => (heard += text));
      socket.write(
        `POST /exec HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: ${protocol}\r\n${extra}\r\n\x00\xffearly`,
        'latin1',
      );
      while (!heard.endsWith('\x00\xffearly')) await turn();
      assert.match(heard, /^HTTP\/1\.1 101 /);
      socket.destroy();
      while (proxy.backend.openConnections > 0) await turn();
    }
  });

  it('that the backend refuses is an answer, whatever it is, and no way to speak on (CVE-2018-1002105, CVE-2018-1002102)', async () => {
    for (const [head, status] of [
      ['HTTP/1.1 200 OK', 200],
      ['HTTP/1.1 403 Forbidden', 403],
      ['HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/', 302],
    ] as const) {
      proxy.backend.refusal = `${head}\r\ncontent-length: 2\r\n\r\nno`;
      const socket = connect(proxy.port, '127.0.0.1');
      let heard = '';
      socket.setEncoding('latin1').on('data', (text: string) => (heard += text));
      const seen = proxy.backend.requests.length;
      socket.write('GET /exec HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: SPDY/3.1\r\n\r\n');
      while (!heard.endsWith('no')) await turn();
      socket.write('GET /second HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: SPDY/3.1\r\n\r\n');
      await once(socket, 'close');
      assert.match(heard, new RegExp(`^HTTP/1.1 ${status} `));
      assert.equal(proxy.backend.requests.length, seen + 1);
      while (proxy.backend.openConnections > 0) await turn();
    }
    for (const head of ['connection: Upgrade\r\nupgrade: telnet', 'x-no: protocol']) {
      proxy.backend.refusal = `HTTP/1.1 101 Switching Protocols\r\n${head}\r\n\r\n`;
      const socket = connect(proxy.port, '127.0.0.1');
      let heard = '';
      socket.setEncoding('latin1').on('data', (text: string) => (heard += text));
      socket.write('GET /exec HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: SPDY/3.1\r\n\r\n');
      await once(socket, 'close');
      assert.match(heard, /^HTTP\/1\.1 502 /);
      assert.match(proxy.errors.pop() ?? '', /another protocol/);
      while (proxy.backend.openConnections > 0) await turn();
    }
  });

  it('over which nothing goes is cut after its time, and not before', async () => {
    const clock = new FakeClock();
    proxy.clock = clock;
    proxy.idleMs = 1000;
    const { client, peer } = await command();
    await peer.until(() => peer.streams.size === 4);
    await clock.advance(900);
    client.send(0, 'still here');
    await peer.until(() => peer.streamOf('stdin')?.text === 'still here');
    await clock.advance(900);
    assert.equal(client.webSocket.readyState, WebSocket.OPEN);
    await clock.advance(1000);
    await client.closed;
    while (proxy.backend.openConnections > 0) await turn();
  });

  it('leaves nothing behind, wherever it is cut: 200 at once, by either side', async () => {
    proxy.backend.onPeer = (peer) => {
      // Some ends before it has begun, some in the middle of a flood, some by the book.
      const fate = proxy.backend.peers.length % 4;
      if (fate === 0) peer.connection.destroy();
      else
        peer.onStream = (_id, headers) => {
          if (headers['streamtype'] === 'stdout') peer.send('stdout', Buffer.alloc(200_000, 'z'));
          if (headers['streamtype'] === 'stderr' && fate === 1) peer.end();
        };
    };
    const clients = Array.from({ length: 200 }, () => new Client(proxy.port));
    await Promise.all(
      clients.map(async ({ webSocket, closed, messages }, index) => {
        if (index % 3 === 0) {
          while (messages.length < 2 && webSocket.readyState <= WebSocket.OPEN) await turn();
          webSocket.terminate();
        } else if (index % 3 === 1) webSocket.on('open', () => webSocket.close());
        else webSocket.on('message', () => webSocket.terminate());
        await closed;
      }),
    );
    while (proxy.openConnections > 0 || proxy.backend.openConnections > 0) await turn();
  });
});

describe('the way of a stream', () => {
  const mode = (upgrade: string, protocols: string, streams: CommandStreams | undefined): string =>
    streamModeOf({ upgrade, 'sec-websocket-protocol': protocols }, streams).kind;

  it('is raw for what runtimes speak themselves', () => {
    assert.deepEqual(
      [
        mode('SPDY/3.1', '', all),
        mode('websocket', 'v4.channel.k8s.io, channel.k8s.io', all),
        mode('websocket', 'base64.channel.k8s.io', all),
        mode('WebSocket', 'v4.channel.k8s.io', undefined),
        mode('websocket', '', all),
      ],
      ['raw', 'raw', 'raw', 'raw', 'raw'],
    );
  });

  it('leads through a translation for v5, and through a tunnel for SPDY in WebSocket', () => {
    assert.equal(mode('websocket', 'v5.channel.k8s.io,v4.channel.k8s.io', all), 'translate');
    assert.deepEqual(
      streamModeOf({ upgrade: 'WebSocket', 'sec-websocket-protocol': 'SPDY/3.1+portforward.k8s.io, x' }, undefined),
      { kind: 'tunnel', protocols: ['portforward.k8s.io'] },
    );
    assert.equal(mode('websocket', 'SPDY/3.1+portforward.k8s.io', all), 'raw');
  });
});
