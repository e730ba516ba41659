// These tests use clients that do not read, or read slowly, over real sockets.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, constants } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import { afterEach, describe, it } from 'node:test';
import { connect as connectTcp } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { FakeClock } from '../../base/testing/fake-clock.ts';
import type { ApiServer } from './create-api-server.ts';
import type { ServerLimits } from './options.ts';
import type { FakeRegistry } from './testing/fake-registry.ts';
import { bodyText, fakeRequest } from './testing/fake-request.ts';
import { fixture } from './testing/fixtures.ts';
import { makeTestCertificates } from './testing/test-certificates.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const admin = 'Bearer admin/kubeadm:cluster-admins,system:authenticated';
const certificates = makeTestCertificates();

interface Fixture {
  readonly clock: FakeClock;
  readonly server: ApiServer;
  readonly registry: FakeRegistry;
  /** Adds an object to read. */
  readonly seed: (name: string, bytes: number) => Promise<unknown>;
  readonly port: number;
  readonly sessions: ClientHttp2Session[];
}

let running: Fixture | undefined;

async function start(limits: Partial<ServerLimits> = {}, objectBytes = 100): Promise<Fixture> {
  const { server, registry, clock } = fixture({ limits });
  const seed = (name: string, bytes: number): Promise<unknown> =>
    server.handle(
      fakeRequest('POST', maps, {
        headers: { 'content-type': 'application/json' },
        body: { metadata: { name }, data: { x: 'x'.repeat(bytes) } },
      }),
    );
  await seed('a', objectBytes);
  const { key, cert, clientCa } = certificates;
  const { port } = await server.listen({ host: '127.0.0.1', port: 0, tls: { key, cert, clientCa } });
  return (running = { clock, server, registry, seed, port, sessions: [] });
}

/** Closes everything. All unit tests share one process, where a hook outside a suite would run for each of them. */
const closeAll = async (): Promise<void> => {
  for (const session of running?.sessions ?? []) session.destroy();
  await running?.server.stop();
  running = undefined;
};

async function open({ port, sessions }: Fixture, initialWindowSize: number): Promise<ClientHttp2Session> {
  const session = connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false, settings: { initialWindowSize } });
  session.on('error', () => undefined);
  sessions.push(session);
  await once(session, 'remoteSettings');
  return session;
}

/** Sends a request, waits for the head of the response, and does not read its body. */
async function askUnread(
  session: ClientHttp2Session,
  path: string,
  authorization?: string,
): Promise<ClientHttp2Stream> {
  const stream = session.request({ ':path': path, ...(authorization !== undefined && { authorization }) });
  stream.on('error', () => undefined);
  await once(stream, 'response');
  return stream;
}

async function statusOf(session: ClientHttp2Session, path: string, authorization: string): Promise<number> {
  const stream = session.request({ ':path': path, authorization });
  const [head] = (await once(stream, 'response')) as [{ ':status': number }];
  stream.resume();
  await once(stream, 'close');
  return head[':status'];
}

