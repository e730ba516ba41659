import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { getEventListeners, once } from 'node:events';
import http2 from 'node:http2';
import net from 'node:net';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { it } from 'node:test';
import { errorKind, errorMessage } from '../../../base/errors.ts';
import { grpcHealthCheck } from './net-dial-grpc.ts';

interface Answer {
  /** The message; none if the call fails. */
  readonly status?: number;
  readonly code: number;
}
interface Peer {
  readonly connections: () => number;
  readonly asked: readonly string[];
  /** Resolves when the clients have closed all connections. */
  allClosed(): Promise<unknown>;
  check(service?: string, more?: { timeoutMs?: number; signal?: AbortSignal }): Promise<string>;
}

function checker(port: number): Peer['check'] {
  return (service = '', { timeoutMs = 5000, signal } = {}) => {
    const address = `127.0.0.1:${port}`;
    return grpcHealthCheck({ host: '127.0.0.1', port, address, service, timeoutMs }, signal).catch(
      (error: unknown) => `${errorKind(error)}: ${errorMessage(error)}`,
    );
  };
}

/** Serves the health service. It answers by the name of the requested service. */
async function serve(context: TestContext, answers: Readonly<Record<string, Answer>>): Promise<Peer> {
  const server = http2.createServer();
  const sessions = new Set<http2.ServerHttp2Session>();
  const closed: Promise<unknown>[] = [];
  let connections = 0;
  const asked: string[] = [];
  server.on('session', (session) => {
    connections++;
    sessions.add(session);
    closed.push(once(session, 'close'));
    session.on('error', () => undefined);
  });
  server.on('stream', (stream: http2.ServerHttp2Stream) => {
    const chunks: Buffer[] = [];
    stream.on('error', () => undefined);
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      const message = Buffer.concat(chunks).subarray(5);
      // Field 1: its length (one byte, or two above 127), then the name.
      const service = message.subarray((message[1] ?? 0) > 127 ? 3 : 2).toString();
      asked.push(service);
      const { status, code } = answers[service] ?? { code: 5 };
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': String(code), 'grpc-message': 'said' }));
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.end(status === undefined ? undefined : Buffer.from([0, 0, 0, 0, 2, 8, status]));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  return {
    connections: () => connections,
    asked,
    allClosed: () => Promise.all(closed),
    check: checker((server.address() as AddressInfo).port),
  };
}

it('a health check that is answered in order costs one connection', async (context) => {
  const peer = await serve(context, {
    '': { code: 0, status: 1 },
    bad: { code: 0, status: 2 },
    odd: { code: 0, status: 9 },
  });
  assert.deepEqual([await peer.check(), peer.connections()], ['SERVING', 1]);
  assert.deepEqual([await peer.check('bad'), await peer.check('odd')], ['NOT_SERVING', 'UNKNOWN']);
  assert.equal(peer.connections(), 3);
});

it('what is no answer in order is asked again by the full client, which says what it means', async (context) => {
  const peer = await serve(context, { none: { code: 12 }, down: { code: 14 }, denied: { code: 7 }, late: { code: 4 } });
  assert.match(await peer.check('none'), /^Unimplemented: .*does not implement the grpc health protocol.*said/s);
  assert.equal(peer.connections(), 2);
  assert.match(await peer.check('down'), /^Unavailable: .*failed to connect service at .*said/s);
  assert.match(await peer.check('denied'), /^Unavailable: .*rpc error: code = PermissionDenied desc = said/s);
  assert.match(await peer.check('late'), /^Timeout: /);
  assert.equal(peer.connections(), 8);
  const { signal } = new AbortController();
  assert.match(await peer.check('down', { signal }), /^Unavailable: /);
  assert.equal(getEventListeners(signal, 'abort').length, 0);
  await peer.allClosed();
});

it('a long name of a service arrives whole', async (context) => {
  const name = 'n'.repeat(200);
  const peer = await serve(context, { [name]: { code: 0, status: 1 } });
  assert.deepEqual([await peer.check(name), peer.asked], ['SERVING', [name]]);
});

it('a peer that says nothing is a timeout, and no failure once the check was given up', async (context) => {
  const sockets = new Set<net.Socket>();
  const controller = new AbortController();
  let onConnection: () => void = () => undefined;
  const server = net.createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    onConnection();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const check = checker((server.address() as AddressInfo).port);
  assert.equal(await check('', { timeoutMs: 50 }), 'Timeout: timeout: health rpc did not complete within 50ms');
  assert.equal(sockets.size, 1, 'when the time is over nothing is tried again');
  onConnection = () => controller.abort();
  assert.match(await check('', { signal: controller.signal }), /^Aborted: /);
});
