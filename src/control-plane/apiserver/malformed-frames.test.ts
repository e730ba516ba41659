// These tests send floods of frames, and bodies that do not arrive, over real sockets.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { after, afterEach, before, describe, it } from 'node:test';
import { connect as connectTls } from 'node:tls';
import type { FakeClock } from '../../base/testing/fake-clock.ts';
import type { ApiServer } from './create-api-server.ts';
import type { FakeRegistry } from './testing/fake-registry.ts';
import { fixture } from './testing/fixtures.ts';
import { endHeaders, endStream, frame, rawHttp2, requestHead } from './testing/raw-http2.ts';
import type { RawHttp2 } from './testing/raw-http2.ts';
import { makeTestCertificates } from './testing/test-certificates.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const mebibyte = 1024 * 1024;

let server: ApiServer;
let registry: FakeRegistry;
let clock: FakeClock;
let port: number;
const open: RawHttp2[] = [];
const { key, cert, clientCa } = makeTestCertificates();

before(async () => {
  ({ server, registry, clock } = fixture());
  ({ port } = await server.listen({ host: '127.0.0.1', port: 0, tls: { key, cert, clientCa } }));
});
/** Closes everything. All unit tests share one process, where a hook outside a suite would run for each of them. */
const closeAll = (): void => {
  for (const { socket } of open.splice(0)) socket.destroy();
};
after(() => server.stop());

async function raw(options: Parameters<typeof rawHttp2>[1] = {}): Promise<RawHttp2> {
  const client = await rawHttp2(port, options);
  open.push(client);
  return client;
}

/** Sends a request of another client on its own connection, and returns the status. */
async function honestStatus(): Promise<number> {
  const session = connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  const stream = session.request({ ':path': maps, authorization: 'Bearer jane' });
  const [head] = (await once(stream, 'response')) as [{ ':status': number }];
  stream.resume();
  await once(stream, 'close');
  session.close();
  return head[':status'];
}

/** Waits until the condition holds, for at most ten seconds, because sockets have no fixed timing. */
async function until(holds: () => boolean): Promise<void> {
  for (let looks = 0; !holds(); looks++) {
    if (looks === 2000) assert.fail(`never: ${holds.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const memory = (): number => process.memoryUsage().rss;

describe('a flood of frames', () => {
  afterEach(closeAll);

  const ping = frame('ping', { payload: Buffer.alloc(8) });
  const settings = frame('settings', { payload: Buffer.from([0, 3, 0, 0, 0, 100]) });
  const emptyData = frame('data', { stream: 1 });
  const floods: readonly (readonly [string, Buffer, Buffer])[] = [
    ['pings', Buffer.alloc(0), Buffer.concat(Array<Buffer>(200).fill(ping))],
    ['settings', Buffer.alloc(0), Buffer.concat(Array<Buffer>(200).fill(settings))],
    [
      'empty data',
      frame('headers', {
        flags: endHeaders,
        stream: 1,
        payload: requestHead('POST', maps, { 'content-type': 'application/json' }),
      }),
      Buffer.concat(Array<Buffer>(200).fill(emptyData)),
    ],
    [
      'priorities',
      Buffer.alloc(0),
      Buffer.concat(Array<Buffer>(200).fill(frame('priority', { stream: 3, payload: Buffer.from([0, 0, 0, 0, 1]) }))),
    ],
    [
      'window updates',
      frame('headers', { flags: endHeaders | endStream, stream: 1, payload: requestHead('GET', maps) }),
      Buffer.concat(Array<Buffer>(200).fill(frame('windowUpdate', { payload: Buffer.from([0, 0, 0, 1]) }))),
    ],
  ];

  for (const [name, first, flood] of floods) {
    it(`a frame flood of ${name} whose responses are not read takes bounded memory, and others are served`, async () => {
      const before = memory();
      const clients = await Promise.all(Array.from({ length: 4 }, () => raw({ read: false })));
      await Promise.all(
        clients.map(async (client) => {
          client.socket.write(first);
          await client.flood(flood, 1000);
        }),
      );
      assert.equal(await honestStatus(), 200);
      assert.ok(memory() - before < 64 * mebibyte, `${(memory() - before) / mebibyte} MiB for ${name}`);
    });
  }

  it('a flood of CONTINUATION frames ends the connection', async () => {
    const client = await raw();
    client.socket.write(frame('headers', { stream: 1, payload: requestHead('GET', maps) }));
    await client.flood(
      frame('continuation', {
        stream: 1,
        payload: Buffer.concat([Buffer.from([0, 1, 0x61, 100]), Buffer.alloc(100, 0x61)]),
      }),
      100_000,
    );
    await until(client.isClosed);
    assert.equal(await honestStatus(), 200);
  });

  it('a flood of streams stays below the limit, even for a client that never acknowledged it', async () => {
    const gate = Promise.withResolvers<void>();
    let [running, most] = [0, 0];
    const { list } = registry;
    registry.list = async (...given) => {
      most = Math.max(most, ++running);
      await gate.promise;
      running--;
      return list.apply(registry, given);
    };
    const client = await raw();
    for (let stream = 1; stream < 3000; stream += 2)
      client.socket.write(
        frame('headers', { flags: endHeaders | endStream, stream, payload: requestHead('GET', maps) }),
      );
    await until(() => client.isClosed() || client.seen.filter((type) => type === 3).length > 300);
    registry.list = list;
    gate.resolve();
    assert.ok(most <= 100, `${most} at once`);
    await until(() => running === 0);
    assert.equal(await honestStatus(), 200);
  });
});

describe('a body that does not arrive', () => {
  afterEach(closeAll);

  const post = `POST ${maps} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer slow\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`;

  it('is not awaited over HTTP/1.1, and its seat is released', async () => {
    const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
    let text = '';
    socket.on('error', () => undefined).on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
    await once(socket, 'secureConnect');
    const closed = once(socket, 'close');
    socket.write(post);
    await until(() => clock.armedTimers > 1);
    await clock.advance(16_000);
    await closed;
    assert.match(text, /^HTTP\/1.1 504 [^]*the body of the request came too slowly/);
  });

  it('is not awaited over HTTP/2, even if single bytes arrive', async () => {
    const client = await raw();
    client.socket.write(
      frame('headers', {
        flags: endHeaders,
        stream: 1,
        payload: requestHead('POST', maps, { authorization: 'Bearer slow', 'content-type': 'application/json' }),
      }),
    );
    await until(() => clock.armedTimers > 1);
    for (let second = 0; second < 20; second++) {
      client.socket.write(frame('data', { stream: 1, payload: Buffer.from(' ') }));
      await clock.advance(1000);
    }
    await until(() => client.seen.includes(1));
  });

  it('a request body may be slow as long as data arrives', async () => {
    const session = connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
    const stream = session.request({
      ':method': 'POST',
      ':path': maps,
      authorization: 'Bearer slow',
      'content-type': 'application/json',
    });
    const response = once(stream, 'response');
    const body = Buffer.from(JSON.stringify({ metadata: { name: 'slow' }, data: { x: 'x'.repeat(600_000) } }));
    for (let at = 0; at < body.length; at += 20_000) {
      stream.write(body.subarray(at, at + 20_000));
      await new Promise((resolve) => setImmediate(resolve));
      if (at < 500_000) await clock.advance(1000);
    }
    stream.end();
    const [head] = (await response) as [{ ':status': number }];
    session.destroy();
    assert.equal(head[':status'], 201);
  });
});
