import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { WebSocket } from 'ws';
import { WebSocketServer } from 'ws';
import { isKind } from '../../../base/errors.ts';
import type { Terminal } from './exec-session.ts';
import { runExec } from './exec-session.ts';

type Input = Parameters<Terminal['input']>[0];

/** A terminal in memory. `onInput` receives the functions that the session reads with. */
function terminal(onInput: (input: Input) => void = () => {}) {
  const log: string[] = [];
  const made: Terminal = {
    out: (data) => void log.push(`out ${Buffer.from(data).toString()}`),
    error: (data) => void log.push(`err ${Buffer.from(data).toString()}`),
    input: (handlers, raw) => {
      log.push(raw ? 'raw' : 'plain');
      onInput(handlers);
      return () => void log.push('released');
    },
  };
  return { made, log };
}

let server: WebSocketServer;
let url = '';
let serve: (socket: WebSocket) => void = () => {};
let speaks = 'v5.channel.k8s.io';
before(async () => {
  server = new WebSocketServer({
    port: 0,
    host: '127.0.0.1',
    handleProtocols: (offered) => (offered.has(speaks) ? speaks : false),
  });
  server.on('connection', (socket) => serve(socket));
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/exec`;
});
after(() => server.close());

const frame = (channel: number, data: string): Buffer => Buffer.concat([Buffer.of(channel), Buffer.from(data)]);
const end = (socket: WebSocket, status: unknown): void => {
  socket.send(frame(3, typeof status === 'string' ? status : JSON.stringify(status)));
  socket.close();
};
const success = { status: 'Success' };
const noInput = { tty: false, stdin: false };

describe('a command in a container', () => {
  it('prints its two outputs apart and ends with its exit code', async () => {
    const { made, log } = terminal();
    serve = (socket) => {
      socket.send(frame(1, 'hello'));
      socket.send(frame(2, 'oops'));
      end(socket, {
        status: 'Failure',
        reason: 'NonZeroExitCode',
        details: { causes: [{ reason: 'ExitCode', message: '42' }] },
      });
    };
    assert.deepEqual([await runExec(url, noInput, made), log], [42, ['out hello', 'err oops']]);
    serve = (socket) => end(socket, success);
    assert.equal(await runExec(url, noInput, made), 0);
  });

  it("fails in the runtime's words when it could not be run", async () => {
    serve = (socket) => end(socket, { status: 'Failure', message: 'no such file' });
    await assert.rejects(runExec(url, noInput, terminal().made), /no such file/);
    serve = (socket) => end(socket, 'plain text');
    await assert.rejects(runExec(url, noInput, terminal().made), /plain text/);
  });

  it('is no success when the connection breaks before the end was reported, or cannot be made', async () => {
    serve = (socket) => socket.terminate();
    await assert.rejects(
      runExec(url, noInput, terminal().made),
      (error) => isKind(error, 'Unavailable') && /before the runtime said/.test((error as Error).message),
    );
    await assert.rejects(runExec('http://127.0.0.1:1/', noInput, terminal().made), /ECONNREFUSED/);
  });

  it('sends input, sizes and the end of input, and gives the terminal back', async () => {
    speaks = 'v5.channel.k8s.io';
    const { made, log } = terminal((input) => {
      input.onData(Buffer.from('text'));
      input.onResize({ columns: 80, rows: 24 });
      input.onEnd();
    });
    const frames: string[] = [];
    serve = (socket) =>
      socket.on('message', (data: Buffer) => {
        frames.push(`${data[0]} ${data[0] === 255 ? data[1] : data.subarray(1).toString()}`);
        if (frames.length === 3) end(socket, success);
      });
    assert.equal(await runExec(url, { tty: true, stdin: true }, made), 0);
    assert.deepEqual(
      [frames, log],
      [
        ['0 text', '4 {"Width":80,"Height":24}', '255 0'],
        ['raw', 'released'],
      ],
    );
  });

  it('says that a runtime of the fourth protocol cannot be notified of the end of input', async () => {
    speaks = 'v4.channel.k8s.io';
    const { made, log } = terminal((input) => {
      input.onEnd();
      input.onData(Buffer.from('last'));
    });
    serve = (socket) => socket.on('message', () => end(socket, success));
    assert.equal(await runExec(url, { tty: false, stdin: true }, made), 0);
    assert.match(log.join('\n'), /plain\nerr kubelet: this runtime cannot be notified[\s\S]*released/);
  });
});
