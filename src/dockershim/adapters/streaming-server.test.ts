import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { duplexPair } from 'node:stream';
import type { Duplex } from 'node:stream';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { WebSocket } from 'ws';
import { silentLogger } from '../../base/log.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { AttachRequest, ExecRequest } from '../../cri/generated/cri-v1.ts';
import { SpdySession } from '../../streaming/spdy-session.ts';
import type { SpdyStream } from '../../streaming/spdy-session.ts';
import { requestUpgrade } from '../../streaming/upgrade.ts';
import type { TerminalSize } from '../engine/docker-engine.ts';
import { FakeDockerEngine } from '../shim/testing/fake-docker-engine.ts';
import { startStreamingServer } from './streaming-server.ts';
import type { StreamingServer } from './streaming-server.ts';

const MINUTE_MS = 60_000;

let engine: FakeDockerEngine;
let clock: FakeClock;
let server: StreamingServer;
/** Docker's end of the command's connection. */
let docker: Duplex;
let sizes: TerminalSize[];

async function setUp(): Promise<void> {
  engine = new FakeDockerEngine();
  clock = new FakeClock();
  sizes = [];
  const [ours, theirs] = duplexPair();
  docker = theirs;
  docker.on('error', () => undefined);
  engine.createExec = async () => 'exec1';
  engine.startExec = async () => ours;
  engine.attach = async () => ours;
  const resize = async (_id: string, size: TerminalSize): Promise<void> => void sizes.push(size);
  engine.resizeExec = resize;
  engine.resizeContainer = resize;
  server = await startStreamingServer({
    engine,
    host: { isProcessOf: () => true },
    clock,
    log: silentLogger,
    idleMs: 0,
  });
}

/** Hooks must be in a suite. */
function withServer(): void {
  beforeEach(setUp);
  afterEach(() => server.close());
}

const execUrl = (more: Partial<ExecRequest> = {}): string =>
  server.tickets.exec(ExecRequest.fromPartial({ containerId: 'c', cmd: ['x'], stdout: true, stderr: true, ...more }));

function frame(stream: number, text: string | Buffer): Buffer {
  const head = Buffer.alloc(8);
  head[0] = stream;
  head.writeUInt32BE(text.length, 4);
  return Buffer.concat([head, Buffer.from(text)]);
}

async function textOf(stream: AsyncIterable<Buffer>): Promise<string> {
  let text = '';
  for await (const chunk of stream) text += chunk.toString('utf8');
  return text;
}

async function upgrade(url: string, headers: Record<string, string> = {}, protocol = 'SPDY/3.1') {
  const { port, pathname } = new URL(url);
  const connection = connect(Number(port), '127.0.0.1');
  connection.on('error', () => undefined);
  return requestUpgrade({
    connection,
    method: 'POST',
    path: pathname,
    headers: { host: 'x', 'x-stream-protocol-version': 'v4.channel.k8s.io', ...headers },
    protocol,
    clock,
  });
}

interface SpdyClient {
  readonly session: SpdySession;
  readonly connection: Duplex;
  readonly streams: Readonly<Record<string, SpdyStream>>;
}

async function spdyClient(url: string, names: readonly string[]): Promise<SpdyClient> {
  const answer = await upgrade(url);
  assert.ok(answer.kind === 'switched');
  const session = new SpdySession(answer.connection, answer.head);
  const streams = Object.fromEntries(names.map((streamType) => [streamType, session.open({ streamType })]));
  return { session, connection: answer.connection, streams };
}

async function refusal(answering: ReturnType<typeof upgrade>): Promise<[number | undefined, string]> {
  const answer = await answering;
  assert.ok(answer.kind === 'answer');
  return [answer.response.statusCode, await textOf(answer.response as AsyncIterable<Buffer>)];
}

