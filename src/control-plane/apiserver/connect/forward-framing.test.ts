// One request comes in, one goes out: a backend never reads a second request after the first, whatever the framing.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { createServer, connect as connectTcp } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { after, before, beforeEach, describe, it } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { systemClock } from '../../../base/clock.ts';
import { sendStream } from '../testing/raw-http2.ts';
import type { ApiServer } from '../create-api-server.ts';
import { fakeRequest } from '../testing/fake-request.ts';
import { fixture } from '../testing/fixtures.ts';
import { makeTestCertificates } from '../testing/test-certificates.ts';

const pods = '/api/v1/namespaces/default/pods';
const proxy = `${pods}/one/proxy/x`;
const smuggled = 'GET /admin HTTP/1.1\r\nHost: backend\r\n\r\n';
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

interface ReceivedRequest {
  readonly line: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** Reads one request from the beginning, as RFC 9112 defines. Returns undefined while it is incomplete. */
function readRequest(bytes: string): { readonly request: ReceivedRequest; readonly rest: string } | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [line = '', ...lines] = bytes.slice(0, end).split('\r\n');
  const headers = new Map(
    lines.map((each) => [each.slice(0, each.indexOf(':')).toLowerCase(), each.slice(each.indexOf(':') + 1).trim()]),
  );
  const rest = bytes.slice(end + 4);
  if (headers.has('transfer-encoding')) {
    let body = '';
    for (let at = 0; ; ) {
      const lineEnd = rest.indexOf('\r\n', at);
      const size = Number.parseInt(rest.slice(at, lineEnd), 16);
      if (lineEnd < 0 || rest.length < lineEnd + 2 + size + 2) return undefined;
      body += rest.slice(lineEnd + 2, lineEnd + 2 + size);
      at = lineEnd + 2 + size + 2;
      if (size === 0) return { request: { line, headers, body }, rest: rest.slice(at) };
    }
  }
  const length = Number(headers.get('content-length') ?? 0);
  return rest.length < length
    ? undefined
    : { request: { line, headers, body: rest.slice(0, length) }, rest: rest.slice(length) };
}

/** A backend that records every byte, and responds to complete requests. */
class RawBackend {
  /** The received bytes by connection. */
  received: string[] = [];
  answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
  readonly #server = createServer((socket) => this.#serve(socket));
  readonly #open = new Set<Socket>();

