import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { SpdySession } from '../../../streaming/spdy-session.ts';
import type { SpdyStream } from '../../../streaming/spdy-session.ts';
import { FakeSpdyPeer } from '../../../streaming/testing/fake-spdy-peer.ts';
import { socketPair } from '../../../streaming/testing/socket-pair.ts';
import { AttachRelay } from './attach-relay.ts';
import type { AttachRelayParts, LogPiece } from './attach-relay.ts';

const SUCCESS = '{"metadata":{},"status":"Success"}';
const FAILURE = '{"status":"Failure","message":"container is in CONTAINER_EXITED state"}';

/** A log that the test extends. */
class GrowingLog {
  readonly #pieces: LogPiece[] = [];
  #isOver = false;
  #wake: () => void = () => undefined;
  looks = 0;
  onCaughtUp: () => void = () => undefined;
  readonly entries = this.#read();

  write(text: string, stream: LogPiece['stream'] = 'stdout'): void {
    this.#pieces.push({ stream, content: Buffer.from(text) });
    this.#wake();
  }

  end(): void {
    this.#isOver = true;
    this.#wake();
  }

  look(): void {
    this.looks += 1;
    this.#wake();
  }

  async *#read(): AsyncGenerator<readonly LogPiece[]> {
    for (;;) {
      if (this.#pieces.length > 0) yield this.#pieces.splice(0);
      else if (this.#isOver) return;
      else {
        this.onCaughtUp();
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    }
  }
}

interface Fixture {
  readonly clock: FakeClock;
  readonly log: GrowingLog;
  /** The output as the client receives it. */
  readonly heard: { stdout: string; stderr: string; error: string };
  readonly stdin: SpdyStream;
  readonly peer: FakeSpdyPeer | undefined;
  readonly done: Promise<void>;
  until(isSo: () => boolean): Promise<void>;
  /** Keeps the output quiet for longer than the agent waits. */
  quiet(): Promise<void>;
  /** Ends the attachment at the runtime, and notifies the agent. */
  runtimeOver(): Promise<void>;
}

async function attached(
  given: { runtime?: boolean; tty?: boolean; hasEnded?: () => Promise<boolean> },
  run: (fixture: Fixture) => Promise<void>,
): Promise<void> {
  const [clientEnd, agentEnd, close] = await socketPair();
  const [agentSide, runtimeSide, closeRuntime] = await socketPair();
  try {
    const clock = new FakeClock();
    const opened = new Map<string, SpdyStream>();
    const session = new SpdySession(
      agentEnd,
      Buffer.alloc(0),
      (stream, headers) => opened.set(headers.get('streamtype') ?? '', stream).size > 0,
    );
    const client = new SpdySession(clientEnd, Buffer.alloc(0));
    const heard = { stdout: '', stderr: '', error: '' };
    const ends = (['error', 'stdout', 'stderr'] as const).map((name) => {
      const stream = client
        .open({ streamType: name })
        .on('data', (chunk: Buffer) => (heard[name] += chunk.toString('utf8')));
      return once(stream, 'end');
    });
    const stdin = client.open({ streamType: 'stdin' });
    const until = async (isSo: () => boolean): Promise<void> => {
      while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
    };
    await until(() => opened.size === 4);
    const log = new GrowingLog();
    const end = (name: string): SpdyStream => opened.get(name) as SpdyStream;
    const peer = given.runtime === false ? undefined : new FakeSpdyPeer(runtimeSide, Buffer.alloc(0));
    const runtime = peer === undefined ? undefined : runtimeEnds(agentSide);
    const runtimeOver = async (): Promise<void> => {
      peer?.end();
      await until(() =>
        [runtime?.error, runtime?.stdout, runtime?.stderr].every((stream) => stream?.readableEnded === true),
      );
      await clock.settle();
    };
    const parts: AttachRelayParts = {
      client: {
        session,
        error: end('error'),
        stdin: end('stdin'),
        stdout: end('stdout'),
        stderr: end('stderr'),
        resize: undefined,
        onActivity: () => undefined,
        close: () => session.close(),
      },
      runtime,
      log,
      stopLog: new AbortController(),
      hasEnded: given.hasEnded ?? (async () => true),
      tty: given.tty ?? false,
      clock,
    };
    parts.stopLog.signal.addEventListener('abort', () => log.end());
    const relay = new AttachRelay(parts);
    log.onCaughtUp = () => relay.caughtUp();
    const done = Promise.all([relay.run(), ...ends]).then(() => undefined);
    await peer?.until(() => peer.streams.size === 4);
    await run({ clock, log, heard, stdin, peer, done, until, quiet: () => clock.advance(150), runtimeOver });
    client.close();
    await done;
  } finally {
    await close();
    await closeRuntime();
  }
}

function runtimeEnds(
  connection: ConstructorParameters<typeof SpdySession>[0],
): NonNullable<AttachRelayParts['runtime']> {
  const session = new SpdySession(connection, Buffer.alloc(0));
  const [error, stdin, stdout, stderr] = ['error', 'stdin', 'stdout', 'stderr'].map((streamType) =>
    session.open({ streamType }),
  ) as [SpdyStream, SpdyStream, SpdyStream, SpdyStream];
  return { error, stdin, stdout, stderr, resize: undefined, close: () => session.close() };
}

describe('an attachment with earlier output', () => {
  it('an attachment to a container that has ended sends its log, once, and success', () =>
    attached({ runtime: false }, async ({ log, heard, stdin, done }) => {
      stdin.end('not read');
      log.write('hi\n');
      log.write('oh\n', 'stderr');
      log.end();
      await done;
      assert.deepEqual(heard, { stdout: 'hi\n', stderr: 'oh\n', error: SUCCESS });
    }));

  it('an attachment to a container that ends during the attach does the same, whatever the runtime reports', () =>
    attached({}, async ({ log, heard, peer, done, quiet, runtimeOver }) => {
      peer?.send('error', FAILURE);
      log.write('hi\n');
      await runtimeOver();
      await quiet();
      await quiet();
      log.write('late\n');
      log.end();
      await done;
      assert.deepEqual(heard, { stdout: 'hi\nlate\n', stderr: '', error: SUCCESS });
    }));

  it('sends nothing twice: until the output is quiet only the log is used', () =>
    attached({}, async ({ log, heard, peer, until, clock }) => {
      log.write('one\n');
      peer?.send('stdout', 'two\n');
      log.write('two\n');
      await until(() => heard.stdout === 'one\ntwo\n');
      for (let round = 0; round < 20; round += 1) {
        peer?.send('stdout', `${round}\n`);
        log.write(`${round}\n`);
        await until(() => heard.stdout.endsWith(`\n${round}\n`));
        await clock.advance(60);
      }
      assert.equal(log.looks, 0, 'it was never quiet');
      assert.equal(heard.stdout, `one\ntwo\n${Array.from({ length: 20 }, (_, round) => `${round}\n`).join('')}`);
    }));

  it('switches to the runtime when the output is quiet, with the unfinished line', () =>
    attached({}, async ({ log, heard, stdin, peer, until, quiet, done }) => {
      log.write('one\n');
      peer?.send('stdout', 'name: ');
      peer?.send('stderr', 'w');
      await until(() => heard.stdout === 'one\n');
      await quiet();
      await until(() => heard.stdout === 'one\nname: ' && heard.stderr === 'w');
      stdin.write('bob\n');
      await peer?.until(() => peer.streamOf('stdin')?.text === 'bob\n');
      peer?.send('stdout', 'hello bob\n');
      // The log is no longer read for this attachment.
      log.write('name: hello bob\n');
      await until(() => heard.stdout.endsWith('bob\n'));
      peer?.send('error', SUCCESS);
      peer?.end();
      await done;
      assert.deepEqual(heard, { stdout: 'one\nname: hello bob\n', stderr: 'w', error: SUCCESS });
    }));

  it('waits for a log that is behind what the runtime sent', () =>
    attached({}, async ({ log, heard, peer, until, quiet }) => {
      peer?.send('stdout', 'one\ntwo\n$ ');
      log.write('one\n');
      await until(() => heard.stdout === 'one\n');
      await quiet();
      assert.equal(heard.stdout, 'one\n');
      log.write('two\n');
      await until(() => heard.stdout === 'one\ntwo\n');
      await quiet();
      await until(() => heard.stdout === 'one\ntwo\n$ ');
    }));

  it('waits longer for the log if lines repeat, because repeated lines cannot be matched to the earlier output', () =>
    attached({}, async ({ log, heard, peer, until, clock, quiet }) => {
      const line = 'y\n';
      // The client attached after the first fifty of a hundred lines, and the runtime has written only eighty to the
      // log so far.
      peer?.send('stdout', line.repeat(50));
      log.write(line.repeat(80));
      await until(() => heard.stdout === line.repeat(80));
      await quiet();
      log.write(line.repeat(20));
      await until(() => heard.stdout === line.repeat(100));
      await clock.advance(1500);
      peer?.send('stdout', '$ ');
      await until(() => heard.stdout === `${line.repeat(100)}$ `);
    }));

  it('an attachment does not keep a terminal waiting that is never quiet', () =>
    attached({ tty: true }, async ({ heard, peer, until, clock }) => {
      for (let round = 0; round < 30; round += 1) {
        peer?.send('stdout', '-');
        await peer?.until(() => true);
        await new Promise((resolve) => setImmediate(resolve));
        await clock.advance(50);
      }
      await until(() => heard.stdout.length === 30);
    }));

  it('ends with the runtime if the container keeps running, and passes on its status', () =>
    attached({ hasEnded: async () => false }, async ({ log, heard, peer, clock, until, done, runtimeOver }) => {
      log.write('one\n');
      await until(() => heard.stdout === 'one\n');
      peer?.send('error', FAILURE);
      await runtimeOver();
      await clock.advance(1000);
      await done;
      assert.deepEqual(heard, { stdout: 'one\n', stderr: '', error: FAILURE });
    }));

  it('reports the loss of the runtime', () =>
    attached({}, async ({ heard, peer, quiet, done }) => {
      await quiet();
      peer?.connection.destroy();
      await done;
      assert.match(heard.error, /the connection ended before the command did/);
    }));
});