describe('exec over SPDY', () => {
  withServer();

  it('connects the streams and reports the exit code', async () => {
    engine.execs = { stdout: Buffer.alloc(0), exitCode: 7 };
    const { streams } = await spdyClient(execUrl({ stdin: true }), ['error', 'stdin', 'stdout', 'stderr']);
    streams['stdin']?.end('typed');
    const [[typed]] = (await Promise.all([once(docker, 'data'), once(docker, 'end')])) as [[Buffer], unknown];
    assert.equal(typed.toString(), 'typed');
    docker.write(frame(1, 'out'));
    docker.end(frame(2, 'err'));
    const texts = await Promise.all(['stdout', 'stderr', 'error'].map((name) => textOf(streams[name] as SpdyStream)));
    assert.deepEqual(texts.slice(0, 2), ['out', 'err']);
    const status = JSON.parse(texts[2] ?? '') as { reason: string; details: { causes: object[] } };
    assert.deepEqual(
      [status.reason, status.details.causes],
      ['NonZeroExitCode', [{ reason: 'ExitCode', message: '7' }]],
    );
  });

  it('closes the connection to Docker when the client leaves early', async () => {
    const { connection } = await spdyClient(execUrl({ stdin: true }), ['error', 'stdin', 'stdout', 'stderr']);
    docker.write(frame(1, 'out'));
    const ended = once(docker, 'end');
    docker.resume();
    connection.destroy();
    await ended;
  });

  it("reports Docker's error message", async () => {
    engine.startExec = async () => {
      throw new Error('the container is paused');
    };
    const { streams } = await spdyClient(execUrl(), ['error', 'stdout', 'stderr']);
    const { message } = JSON.parse(await textOf(streams['error'] as SpdyStream)) as { message: string };
    assert.equal(message, 'the container is paused');
  });

  it('sends Docker the newest size of the terminal, one request at a time', async () => {
    const waiting: (() => void)[] = [];
    engine.resizeExec = async (_id, size) => {
      sizes.push(size);
      await new Promise<void>((resolve) => waiting.push(resolve));
    };
    const { streams } = await spdyClient(execUrl({ tty: true, stdin: true, stderr: false }), [
      'error',
      'stdin',
      'stdout',
      'resize',
    ]);
    const sent = async (width: number): Promise<void> => {
      streams['resize']?.write(JSON.stringify({ Width: width, Height: 24 }));
      // Both use one connection, so what is sent later arrives later.
      streams['stdin']?.write('.');
      await once(docker, 'data');
    };
    for (const width of [80, 81, 82]) await sent(width);
    assert.deepEqual(sizes, [{ width: 80, height: 24 }]);
    waiting[0]?.();
    await clock.settle();
    assert.deepEqual(sizes.at(-1), { width: 82, height: 24 });
    assert.equal(sizes.length, 2);
    for (const odd of ['{"Width":0,"Height":1}', '{"Width":"x"}', '}{', '\0'.repeat(5000)])
      streams['resize']?.write(odd);
    waiting[1]?.();
    await sent(83);
    await clock.settle();
    assert.deepEqual(
      sizes.map(({ width }) => width),
      [80, 82, 83],
    );
    waiting[2]?.();
  });

  it('buffers little for a slow reader, and removes its listeners', async () => {
    const { streams } = await spdyClient(execUrl(), ['error', 'stdout', 'stderr']);
    const stdout = streams['stdout'] as SpdyStream;
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on('warning', onWarning);
    const piece = frame(1, Buffer.alloc(64 * 1024, 'x'));
    let sentPieces = 0;
    // Enough turns of the event loop to read everything, if reading were not limited.
    for (let turn = 0; turn < 5000 && sentPieces < 2000; turn += 1) {
      if (!docker.writableNeedDrain) {
        docker.write(piece);
        sentPieces += 1;
      }
      await clock.settle();
    }
    assert.ok(sentPieces < 1000, `Docker could write ${sentPieces} pieces to a client that does not read`);
    docker.end();
    let bytes = 0;
    for await (const chunk of stdout as AsyncIterable<Buffer>) bytes += chunk.length;
    assert.equal(bytes, sentPieces * 64 * 1024);
    await clock.settle();
    process.off('warning', onWarning);
    assert.deepEqual(warnings, []);
  });
});

describe('attach', () => {
  withServer();

  it('connects the streams of a terminal, and reports success at the end', async () => {
    const url = server.tickets.attach(
      AttachRequest.fromPartial({ containerId: 'c', stdin: true, stdout: true, tty: true }),
    );
    const { streams } = await spdyClient(url, ['error', 'stdin', 'stdout', 'resize']);
    streams['stdin']?.write('ls');
    const [typed] = (await once(docker, 'data')) as [Buffer];
    assert.equal(typed.toString(), 'ls');
    docker.end('raw \u0001');
    assert.equal(await textOf(streams['stdout'] as SpdyStream), 'raw \u0001');
    assert.equal((JSON.parse(await textOf(streams['error'] as SpdyStream)) as { status: string }).status, 'Success');
  });

  it('ends without an answer when the container had already ended, because Docker would wait for its next start', async () => {
    const url = server.tickets.attach(AttachRequest.fromPartial({ containerId: 'gone', stdout: true, tty: true }));
    const { streams } = await spdyClient(url, ['error', 'stdout', 'resize']);
    const stdout = streams['stdout'] as SpdyStream;
    docker.write('its last words');
    const [words] = (await once(stdout, 'data')) as [Buffer];
    assert.equal(words.toString(), 'its last words');
    const ended = once(stdout, 'end');
    await clock.advance(10_000);
    await ended;
    assert.equal((JSON.parse(await textOf(streams['error'] as SpdyStream)) as { status: string }).status, 'Success');
  });
});