  readonly dialer = {
    dial: async (): Promise<Socket> => {
      const socket = connectTcp((this.#server.address() as AddressInfo).port, '127.0.0.1');
      await once(socket, 'connect');
      return socket;
    },
  };

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  /** Resolves when the other side has closed all connections. */
  async quiet(): Promise<void> {
    while (this.#open.size > 0) await new Promise((resolve) => setImmediate(resolve));
  }

  close(): void {
    for (const socket of this.#open) socket.destroy();
    this.#server.close();
  }

  #serve(socket: Socket): void {
    const index = this.received.push('') - 1;
    let isAnswered = false;
    this.#open.add(socket);
    socket.on('close', () => this.#open.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.on('end', () => socket.end());
    socket.on('data', (chunk: Buffer) => {
      this.received[index] += chunk.toString('latin1');
      if (isAnswered || readRequest(this.received[index] ?? '') === undefined) return;
      isAnswered = true;
      socket.write(this.answer, 'latin1');
    });
  }
}

describe('a forwarded request', () => {
  const backend = new RawBackend();
  let server: ApiServer;
  let port = 0;
  before(async () => {
    await backend.listen();
    const { key, cert, clientCa } = makeTestCertificates();
    ({ server } = fixture({ clock: systemClock, kubelets: { dialer: backend.dialer } }));
    await server.handle(
      fakeRequest('POST', pods, {
        body: {
          metadata: { name: 'one' },
          spec: { nodeName: 'n', containers: [{ name: 'a', ports: [{ containerPort: 80 }] }] },
          status: { podIP: '10.2.0.1', podIPs: [{ ip: '10.2.0.1' }] },
        },
      }),
    );
    ({ port } = await server.listen({ host: '127.0.0.1', port: 0, tls: { key, cert, clientCa } }));
  });
  after(async () => {
    backend.close();
    await server.stop();
  });
  beforeEach(() => {
    backend.received = [];
    backend.answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
  });

  /** Sends raw bytes, and returns the response until the server closes the connection. */
  async function raw(text: string): Promise<string> {
    const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
    let seen = '';
    socket.on('data', (chunk: Buffer) => (seen += chunk.toString('latin1')));
    socket.on('error', () => undefined);
    await once(socket, 'secureConnect');
    socket.write(text, 'latin1');
    await once(socket, 'close');
    await backend.quiet();
    return seen;
  }

  /** Returns the single received request, with nothing after it. */
  function only(shown: string): ReceivedRequest {
    assert.equal(backend.received.length, 1, shown);
    const read = readRequest(backend.received[0] ?? '');
    assert.ok(read !== undefined, `${shown}: ${JSON.stringify(backend.received)}`);
    assert.equal(read.rest, '', shown);
    assert.ok(!(read.request.headers.has('content-length') && read.request.headers.has('transfer-encoding')), shown);
    backend.received = [];
    return read.request;
  }

  it("ends when the backend's answer is invalid, over both versions of HTTP", async () => {
    const answers = [
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n',
      'HTTP/1.1 101 Switching Protocols\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: zip\r\n\r\nbad',
      'HTTP/1.1 000 OK\r\nContent-Length: 3\r\n\r\nbad',
      'HTTP/1.1 700 OK\r\nContent-Length: 3\r\n\r\nbad',
      `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100_000)}\r\n\r\nbad`,
      'no HTTP\r\n\r\n',
    ];
    const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
    for (const answer of answers) {
      const shown = answer.slice(0, 60);
      backend.answer = answer;
      assert.match(await raw(head('GET')), /^HTTP\/1.1 503 [^]*error trying to reach service/, shown);
      const stream = session.request({ ':path': proxy });
      const [answered] = (await once(stream, 'response')) as [{ ':status': number }];
      stream.resume();
      await once(stream, 'close');
      assert.equal(answered[':status'], 503, shown);
    }
    session.close();
  });

  const head = (method: string, ...lines: readonly string[]): string =>
    [`${method} ${proxy} HTTP/1.1`, 'Host: api', ...lines, 'Connection: close', '', ''].join('\r\n');
  const chunked = (body: string): string => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;

  it('is one request, with its own framing, over HTTP/1.1', async () => {
    for (const method of methods) {
      const length = await raw(head(method, `Content-Length: ${smuggled.length}`) + smuggled);
      assert.match(length, /^HTTP\/1.1 200 /, method);
      const first = only(`${method} with a length`);
      assert.deepEqual(
        [first.line, first.body, first.headers.get('content-length')],
        [`${method} /x HTTP/1.1`, smuggled, String(smuggled.length)],
      );
      assert.match(
        await raw(head(method, 'Transfer-Encoding: chunked') + chunked(smuggled)),
        /^HTTP\/1.1 200 /,
        method,
      );
      const second = only(`${method} in chunks`);
      assert.deepEqual(
        [second.line, second.body, second.headers.get('transfer-encoding')],
        [`${method} /x HTTP/1.1`, smuggled, 'chunked'],
      );
      await raw(head(method));
      assert.equal(only(`${method} without a body`).body, '');
    }
  });

  it('is one request, with its own framing, over HTTP/2', async () => {
    for (const method of methods) {
      const pseudo = [
        [':method', method],
        [':scheme', 'https'],
        [':path', proxy],
        [':authority', 'api'],
      ] as const;
      const tries = [
        { headers: [...pseudo, ['content-length', String(smuggled.length)]], data: [smuggled] },
        { headers: pseudo, data: [smuggled.slice(0, 9), smuggled.slice(9)] },
        { headers: pseudo },
        { headers: pseudo, data: [''] },
      ] as const;
      for (const [index, each] of tries.entries()) {
        assert.deepEqual([(await sendStream(port, each)).status, method, index], [200, method, index]);
        await backend.quiet();
        assert.deepEqual([only(method).body, index], [index < 2 ? smuggled : '', index]);
      }
    }
  });

  it('is forwarded completely or not at all if HTTP/2 has another length than announced', async () => {
    for (const method of methods) {
      const pseudo = [
        [':method', method],
        [':scheme', 'https'],
        [':path', proxy],
        [':authority', 'api'],
      ] as const;
      for (const [length, data] of [
        ['3', [`abc${smuggled}`]],
        ['3', ['abc', smuggled]],
        ['500', ['abc']],
      ] as const) {
        await sendStream(port, { headers: [...pseudo, ['content-length', length]], data });
        await backend.quiet();
        for (const bytes of backend.received) {
          const read = readRequest(bytes);
          assert.ok(
            read === undefined || (read.rest === '' && read.request.body === 'abc'),
            `${method} ${length}: ${JSON.stringify(bytes)}`,
          );
          assert.doesNotMatch(bytes, /admin/);
        }
        backend.received = [];
      }
    }
  });

  it('is refused when its body has two lengths, and nothing after it is read as a request', async () => {
    const tries = [
      'Content-Length: 6\r\nTransfer-Encoding: chunked',
      'Transfer-Encoding: chunked\r\nContent-Length: 6',
      'Content-Length: 6\r\nContent-Length: 6',
      'Content-Length: +6',
      'Transfer-Encoding: gzip, chunked',
      'Transfer-Encoding: xchunked',
      'Transfer-Encoding : chunked',
      'Transfer-Encoding: identity',
    ];
    for (const method of methods)
      for (const lines of tries)
        assert.match(
          await raw(`${head(method, lines)}0\r\n\r\n${head('DELETE')}`),
          /^HTTP\/1.1 400 (?![^]*HTTP\/1.1)/,
          lines,
        );
    assert.deepEqual(backend.received, []);
  });

  it('loses headers that concern one connection: those of the standard and those that Connection lists', async () => {
    const lines = [
      'Connection: X-Own, X-Forwarded-Uri, content-length, host',
      'Keep-Alive: timeout=5',
      'Proxy-Connection: keep-alive',
      'TE: trailers',
      'Trailer: X-Late',
      'X-Own: 1',
      'X-Kept: 1',
      'Proxy-Authorization: Basic x',
      'Content-Length: 3',
    ];
    await raw(`${head('POST', ...lines)}abc`);
    const { headers, body } = only('hop by hop');
    assert.deepEqual([...headers.keys()].sort(), [
      'connection',
      'content-length',
      'host',
      'x-forwarded-host',
      'x-forwarded-proto',
      'x-forwarded-uri',
      'x-kept',
    ]);
    assert.deepEqual([headers.get('connection'), headers.get('host'), body], ['close', '10.2.0.1:80', 'abc']);
    backend.answer =
      'HTTP/1.1 200 OK\r\nConnection: close, X-Own\r\nX-Own: 1\r\nX-Kept: 1\r\nKeep-Alive: timeout=5\r\nProxy-Authenticate: Basic\r\nTrailer: X-Late\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n';
    const answer = await raw(head('GET'));
    assert.match(answer, /\r\nx-kept: 1\r\n/i);
    assert.doesNotMatch(answer, /\r\n(x-own|keep-alive|proxy-authenticate|trailer):/i);
  });

  it('has no body if it asks for another protocol', async () => {
    const upgrade = [
      'Connection: upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
    ];
    for (const framing of [`Content-Length: ${smuggled.length}`, 'Transfer-Encoding: chunked'])
      assert.match(
        await raw(`${[`GET ${proxy} HTTP/1.1`, 'Host: api', ...upgrade, framing, '', ''].join('\r\n')}${smuggled}`),
        /^HTTP\/1.1 400 /,
      );
    assert.deepEqual(backend.received, []);
    backend.answer = 'HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n';
    assert.match(
      await raw(`${[`GET ${proxy} HTTP/1.1`, 'Host: api', ...upgrade, '', ''].join('\r\n')}${smuggled}`),
      /^HTTP\/1.1 403 /,
    );
    assert.equal(only('an upgrade').line, 'GET /x HTTP/1.1');
  });

  it('gets an answer with no other headers when it switches the protocol', async () => {
    backend.answer =
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade, X-Own\r\nUpgrade: websocket\r\nX-Own: 1\r\nX-Kept: 1\r\nContent-Length: 5\r\nSec-WebSocket-Accept: abc\r\n\r\nraw';
    const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
    let seen = '';
    socket.on('data', (chunk: Buffer) => (seen += chunk.toString('latin1')));
    socket.write(
      [`GET ${proxy} HTTP/1.1`, 'Host: api', 'Connection: upgrade', 'Upgrade: websocket', '', ''].join('\r\n'),
    );
    while (!seen.endsWith('raw')) await new Promise((resolve) => setImmediate(resolve));
    socket.destroy();
    await backend.quiet();
    const [switching = ''] = seen.split('\r\n\r\n');
    assert.deepEqual(switching.toLowerCase().split('\r\n').sort(), [
      'connection: upgrade',
      'http/1.1 101 switching protocols',
      'sec-websocket-accept: abc',
      'upgrade: websocket',
      'x-kept: 1',
    ]);
  });
});