/** Waits until the condition holds, for at most ten seconds, because sockets have no fixed timing. */
async function until(holds: () => boolean): Promise<void> {
  for (let looks = 0; !holds(); looks++) {
    if (looks === 2000) assert.fail(`never: ${holds.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe('clients that do not read', () => {
  afterEach(closeAll);

  it('do not block others: 700 anonymous requests with a window of 0 hold no seats, and are reset after a while', async () => {
    for (const priorityAndFairness of [true, false]) {
      const { clock, server, sessions } = await start({ priorityAndFairness });
      const streams: ClientHttp2Stream[] = [];
      for (let connection = 0; connection < 7; connection++) {
        const session = await open(running as Fixture, 0);
        streams.push(...(await Promise.all(Array.from({ length: 100 }, () => askUnread(session, maps)))));
      }
      const closed = Promise.all(sessions.map((session) => once(session, 'close')));
      assert.equal(await statusOf(await open(running as Fixture, 65_535), maps, admin), 200);
      assert.equal(await statusOf(await open(running as Fixture, 65_535), maps, 'Bearer root/system:masters'), 200);
      await clock.advance(60_000);
      await closed;
      assert.deepEqual([...new Set(streams.map(({ destroyed }) => destroyed))], [true]);
      await server.stop();
    }
  });

  it('hold bounded memory per connection and in total: the oldest responses of the largest user are reset first', async () => {
    // Each response is about 100 KiB.
    const limits = { unreadBytesPerConnection: 1024 * 1024, unreadBytes: 3 * 1024 * 1024 };
    const each = await start(limits, 100 * 1024);
    const admins = await open(each, 0);
    const kept = await askUnread(admins, maps, admin);
    const floods: ClientHttp2Stream[][] = [];
    for (let connection = 0; connection < 6; connection++) {
      // This is longer than an active client would take.
      await each.clock.advance(2200);
      const session = await open(each, 0);
      const streams: ClientHttp2Stream[] = [];
      floods.push(streams);
      for (let index = 0; index < 9; index++) streams.push(await askUnread(session, maps));
    }
    const alive = (streams: readonly ClientHttp2Stream[]): number =>
      streams.filter(({ destroyed }) => !destroyed).length;
    await until(() => alive(floods.flat()) <= 27);
    assert.deepEqual([alive(floods[5] ?? []), alive(floods[0] ?? []), kept.destroyed], [9, 0, false]);
    assert.equal(await statusOf(await open(each, 65_535), maps, 'Bearer root/system:masters'), 200);
  });

  it('lose no response if they read but request too much at once: the last requests must be repeated', async () => {
    const each = await start(
      { unreadBytesPerConnection: 10 * 1024 * 1024, unreadBytes: 20 * 1024 * 1024 },
      2 * 1024 * 1024,
    );
    const sessions = [await open(each, 65_535), await open(each, 65_535), await open(each, 65_535)];
    const streams = await Promise.all(
      sessions.flatMap((session) => Array.from({ length: 8 }, () => askUnread(session, `${maps}/a`))),
    );
    const answers = await Promise.all(
      streams.map(async (stream) => {
        let bytes = 0;
        for await (const chunk of stream as AsyncIterable<Buffer>) bytes += chunk.length;
        return { isWhole: bytes > 2 * 1024 * 1024, rst: stream.rstCode };
      }),
    );
    const whole = answers.filter(({ isWhole }) => isWhole).length;
    assert.ok(whole >= 8 && whole < 12, String(whole));
    assert.deepEqual([...new Set(answers.map(({ rst }) => rst))], [0]);
    assert.equal(await statusOf(sessions[0] ?? assert.fail(), `${maps}/a`, admin), 200);
  });

  it('are aborted over HTTP/1.1 too, even if they repeat requests without reading', async () => {
    const each = await start({}, 2 * 1024 * 1024);
    const socket = connectTls({ port: each.port, host: '127.0.0.1', rejectUnauthorized: false });
    socket.on('error', () => undefined);
    await once(socket, 'secureConnect');
    socket.pause();
    socket.write(`GET ${maps}/a HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(8));
    await until(() => each.registry.calls.filter(({ verb }) => verb === 'get').length > 0);
    await each.clock.advance(200_000);
    const closed = once(socket, 'close');
    socket.resume();
    await closed;
    assert.ok(each.registry.calls.length < 9, 'the parser waits for the answers that are not out');
  });

  it('get a long list completely even if they read slowly, as long as they continue', async () => {
    const each = await start({}, 1024 * 1024);
    for (let index = 0; index < 11; index++) await each.seed(`more-${index}`, 1024 * 1024);
    const stream = await askUnread(await open(each, 16_384), maps);
    let bytes = 0;
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      // The reader is as slow as permitted: 16 KiB a second.
      if (bytes % (1024 * 1024) < chunk.length) await each.clock.advance(60_000);
    }
    assert.ok(bytes > 12 * 1024 * 1024);
    assert.equal(stream.rstCode, 0);
  });

  it('cannot keep a response by reading it byte by byte', async () => {
    const each = await start({}, 10_000);
    const session = await open(each, 1);
    const stream = await askUnread(session, `${maps}/a`);
    const closed = once(stream, 'close');
    let bytes = 0;
    stream.on('data', (chunk: Buffer) => (bytes += chunk.length));
    await until(() => bytes > 10);
    await each.clock.advance(32_000);
    await closed;
    assert.ok(bytes < 10_000);
    assert.match(
      bodyText(await each.server.handle(fakeRequest('GET', '/metrics'))),
      /^apiserver_request_aborts_total\{verb="GET",group="",version="v1",resource="configmaps",subresource="",scope="resource"\} 1$/m,
    );
    assert.equal(stream.rstCode, constants.NGHTTP2_CANCEL);
  });

  it('lose a watch that they do not read for minutes', async () => {
    const each = await start({}, 100);
    const session = await open(each, 0);
    const watch = await askUnread(session, `${maps}?watch=1&resourceVersion=1`);
    // This is more than the two ends buffer for a stream.
    for (let index = 0; index < 10; index++) await each.seed(`big-${index}`, 100_000);
    await each.clock.advance(299_000);
    assert.deepEqual([watch.destroyed, each.registry.watcherCount], [false, 1]);
    const closed = once(watch, 'close');
    await each.clock.advance(2_000);
    await closed;
    assert.equal(each.registry.watcherCount, 0);
  });
});

