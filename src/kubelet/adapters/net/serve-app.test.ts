import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import type { IncomingMessage, RequestOptions } from 'node:http';
import { connect } from 'node:net';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { listenUnix } from './http-listen.ts';
import type { Listening } from './http-listen.ts';
import type { FetchApp } from './serve-app.ts';

const folder = mkdtempSync('/tmp/serve-app-');
const open: Listening[] = [];
after(async () => {
  await Promise.all(open.map((each) => each.close()));
  rmSync(folder, { recursive: true });
});

async function serve(fetch: FetchApp['fetch']): Promise<string> {
  const listening = await listenUnix({ fetch }, path.join(folder, `${open.length}.sock`));
  open.push(listening);
  return listening.address;
}

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

function ask(socketPath: string, options: RequestOptions = {}, body: readonly string[] = []): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = http.request({ socketPath, agent: false, ...options }, (response) => {
      let text = '';
      response
        .setEncoding('utf8')
        .on('data', (chunk: string) => (text += chunk))
        .on('end', () => resolve({ status: response.statusCode, headers: response.headers, body: text }));
    });
    request.on('error', reject);
    for (const chunk of body) request.write(chunk);
    request.end();
  });
}

/** Returns the response to raw bytes, until the other side closes. */
async function raw(socketPath: string, text: string): Promise<string> {
  const socket = connect(socketPath).setEncoding('latin1');
  let seen = '';
  socket.on('data', (chunk: string) => (seen += chunk)).on('error', () => undefined);
  socket.write(text, 'latin1');
  await once(socket, 'close');
  return seen;
}

/** A body that becomes available later than its head. */
const lateBody = (): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start: async (controller) => {
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
      controller.enqueue(new TextEncoder().encode('late'));
      controller.close();
    },
  });

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

