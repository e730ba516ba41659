import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import { WebSocket } from 'ws';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { acceptCommand, isServable } from './command-server.ts';
import type { CommandEnds } from './command-server.ts';
import { requestUpgrade } from './upgrade.ts';
import { SpdySession } from './spdy-session.ts';
import type { SpdyStream } from './spdy-session.ts';

const streams = { stdin: true, stdout: true, stderr: true, tty: false };

async function textOf(stream: SpdyStream | undefined): Promise<string> {
  let text = '';
  if (stream !== undefined) for await (const chunk of stream as AsyncIterable<Buffer>) text += chunk.toString('utf8');
  return text;
}

describe('a command that is served here', () => {
  const clock = new FakeClock();
  let server: Server;
  let accepted: Promise<CommandEnds>;
  before(async () => {
    server = createServer();
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', () => undefined);
      accepted = acceptCommand({ request, socket, head }, { streams, clock, idleMs: 0 });
      accepted.catch(() => undefined);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  after(() => server.close());
  const port = (): number => (server.address() as AddressInfo).port;

  async function spdyClient(): Promise<{ session: SpdySession; socket: Socket }> {
    const socket = connect(port(), '127.0.0.1');
    await once(socket, 'connect');
    const answer = await requestUpgrade({
      connection: socket,
      method: 'POST',
      path: '/attach/ns/p/c',
      headers: { host: 'x', 'x-stream-protocol-version': 'v4.channel.k8s.io' },
      protocol: 'SPDY/3.1',
      clock,
    });
    assert.ok(answer.kind === 'switched');
    assert.equal(answer.response.headers['x-stream-protocol-version'], 'v4.channel.k8s.io');
    return { session: new SpdySession(answer.connection, answer.head), socket };
  }

  it('gives a slow client all of its output, also if the client sends something after the end', async () => {
    const { session, socket } = await spdyClient();
    const open = (streamType: string) => session.open({ streamType });
    const [error, stdin, stdout] = [open('error'), open('stdin'), open('stdout'), open('stderr')];
    const ends = await accepted;
    socket.pause();
    // More than the client's kernel buffers while nothing is read; the rest waits in the server's kernel.
    const line = Buffer.from('0123456789'.repeat(1_000));
    for (let count = 0; count < 50; count++) ends.stdout?.write(line);
    for (const stream of [ends.error, ends.stdout, ends.stderr]) stream?.end();
    await once(ends.stdout as SpdyStream, 'finish');
    ends.close();
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => stdin?.write('late', resolve));
    const text = textOf(stdout);
    error?.resume();
    socket.resume();
    assert.equal((await text).length, 500_000);
  });

  it('has the streams of a client that speaks SPDY, whatever their order', async () => {
    const { session } = await spdyClient();
    const [stderr, stdin, error, stdout] = ['stderr', 'stdin', 'error', 'stdout'].map((streamType) =>
      session.open({ streamType }),
    );
    const ends = await accepted;
    stdin?.end('typed');
    assert.equal(await textOf(ends.stdin), 'typed');
    for (const [end, text] of [
      [ends.stdout, 'out'],
      [ends.stderr, 'err'],
      [ends.error, 'status'],
    ] as const)
      end?.end(text);
    assert.deepEqual(await Promise.all([stdout, stderr, error].map(textOf)), ['out', 'err', 'status']);
    ends.close();
    await new Promise<void>((resolve) => session.onClose(resolve));
  });

  it('has the channels of a client that speaks WebSocket, and loses nothing at its end', async () => {
    const client = new WebSocket(`ws://127.0.0.1:${port()}/attach/ns/p/c`, 'v5.channel.k8s.io');
    const heard = new Map<number, Buffer[]>();
    client.on('message', (data: Buffer) =>
      heard.set(data[0] ?? -1, [...(heard.get(data[0] ?? -1) ?? []), data.subarray(1)]),
    );
    await once(client, 'open');
    const ends = await accepted;
    client.send(Buffer.from('\u0000typed'));
    client.send(Buffer.of(255, 0));
    assert.equal(await textOf(ends.stdin), 'typed');
    const long = Buffer.alloc(3_000_000, 'x');
    ends.stdout?.end(long);
    ends.stderr?.end();
    ends.error.end('{"status":"Success"}');
    ends.close();
    await once(client, 'close');
    assert.equal(Buffer.concat(heard.get(1) ?? []).length, long.length);
    assert.equal(Buffer.concat(heard.get(3) ?? []).toString(), '{"status":"Success"}');
  });

  it('says nothing to a WebSocket before its client has said something, or had the time to: kubectl 1.31 and 1.32 throw it away', async () => {
    const open = async (): Promise<{ client: WebSocket; heard: string[]; ends: CommandEnds }> => {
      const client = new WebSocket(`ws://127.0.0.1:${port()}/attach/ns/p/c`, 'v5.channel.k8s.io');
      const heard: string[] = [];
      client.on('message', (data: Buffer) => heard.push(data.toString('latin1')));
      await once(client, 'open');
      const ends = await accepted;
      ends.stdout?.end('out');
      ends.stderr?.end();
      ends.error.end('{}');
      // A round trip: everything that was sent before has arrived.
      client.ping();
      await once(client, 'pong');
      return { client, heard, ends };
    };
    const [speaks, listens] = [await open(), await open()];
    assert.deepEqual([speaks.heard, listens.heard], [[], []]);
    speaks.client.send(Buffer.of(255, 0));
    await once(speaks.client, 'close');
    assert.equal(speaks.heard.join('|'), '\u0001|\u0001out|\u0003{}');
    assert.deepEqual(listens.heard, []);
    await clock.advance(50);
    await once(listens.client, 'close');
    assert.equal(listens.heard.join('|'), '\u0001|\u0001out|\u0003{}');
  });

  it('is given up when the client does not open its streams in time, or leaves', async () => {
    const { session, socket } = await spdyClient();
    session.open({ streamType: 'error' });
    await clock.advance(31_000);
    await assert.rejects(accepted, /did not open its streams in time/);
    if (!socket.destroyed) await once(socket, 'close');
    const other = await spdyClient();
    other.socket.destroy();
    await assert.rejects(accepted, /left before/);
  });

  it('can be served to clients of SPDY v4 and WebSocket v5, not to others', () => {
    const servable = (headers: Record<string, string>): boolean => isServable({ headers });
    assert.equal(
      servable({ upgrade: 'SPDY/3.1', 'x-stream-protocol-version': 'v4.channel.k8s.io, v3.channel.k8s.io' }),
      true,
    );
    assert.equal(servable({ upgrade: 'websocket', 'sec-websocket-protocol': 'v5.channel.k8s.io' }), true);
    assert.equal(servable({ upgrade: 'SPDY/3.1', 'x-stream-protocol-version': 'v3.channel.k8s.io' }), false);
    assert.equal(servable({ upgrade: 'websocket', 'sec-websocket-protocol': 'v4.channel.k8s.io' }), false);
    assert.equal(servable({}), false);
  });
});
