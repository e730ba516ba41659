import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { duplexPair } from 'node:stream';
import type { Duplex } from 'node:stream';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { SpdySession } from '../../streaming/spdy-session.ts';
import type { SpdyStream } from '../../streaming/spdy-session.ts';
import { NamespaceDialer } from './namespace-dialer.ts';
import { servePortForward } from './port-forward.ts';

const IDLE_MS = 1000;

let clock: FakeClock;
let client: SpdySession;
let connection: Duplex;
let children: ChildProcess[];
let server: Server;
let accepted: Socket[];

async function setUp(): Promise<void> {
  const [near, far] = duplexPair();
  connection = near;
  clock = new FakeClock();
  children = [];
  accepted = [];
  for (const each of [near, far]) each.on('error', () => undefined);
  servePortForward({
    socket: far,
    head: Buffer.alloc(0),
    clock,
    idleMs: IDLE_MS,
    // Entering a namespace needs root. Without it, the data takes the same path.
    dialer: new NamespaceDialer(process.pid, (_pid, program, args, options) => {
      const child = spawn(program, args, options);
      children.push(child);
      return child;
    }),
  });
  const [head] = (await once(near, 'data')) as [Buffer];
  assert.match(head.toString(), /^HTTP\/1\.1 101 [\s\S]*portforward\.k8s\.io\r\n\r\n$/);
  client = new SpdySession(near, Buffer.alloc(0));
  server = createServer({ allowHalfOpen: true }, (socket) => {
    accepted.push(socket.on('error', () => undefined));
    server.emit('taken', socket);
  });
  server.listen(0, 'localhost');
  await once(server, 'listening');
}

function tearDown(): void {
  connection.destroy();
  for (const socket of accepted) socket.destroy();
  server.close();
}

const port = (): number => (server.address() as AddressInfo).port;

function openPair(id: string | undefined, to = port()): { data: SpdyStream; error: SpdyStream } {
  const headers = { port: String(to), ...(id !== undefined && { requestid: id }) };
  const error = client.open({ streamtype: 'error', ...headers });
  return { data: client.open({ streamtype: 'data', ...headers }), error };
}

async function textOf(stream: SpdyStream): Promise<string> {
  let text = '';
  for await (const chunk of stream as AsyncIterable<Buffer>) text += chunk.toString('utf8');
  return text;
}

const ended = (child: ChildProcess): unknown =>
  child.exitCode === null && child.signalCode === null ? once(child, 'close') : undefined;

describe('a forwarded port', () => {
  beforeEach(setUp);
  afterEach(tearDown);

  it('carries several connections concurrently, and ends without an error text', async () => {
    server.on('taken', (socket: Socket) => socket.pipe(socket));
    const pairs = ['0', '1', '2'].map((id) => openPair(id));
    pairs.forEach(({ data }, index) => data.end(`hello ${index}`));
    assert.deepEqual(await Promise.all(pairs.map(({ data }) => textOf(data))), ['hello 0', 'hello 1', 'hello 2']);
    assert.deepEqual(await Promise.all(pairs.map(({ error }) => textOf(error))), ['', '', '']);
  });

  it('reports on the error stream that the port is closed', async () => {
    const closed = port();
    server.close();
    await once(server, 'close');
    const { data, error } = openPair('0', closed);
    const [text] = await Promise.all([textOf(error), textOf(data)]);
    assert.match(text, new RegExp(`^an error occurred forwarding port ${closed}: .*connection refused$`));
    server.listen(0);
  });

  it('refuses streams of another kind or without a port', async () => {
    const odd: readonly Record<string, string>[] = [
      { streamtype: 'stdin', port: '80' },
      { streamtype: 'data', port: '70000' },
      { port: '80' },
    ];
    for (const headers of odd) {
      const stream = client.open(headers);
      assert.equal(await textOf(stream), '');
      assert.equal(stream.remote, 'reset');
    }
    assert.equal(children.length, 0);
  });

  it('uses one process for all connections', async () => {
    server.on('taken', (socket: Socket) => socket.pipe(socket));
    const pairs = Array.from({ length: 20 }, (_none, index) => openPair(String(index)));
    for (const { data } of pairs) data.end('x');
    await Promise.all(pairs.map(({ data }) => textOf(data)));
    assert.equal(children.length, 1);
  });

  it('starts another process when the first one was killed', async () => {
    server.on('taken', (socket: Socket) => socket.pipe(socket));
    for (const id of ['0', '1']) {
      const { data } = openPair(id);
      data.end(id);
      assert.equal(await textOf(data), id);
      children.at(-1)?.kill('SIGKILL');
      await Promise.all(children.map(ended));
    }
    assert.equal(children.length, 2);
  });

  it('forwards the first bytes from the pod, and the end of its connection', async () => {
    server.on('taken', (socket: Socket) => socket.end('welcome'));
    const { data, error } = openPair('0');
    assert.deepEqual(await Promise.all([textOf(data), textOf(error)]), ['welcome', '']);
  });

  it('closes the connections when the client is cut off, also a connection that is not read', async () => {
    const taken = new Promise<void>((resolve) => {
      server.on('taken', () => accepted.length === 2 && resolve());
    });
    const stuck = openPair('0');
    openPair('1');
    await taken;
    // More than the kernel buffers: the pod reads nothing.
    stuck.data.write(Buffer.alloc(32 * 1024 * 1024));
    const closed = accepted.map((socket) => once(socket.resume(), 'close').catch(() => undefined));
    await clock.advance(IDLE_MS);
    await Promise.all(children.map(ended));
    accepted.forEach((socket) => socket.end());
    await Promise.all(closed);
    assert.equal(children.length, 1);
  });

  it('ends its process when the client leaves', async () => {
    const taken = once(server, 'taken');
    openPair('0');
    await taken;
    connection.destroy();
    await Promise.all(children.map(ended));
    assert.equal(children.length, 1);
  });

  it('pairs streams of older clients by their port, one connection after the other', async () => {
    server.on('taken', (socket: Socket) => socket.pipe(socket));
    for (const text of ['first', 'second']) {
      const { data, error } = openPair(undefined);
      data.end(text);
      assert.deepEqual(await Promise.all([textOf(data), textOf(error)]), [text, '']);
    }
  });
});