describe('an app behind a Node server', () => {
  it('gets the method, path, query, headers and body, and a fixed host', async () => {
    const socket = await serve(async (request) =>
      Response.json([
        request.method,
        request.url,
        request.headers.get('host'),
        request.headers.get('x-own'),
        (await request.text()).length,
      ]),
    );
    const long = 'x'.repeat(100_000);
    const answer = await ask(
      socket,
      { method: 'POST', path: '/%61 b?c=%20&d'.replace(' ', '%20'), headers: { host: 'other:1', 'x-own': '1' } },
      Array.from({ length: 30 }, () => long),
    );
    assert.deepEqual(JSON.parse(answer.body), ['POST', 'http://kubelet/a%20b?c=%20&d', null, '1', 3_000_000]);
  });

  it('sets a length for a short response, none for a streamed one, and no body for HEAD', async () => {
    const socket = await serve((request) =>
      request.method === 'HEAD' || !request.url.endsWith('/stream')
        ? new Response(request.method === 'HEAD' ? null : 'short')
        : new Response(lateBody()),
    );
    const [short, late, head] = [
      await ask(socket, { path: '/' }),
      await ask(socket, { path: '/stream' }),
      await ask(socket, { path: '/', method: 'HEAD' }),
    ];
    assert.deepEqual(
      [
        short.headers['content-length'],
        short.body,
        late.headers['content-length'],
        late.headers['transfer-encoding'],
        late.body,
        head.status,
        head.body,
      ],
      ['5', 'short', undefined, 'chunked', 'late', 200, ''],
    );
  });

  it('sends its head before the first part of its body, and every cookie', async () => {
    let end = (): void => undefined;
    const headers = new Headers([
      ['set-cookie', 'a=1'],
      ['set-cookie', 'b=2'],
    ]);
    const socket = await serve(
      () =>
        new Response(new ReadableStream({ start: (controller) => void (end = () => controller.close()) }), { headers }),
    );
    const request = http.get({ socketPath: socket, agent: false });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    assert.deepEqual(response.headers['set-cookie'], ['a=1', 'b=2']);
    end();
    await once(response.resume(), 'end');
  });

  it('is paused by a client that does not read', async () => {
    let made = 0;
    const chunk = new Uint8Array(64 * 1024);
    const socket = await serve(
      () =>
        new Response(
          new ReadableStream({ pull: (controller) => (made++, controller.enqueue(chunk)) }, { highWaterMark: 0 }),
        ),
    );
    const client = connect(socket);
    client.pause().write('GET / HTTP/1.1\r\nHost: n\r\n\r\n');
    let before = -1;
    await until(() => made > 0);
    // There is no progress for many turns of the loop, in which an endless response would continue.
    for (let still = 0; still < 200; still = made === before ? still + 1 : 0) {
      before = made;
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.ok(made < 200, `${made} chunks`);
    client.destroy();
  });

  it('is notified of a disconnect by its signal and by its stream', async () => {
    const seen: string[] = [];
    const socket = await serve((request) => {
      request.signal.addEventListener('abort', () => seen.push('signal'));
      return new Response(
        new ReadableStream({
          start: (controller) => controller.enqueue(new TextEncoder().encode('first')),
          cancel: () => void seen.push('stream'),
        }),
      );
    });
    const client = connect(socket);
    client.write('GET / HTTP/1.1\r\nHost: n\r\n\r\n');
    await once(client, 'data');
    client.destroy();
    await until(() => seen.length === 2);
    assert.deepEqual(seen.sort(), ['signal', 'stream']);
  });

  it('gets an error for an incomplete body', async () => {
    const failed = Promise.withResolvers<unknown>();
    const socket = await serve(async (request) => {
      await request.text().catch((error: unknown) => failed.resolve(error));
      return new Response();
    });
    const client = connect(socket);
    client.write('POST / HTTP/1.1\r\nHost: n\r\nContent-Length: 100\r\n\r\nshort');
    client.end();
    assert.ok((await failed.promise) instanceof Error);
  });

  it('may leave a body unread: the response is sent, and the connection continues after the rest, or ends', async () => {
    const socket = await serve(() => new Response('enough'));
    const two = await raw(
      socket,
      `POST / HTTP/1.1\r\nHost: n\r\nContent-Length: 100000\r\n\r\n${'x'.repeat(100_000)}GET / HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n`,
    );
    assert.equal(two.match(/enough/g)?.length, 2);
    assert.match(await raw(socket, 'POST / HTTP/1.1\r\nHost: n\r\nContent-Length: 100000\r\n\r\nx'), /enough$/);
  });

  it('that fails ends only its connection', async () => {
    const socket = await serve((request) => {
      if (request.url.endsWith('/fail')) throw new Error('broken');
      return request.url.endsWith('/break')
        ? new Response(new ReadableStream({ pull: (controller) => controller.error(new Error('broken')) }))
        : new Response('fine');
    });
    for (const where of ['/fail', '/break']) await assert.rejects(ask(socket, { path: where }));
    assert.equal((await ask(socket, { path: '/' })).body, 'fine');
  });

  it('rejects tunnels and upgrades: the connection ends with the response', async () => {
    const socket = await serve(() => new Response('plain'));
    assert.match(
      await raw(socket, 'CONNECT n:443 HTTP/1.1\r\nHost: n\r\n\r\nGET / HTTP/1.1\r\nHost: n\r\n\r\n'),
      /^HTTP\/1.1 405 [^]*Method Not Allowed\n$/,
    );
    assert.match(
      await raw(socket, 'GET / HTTP/1.1\r\nHost: n\r\nConnection: upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n'),
      /^HTTP\/1.1 200 [^]*plain$/,
    );
  });

  it('gets no request whose body has two lengths', async () => {
    const seen: (string | null)[] = [];
    const socket = await serve(
      async (request) => (
        seen.push(
          request.headers.get('content-length'),
          request.headers.get('transfer-encoding'),
          await request.text(),
        ),
        new Response()
      ),
    );
    const smuggled = 'GET /admin HTTP/1.1\r\nHost: n\r\n\r\n';
    for (const lines of [
      'Content-Length: 6\r\nTransfer-Encoding: chunked',
      'Transfer-Encoding: chunked\r\nContent-Length: 6',
      'Content-Length: 0\r\nContent-Length: 6',
      'Transfer-Encoding: xchunked',
      'Transfer-Encoding: gzip, chunked',
      'Transfer-Encoding : chunked',
      'Content-Length: +6',
    ]) {
      assert.match(
        await raw(socket, `POST / HTTP/1.1\r\nHost: n\r\n${lines}\r\n\r\n0\r\n\r\n${smuggled}`),
        /^HTTP\/1.1 400 /,
        lines,
      );
    }
    assert.deepEqual(seen, []);
  });
});
