import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import type { IncomingMessage, RequestOptions } from 'node:http';
import type { Duplex } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import { connect as connectTls } from 'node:tls';
import type { TLSSocket } from 'node:tls';
import { gunzipSync } from 'node:zlib';
import WebSocket from 'ws';
import { systemClock } from '../../base/clock.ts';
import type { ApiServer } from './create-api-server.ts';
import { FakeKubelet } from './testing/fake-kubelet.ts';
import type { FakeRegistry } from './testing/fake-registry.ts';
import { fixture, tokenIsName } from './testing/fixtures.ts';
import { makeTestCertificates } from './testing/test-certificates.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const certificates = makeTestCertificates();
const byCertificate = {
  name: 'x509',
  authenticate: ({ clientCertificate }: { clientCertificate?: unknown }) =>
    Promise.resolve(
      clientCertificate === undefined
        ? ({ outcome: 'none' } as const)
        : ({ outcome: 'user', user: { name: 'from-certificate', groups: [] } } as const),
    ),
};

interface Served {
  readonly server: ApiServer;
  readonly registry: FakeRegistry;
  readonly port: number;
}

async function start(kubelet?: FakeKubelet): Promise<Served> {
  const options = {
    clock: systemClock,
    authenticators: [byCertificate, tokenIsName],
    ...(kubelet !== undefined && { kubelets: { dialer: kubelet.dialer } }),
  };
  const { server, registry } = fixture(options);
  const { key, cert, clientCa } = certificates;
  const { port } = await server.listen({ host: '127.0.0.1', port: 0, tls: { key, cert, clientCa } });
  return { server, registry, port };
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

function ask(
  port: number,
  path: string,
  { body, ...options }: RequestOptions & { readonly body?: string; readonly key?: string; readonly cert?: string } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      { port, host: '127.0.0.1', path, rejectUnauthorized: false, agent: false, ...options },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
        );
        response.on('error', reject);
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}

const json = (answer: Answer): Record<string, unknown> =>
  JSON.parse(answer.body.toString('utf8')) as Record<string, unknown>;

