import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, describe, it } from 'node:test';
import { systemClock } from '../../../base/clock.ts';
import { silentLogger } from '../../../base/log.ts';
import { FakeSpdyServer } from '../../../streaming/testing/fake-spdy-peer.ts';
import { serveRuntimeStream } from './runtime-stream.ts';

describe('a runtime stream', () => {
  const runtime = new FakeSpdyServer();
  let server: Server;
  let url = '';
  before(async () => {
    await runtime.listen();
    server = createServer();
    server.on(
      'upgrade',
      (request, socket, head) =>
        void serveRuntimeStream(
          { request, socket, head },
          {
            url,
            streams: { stdin: false, stdout: true, stderr: false, tty: false },
            idleMs: 0,
            clock: systemClock,
            log: silentLogger,
          },
        ),
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  after(async () => {
    server.close();
    await runtime.close();
  });
  beforeEach(() => {
    url = `http://127.0.0.1:${runtime.port}/exec/token`;
    runtime.refusal = undefined;
    runtime.raw = undefined;
    runtime.requests.length = 0;
  });

  async function ask(extra = ''): Promise<string> {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    let heard = '';
    socket.setEncoding('latin1').on('data', (text: string) => (heard += text));
    socket.write(
      `POST /exec/ns/p/c?command=x HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: SPDY/3.1\r\nauthorization: Bearer secret\r\ncookie: secret\r\nx-stream-protocol-version: v4.channel.k8s.io\r\n${extra}\r\n`,
    );
    await once(socket, 'close');
    return heard;
  }

  it("is requested at the runtime's URL, without anything that identifies the client", async () => {
    runtime.raw = (connection) => connection.end('raw');
    assert.match(await ask(), /^HTTP\/1\.1 101 [^]*\r\n\r\nraw$/);
    const [request] = runtime.requests;
    assert.deepEqual(
      [
        request?.url,
        request?.headers.authorization,
        request?.headers.cookie,
        request?.headers['x-stream-protocol-version'],
      ],
      ['/exec/token', undefined, undefined, 'v4.channel.k8s.io'],
    );
  });

  it('that the runtime rejects is passed on, with the versions it supports', async () => {
    runtime.refusal =
      'HTTP/1.1 403 Forbidden\r\nx-accepted-stream-protocol-versions: v4.channel.k8s.io\r\ncontent-length: 2\r\n\r\nno';
    assert.match(
      await ask(),
      /^HTTP\/1\.1 403 Forbidden\r\n[^]*X-Accepted-Stream-Protocol-Versions: v4\.channel\.k8s\.io\r\n\r\nno$/,
    );
    runtime.refusal = 'HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\n\r\n';
    const redirected = await ask();
    assert.match(redirected, /^HTTP\/1\.1 302 /);
    assert.ok(!redirected.includes('169.254'), 'the way to somewhere else is not shown');
    assert.equal(runtime.requests.length, 2);
  });

  it('goes to this machine only, and fails without a URL of the runtime', async () => {
    for (const elsewhere of [
      'http://169.254.169.254/latest',
      'https://10.0.0.1:10250/exec',
      'http://example.invalid/',
      'file:///etc/shadow',
      '/exec/token',
      '',
    ]) {
      url = elsewhere;
      assert.match(await ask(), /^HTTP\/1\.1 500 [^]*(is not on a loopback address|gave no URL)/, elsewhere);
    }
    url = 'http://127.0.0.1:1/x';
    assert.match(await ask(), /^HTTP\/1\.1 500 [^]*streaming server does not respond: .*ECONNREFUSED/);
    assert.equal(runtime.requests.length, 0);
  });

  it('leaves no connection behind', async () => {
    while (runtime.openConnections > 0) await new Promise((resolve) => setImmediate(resolve));
  });
});