describe('exec over WebSocket', () => {
  withServer();

  for (const protocol of ['v5.channel.k8s.io', 'v4.channel.k8s.io'])
    it(`works with ${protocol}`, async () => {
      engine.execs = { stdout: Buffer.alloc(0), exitCode: 3 };
      const client = new WebSocket(execUrl({ stdin: true }).replace('http', 'ws'), [protocol, 'v3.channel.k8s.io']);
      const heard = new Map<number, string>();
      client.on('message', (data: Buffer) =>
        heard.set(data[0] ?? -1, (heard.get(data[0] ?? -1) ?? '') + data.toString('utf8', 1)),
      );
      await once(client, 'open');
      assert.equal(client.protocol, protocol);
      client.send(Buffer.from('\u0000typed'));
      const [typed] = (await once(docker, 'data')) as [Buffer];
      assert.equal(typed.toString(), 'typed');
      docker.write(frame(1, 'out'));
      docker.end(frame(2, 'err'));
      await once(client, 'close');
      assert.deepEqual([heard.get(1), heard.get(2)], ['out', 'err']);
      assert.match(heard.get(3) ?? '', /"ExitCode","message":"3"/);
    });

  it('is refused for protocols that it does not speak', async () => {
    const client = new WebSocket(execUrl().replace('http', 'ws'), ['base64.channel.k8s.io']);
    const [, answer] = (await once(client, 'unexpected-response')) as [unknown, IncomingMessage];
    assert.equal(answer.statusCode, 403);
    client.on('error', () => undefined);
    client.terminate();
  });
});

describe('a ticket', () => {
  withServer();

  it('is good once', async () => {
    const url = execUrl();
    await spdyClient(url, []);
    assert.deepEqual(await refusal(upgrade(url)), [
      404,
      'no such stream: it was already used, or its limit of one minute has passed\n',
    ]);
  });

  it('is valid for a minute', async () => {
    const [early, late] = [execUrl(), execUrl()];
    await clock.advance(MINUTE_MS - 1);
    await spdyClient(early, []);
    await clock.advance(1);
    assert.equal((await refusal(upgrade(late)))[0], 404);
  });

  it('needs the correct secret', async () => {
    const url = execUrl();
    for (const wrong of [`${url}x`, url.slice(0, -1), url.replace(/[^/]+$/, ''), `${new URL(url).origin}/__proto__`])
      assert.equal((await refusal(upgrade(wrong)))[0], 404, wrong);
    await spdyClient(url, []);
  });

  it('leaves no timer behind when it is used or the server closes', async () => {
    const url = execUrl();
    const armed = clock.armedTimers;
    execUrl();
    assert.equal(clock.armedTimers, armed + 1);
    assert.equal((await refusal(upgrade(url, { 'x-stream-protocol-version': 'v1' })))[0], 403);
    const before = clock.monotonicMs();
    await server.close();
    assert.equal(await clock.advanceUntil(() => false, 1), false);
    assert.equal(clock.monotonicMs(), before + 1);
    assert.equal(clock.armedTimers, 0);
  });

  it('is one of at most a thousand that are pending', async () => {
    for (let count = 0; count < 1000; count += 1) execUrl();
    assert.throws(() => execUrl(), { kind: 'Unavailable', message: /1000 streams wait/ });
    await clock.advance(MINUTE_MS);
    execUrl();
  });
});

describe('a client with an unexpected request', () => {
  withServer();

  it('is refused: a plain request', async () => {
    const url = execUrl();
    const answer = await new Promise<IncomingMessage>((resolve) => httpRequest(url, resolve).end());
    assert.equal(answer.statusCode, 400);
    answer.resume();
    await spdyClient(url, []);
  });

  it('is refused: another protocol, or another version of SPDY', async () => {
    assert.equal((await refusal(upgrade(execUrl(), {}, 'h2c')))[0], 403);
    assert.equal((await refusal(upgrade(execUrl(), { 'x-stream-protocol-version': 'v3.channel.k8s.io' })))[0], 403);
  });

  it('is disconnected when it does not open its streams, and Docker is not called', async () => {
    let asked = 0;
    engine.createExec = async () => `exec${(asked += 1)}`;
    const { connection } = await spdyClient(execUrl(), ['error']);
    connection.resume();
    const closed = new Promise((resolve) => connection.once('close', resolve));
    await clock.advance(31_000);
    await closed;
    assert.equal(asked, 0);
  });
});