describe('clients that reset what they asked for', () => {
  afterEach(closeAll);

  /**
   * Resets a stream when the head of its response has arrived. Resolves with the status, or undefined if the stream was
   * rejected.
   */
  async function reset(session: ClientHttp2Session, path: string): Promise<number | undefined> {
    const stream = session.request({ ':path': path });
    const closed = new Promise((resolve) => stream.on('close', resolve));
    stream.on('error', () => undefined);
    const status = await new Promise<number | undefined>((resolve) => {
      stream.once('response', (head) => resolve(head[':status']));
      stream.once('close', () => resolve(undefined));
    });
    // A part of the response is in transit then, and the rest waits for a window.
    stream.once('data', () => stream.close(constants.NGHTTP2_CANCEL));
    await closed;
    return status;
  }

  it('are served in bounded memory: their connection is closed gracefully, and running requests finish', async () => {
    const each = await start({}, 1024 * 1024);
    const first = await open(each, 65_535);
    const watch = await askUnread(first, `${maps}?watch=1&resourceVersion=1`);
    let events = '';
    watch.on('data', (chunk: Buffer) => (events += chunk.toString()));
    const goodbyes: number[] = [];
    let session = first;
    session.on('goaway', (code) => goodbyes.push(code));
    const statuses = new Set<number | undefined>();
    const before = process.memoryUsage().rss;
    for (let index = 0; index < 200; index++) {
      if (session.closed) {
        session = await open(each, 65_535);
        session.on('goaway', (code) => goodbyes.push(code));
      }
      statuses.add(await reset(session, `${maps}/a`));
    }
    assert.deepEqual([...statuses], [200]);
    assert.deepEqual([...new Set(goodbyes)], [constants.NGHTTP2_NO_ERROR]);
    assert.ok(goodbyes.length >= 3 && goodbyes.length < 20, `${goodbyes.length} times`);
    const grown = process.memoryUsage().rss - before;
    assert.ok(grown < 256 * 1024 * 1024, `${grown} bytes`);
    await each.clock.advance(1000);
    await each.seed('later', 10);
    await until(() => events.includes('"later"'));
    assert.deepEqual([first.closed, watch.destroyed], [true, false]);
  });

  it('keep their connection if the reset responses were small', async () => {
    const each = await start({}, 1000);
    const session = await open(each, 65_535);
    const statuses = new Set<number | undefined>();
    for (let index = 0; index < 300; index++) statuses.add(await reset(session, `${maps}/a`));
    assert.deepEqual([[...statuses], session.closed], [[200], false]);
  });
});

describe('clients that read slowly', () => {
  afterEach(closeAll);

  it('can have as many unread bytes on one connection as its limit: no stream is rejected below that', async () => {
    const each = await start({}, 2 * 1024 * 1024);
    const session = await open(each, 16_384);
    const streams = await Promise.all(Array.from({ length: 30 }, () => askUnread(session, `${maps}/a`)));
    const sizes = await Promise.all(
      streams.map(async (stream) => {
        let bytes = 0;
        for await (const chunk of stream as AsyncIterable<Buffer>) bytes += chunk.length;
        return bytes > 2 * 1024 * 1024;
      }),
    );
    // Completely read responses do not count as lost, whatever their size.
    assert.deepEqual([[...new Set(sizes)], session.closed], [[true], false]);
  });
});

describe('clients that open connections', () => {
  afterEach(closeAll);

  it('do not block others, whether they complete the handshake, send nothing, or wait for responses', async () => {
    const each = await start({ maxConnections: 20 });
    const sockets: Socket[] = [];
    for (let index = 0; index < 60; index++) {
      const socket =
        index % 2 === 0
          ? connectTcp({ port: each.port, host: '127.0.0.1' })
          : connectTls({ port: each.port, host: '127.0.0.1', rejectUnauthorized: false });
      socket.on('error', () => undefined);
      sockets.push(socket);
      await once(socket, 'connect');
    }
    assert.equal(await statusOf(await open(each, 65_535), maps, admin), 200);
    const watching = await askUnread(await open(each, 65_535), `${maps}?watch=1&resourceVersion=1`);
    for (let index = 0; index < 30; index++) await open(each, 65_535);
    await until(() => sockets.every(({ destroyed }) => destroyed));
    assert.equal(watching.destroyed, false);
  });
});