async function raw(port: number, text: string): Promise<{ socket: TLSSocket; read: () => string }> {
  const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
  let seen = '';
  socket.on('data', (chunk: Buffer) => (seen += chunk.toString('latin1')));
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  socket.write(text);
  return { socket, read: () => seen };
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

describe('the API server over sockets', () => {
  const kubelet = new FakeKubelet();
  let served: Served;
  before(async () => {
    await kubelet.listen();
    served = await start(kubelet);
  });
  after(async () => {
    await served.server.stop();
    await kubelet.close();
  });

  it('supports HTTP/1.1, keeps the connection, and returns 413 and 404 on it', async () => {
    const { port } = served;
    const created = await ask(port, maps, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"metadata":{"name":"h1"}}',
    });
    const large = await ask(port, maps, { method: 'POST', body: 'x'.repeat(4 * 1024 * 1024) }).catch(() => undefined);
    assert.deepEqual(
      [created.status, created.headers['content-type'], large?.status ?? 413, (await ask(port, `${maps}/none`)).status],
      [201, 'application/json', 413, 404],
    );
  });

  it('supports HTTP/2 with many concurrent requests, and watches on it', async () => {
    const session = connectHttp2(`https://127.0.0.1:${served.port}`, { rejectUnauthorized: false });
    const post = (name: string): Promise<number> =>
      new Promise((resolve, reject) => {
        const stream = session.request({ ':method': 'POST', ':path': maps, 'content-type': 'application/json' });
        stream.on('response', (headers) => resolve(headers[':status'] ?? 0));
        stream.on('error', reject);
        stream.resume();
        stream.end(JSON.stringify({ metadata: { name } }));
      });
    const watch = session.request({ ':path': `${maps}?watch=1&resourceVersion=1` });
    let seen = '';
    watch.on('data', (chunk: Buffer) => (seen += chunk.toString('utf8')));
    await once(watch, 'response');
    const statuses = await Promise.all(Array.from({ length: 50 }, (_, index) => post(`h2-${index}`)));
    await until(() => seen.split('\n').length > 50);
    assert.deepEqual([[...new Set(statuses)], served.registry.watcherCount], [[201], 1]);
    watch.close();
    await until(() => served.registry.watcherCount === 0);
    session.close();
  });

  it('accepts certificates of its CA, and rejects other certificates instead of ignoring them', async () => {
    const statuses = [];
    for (const { key, cert } of [certificates.client, certificates.stranger])
      statuses.push((await ask(served.port, maps, { key, cert })).status);
    assert.deepEqual(statuses, [200, 401]);
  });

  it('rejects TLS before 1.2', async () => {
    const socket = connectTls({
      port: served.port,
      host: '127.0.0.1',
      rejectUnauthorized: false,
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
    });
    const [error] = (await once(socket, 'error')) as [Error];
    assert.match(error.message, /protocol|version|alert/i);
  });

  it('compresses long responses for clients that accept it', async () => {
    const { port, registry } = served;
    const bytes = { name: 'long', data: 'x'.repeat(200_000) };
    await ask(port, maps, {
      method: 'POST',
      body: JSON.stringify({ metadata: { name: bytes.name }, data: { x: bytes.data } }),
    });
    const packed = await ask(port, `${maps}/long`, { headers: { 'accept-encoding': 'gzip' } });
    const list = await ask(port, maps, { headers: { 'accept-encoding': 'deflate, gzip;q=0.5' } });
    const plain = await ask(port, `${maps}/long`);
    const short = await ask(port, `${maps}/none`, { headers: { 'accept-encoding': 'gzip' } });
    assert.deepEqual(
      [
        packed.headers['content-encoding'],
        plain.headers['content-encoding'],
        short.headers['content-encoding'],
        gunzipSync(packed.body).equals(plain.body),
      ],
      ['gzip', undefined, undefined, true],
    );
    assert.equal(
      (JSON.parse(gunzipSync(list.body).toString('utf8')) as { items: unknown[] }).items.length,
      registry.objects.size,
    );
  });

  it('supports watches over WebSockets, one message for each event', async () => {
    const socket = new WebSocket(
      `wss://127.0.0.1:${served.port}${maps}?watch=1&resourceVersion=1`,
      ['base64.binary.k8s.io', `base64url.bearer.authorization.k8s.io.${Buffer.from('x').toString('base64url')}`],
      { rejectUnauthorized: false },
    );
    const messages: string[] = [];
    socket.on('message', (data: Buffer) => messages.push(data.toString('utf8')));
    await once(socket, 'open');
    await ask(served.port, maps, { method: 'POST', body: '{"metadata":{"name":"ws"}}' });
    await until(() => messages.length > 0);
    assert.deepEqual(
      [(JSON.parse(messages[0] ?? '') as { type: string }).type, socket.protocol],
      ['ADDED', 'base64.binary.k8s.io'],
    );
    socket.close();
    await until(() => served.registry.watcherCount === 0);
  });

  describe('a log over WebSockets', () => {
    const log = '/api/v1/namespaces/default/pods/logged/log';
    const open = (query: string, protocols: string[]): WebSocket =>
      new WebSocket(`wss://127.0.0.1:${served.port}${log}${query}`, protocols, { rejectUnauthorized: false });
    const messagesOf = (socket: WebSocket): (Buffer | string)[] => {
      const messages: (Buffer | string)[] = [];
      socket.on('message', (data: Buffer, isBinary) => messages.push(isBinary ? data : data.toString('latin1')));
      return messages;
    };
    before(async () => {
      const post = (path: string, body: object) =>
        ask(served.port, path, { method: 'POST', body: JSON.stringify(body) });
      await post('/api/v1/nodes', {
        metadata: { name: 'logs' },
        status: {
          addresses: [{ type: 'InternalIP', address: '10.1.0.1' }],
          daemonEndpoints: { kubeletEndpoint: { Port: 10_250 } },
        },
      });
      await post('/api/v1/namespaces/default/pods', {
        metadata: { name: 'logged' },
        spec: { nodeName: 'logs', containers: [{ name: 'a' }] },
      });
    });
    after(() => {
      kubelet.answer = (_request, response) => response.end('fine');
    });

    it('is sent as bytes or as base64, after an empty message, and closes at its end', async () => {
      const text = `first\n${'x'.repeat(5000)}\xff\n`;
      kubelet.answer = (_request, response) => response.end(Buffer.from(text, 'latin1'));
      for (const [asked, spoken] of [
        [[], ''],
        [['v9.unknown', 'binary.k8s.io'], 'binary.k8s.io'],
        [['base64.binary.k8s.io', 'binary.k8s.io'], 'base64.binary.k8s.io'],
      ] as const) {
        const socket = open('?tailLines=3', [...asked]);
        const messages = messagesOf(socket);
        const [code] = (await once(socket, 'close')) as [number];
        const pieces = messages.map((each) => (typeof each === 'string' ? Buffer.from(each, 'base64') : each));
        assert.deepEqual(
          [socket.protocol, code, pieces[0]?.length, Buffer.concat(pieces).toString('latin1') === text],
          [spoken, 1000, 0, true],
        );
        assert.ok(pieces.every((piece) => piece.length <= 2048));
        assert.equal(
          messages.every((each) => typeof each === 'string'),
          spoken === 'base64.binary.k8s.io',
        );
      }
      assert.equal(kubelet.requests.at(-1)?.url, '/containerLogs/default/logged/a?tailLines=3');
      assert.equal(kubelet.requests.at(-1)?.headers.upgrade, undefined);
    });

    it('continues while the log is written, and ends at the kubelet when the client disconnects', async () => {
      let closed = false;
      kubelet.answer = (_request, response) => {
        response.write('one\n');
        response.on('close', () => (closed = true));
      };
      const socket = open('?follow=true', ['binary.k8s.io']);
      const messages = messagesOf(socket);
      await until(() => Buffer.concat(messages as Buffer[]).toString() === 'one\n');
      socket.send('nothing of interest');
      socket.close();
      await until(() => closed);
    });

    it('is not sent faster than the client reads', async () => {
      const piece = Buffer.alloc(65_536);
      let sentBytes = 0;
      let isFull = false;
      kubelet.answer = (_request, response) => {
        const more = (): void => {
          isFull = false;
          while (!isFull && sentBytes < 200 * piece.length) {
            sentBytes += piece.length;
            isFull = !response.write(piece);
          }
          if (sentBytes >= 200 * piece.length) response.end();
        };
        response.on('drain', more);
        more();
      };
      const socket = open('?follow=true', ['binary.k8s.io']);
      let readBytes = 0;
      socket.on('message', (data: Buffer) => (readBytes += data.length));
      await once(socket, 'open');
      socket.pause();
      await until(() => isFull);
      assert.ok(sentBytes < 200 * piece.length);
      socket.resume();
      await once(socket, 'close');
      assert.equal(readBytes, 200 * piece.length);
    });

    it('is rejected for other protocols, and errors are returned as for any request', async () => {
      const refusal = (query: string, protocols: string[]): Promise<number> =>
        new Promise((resolve) => {
          const socket = open(query, protocols);
          socket.on('error', () => undefined);
          socket.on('unexpected-response', (request, response) => {
            request.destroy();
            resolve(response.statusCode ?? 0);
          });
        });
      kubelet.answer = (_request, response) => response.writeHead(400).end('container not found');
      assert.deepEqual(
        [await refusal('', ['channel.k8s.io']), await refusal('?container=none', []), await refusal('', [])],
        [403, 400, 400],
      );
    });
  });

  it('is not possible for other resources, which return an error as for any request', async () => {
    const { socket, read } = await raw(
      served.port,
      `GET ${maps}/none HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
    );
    await once(socket, 'close');
    assert.match(read(), /^HTTP\/1\.1 (404|500) .*"kind":"Status"/s);
  });

  it('responds to data that is not HTTP, and to headers that are too long', async () => {
    const garbage = await raw(served.port, 'BREW / COFFEE\r\n\r\n');
    const long = await raw(served.port, `GET / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(300_000)}\r\n\r\n`);
    await Promise.all([once(garbage.socket, 'close'), once(long.socket, 'close')]);
    assert.deepEqual([garbage.read().slice(0, 12), long.read().slice(0, 12)], ['HTTP/1.1 400', 'HTTP/1.1 431']);
    // The error is sent once, however much data follows.
    assert.equal(long.read().split('HTTP/1.1').length, 2);
  });

  describe('exec', () => {
    before(async () => {
      const post = (path: string, body: object): Promise<Answer> =>
        ask(served.port, path, { method: 'POST', body: JSON.stringify(body) });
      await post('/api/v1/nodes', {
        metadata: { name: 'n' },
        status: { addresses: [{ type: 'Hostname', address: 'n' }] },
      });
      await post('/api/v1/namespaces/default/pods', {
        metadata: { name: 'p' },
        spec: { nodeName: 'n', containers: [{ name: 'c' }] },
      });
    });

    const exec = (upgrade: string): Promise<{ socket: TLSSocket; read: () => string }> =>
      raw(
        served.port,
        `POST /api/v1/namespaces/default/pods/p/exec?command=sh&stdin=true&stdout=true HTTP/1.1\r\nhost: x\r\nauthorization: Bearer root\r\nconnection: Upgrade\r\nupgrade: ${upgrade}\r\nx-stream-protocol-version: v4.channel.k8s.io\r\n\r\n`,
      );

    it('passes data both ways after the kubelet switched, and ends both sides together', async () => {
      const ends: Duplex[] = [];
      kubelet.upgrade = (_request, socket) => {
        ends.push(socket);
        socket.write(
          'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\nhello',
        );
        socket.on('data', (chunk: Buffer) => socket.write(chunk.toString('latin1').toUpperCase()));
      };
      const { socket, read } = await exec('SPDY/3.1');
      await until(() => read().includes('hello'));
      socket.write('echo');
      await until(() => read().includes('ECHO'));
      assert.match(
        read(),
        /^HTTP\/1\.1 101 Switching Protocols\r\n.*X-Stream-Protocol-Version: v4\.channel\.k8s\.io\r\n\r\nhelloECHO$/s,
      );
      const { url, headers } = kubelet.requests.at(-1) ?? { url: '', headers: {} };
      assert.deepEqual(
        [url, headers.authorization, headers.upgrade],
        ['/exec/default/p/c?input=1&output=1&command=sh', undefined, 'SPDY/3.1'],
      );
      socket.destroy();
      await until(() => ends[0]?.destroyed === true && kubelet.openConnections === 0);
      const second = await exec('SPDY/3.1');
      await until(() => second.read().includes('hello'));
      ends[1]?.end();
      await once(second.socket, 'close');
    });

    it('passes no data to the kubelet after a rejected upgrade (CVE-2018-1002105)', async () => {
      const heard: string[] = [];
      for (const status of ['400 Bad Request', '200 OK', '500 Internal Server Error']) {
        kubelet.upgrade = (_request, socket) => {
          socket.on('data', (chunk: Buffer) => heard.push(chunk.toString('latin1')));
          socket.write(`HTTP/1.1 ${status}\r\ncontent-length: 2\r\n\r\nno`);
        };
        const before = kubelet.requests.length;
        const { socket, read } = await exec('SPDY/3.1');
        socket.write('GET /runningpods HTTP/1.1\r\nhost: x\r\n\r\n');
        await once(socket, 'close');
        assert.equal(read().match(/HTTP\/1\.1 /g)?.length, 1, status);
        assert.equal(kubelet.requests.length, before + 1, status);
        await until(() => kubelet.openConnections === 0);
      }
      assert.deepEqual(heard, []);
    });

    it('reports to the client if the kubelet does not switch, or switches to another protocol', async () => {
      kubelet.upgrade = (_request, socket) =>
        socket.end(
          'HTTP/1.1 403 Forbidden\r\ncontent-type: text/plain\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno',
        );
      const refused = await exec('SPDY/3.1');
      await once(refused.socket, 'close');
      kubelet.upgrade = (_request, socket) =>
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: smtp\r\n\r\n');
      const other = await exec('SPDY/3.1');
      await once(other.socket, 'close');
      assert.match(refused.read(), /^HTTP\/1\.1 403 .*\r\n\r\nno$/s);
      assert.match(other.read(), /^HTTP\/1\.1 500 /);
      await until(() => kubelet.openConnections === 0);
    });
  });
});

describe('a stopping server', () => {
  it('ends watches, finishes requests in flight, closes idle connections, and accepts no new ones', async () => {
    const { server, registry, port } = await start();
    const held = Promise.withResolvers<void>();
    const list = registry.list.bind(registry);
    let arrived = 0;
    registry.list = async (...given) => {
      arrived++;
      await held.promise;
      return list(...given);
    };
    const idle = await raw(port, '');
    const watch = ask(port, `${maps}?watch=1`);
    const inFlight = ask(port, maps);
    const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
    const stream = session.request({ ':path': maps });
    const inFlight2 = once(stream, 'response') as Promise<[{ ':status': number }]>;
    await until(() => arrived === 2 && registry.calls.some(({ verb }) => verb === 'watch'));
    const stopped = server.stop();
    assert.equal((await watch).status, 200);
    held.resolve();
    const answer = await inFlight;
    assert.equal((await inFlight2)[0][':status'], 200);
    stream.resume();
    assert.deepEqual([answer.status, json(answer).kind, answer.headers.connection], [200, 'ConfigMapList', 'close']);
    await stopped;
    if (!idle.socket.closed) await once(idle.socket, 'close');
    await assert.rejects(ask(port, maps), { code: 'ECONNREFUSED' });
    await server.stop();
  });
});
