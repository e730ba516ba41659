import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { isKind } from '../../../base/errors.ts';
import { listenTcp, listenUnix } from './http-listen.ts';

const folder = mkdtempSync('/tmp/http-listen-');
after(() => rmSync(folder, { recursive: true }));
const app = { fetch: (request: Request) => new Response(`you asked for ${new URL(request.url).pathname}`) };

function ask(socketPath: string, where: string): Promise<string> {
  return new Promise((resolve, reject) => {
    http
      .get({ socketPath, path: where }, async (response) => {
        let text = '';
        for await (const chunk of response) text += String(chunk);
        resolve(text);
      })
      .on('error', reject);
  });
}

describe('listening on a unix socket', () => {
  it('answers there, lets nobody but its owner in, and leaves nothing when closed', async () => {
    const socket = path.join(folder, 'new', 'agent.sock');
    const umask = process.umask();
    const listening = await listenUnix(app, socket);
    assert.deepEqual(
      [listening.address, (statSync(socket).mode & 0o777).toString(8), process.umask()],
      [socket, '600', umask],
    );
    assert.equal(await ask(socket, '/pods'), 'you asked for /pods');
    assert.deepEqual(readdirSync(path.dirname(socket)), ['agent.sock']);
    await listening.close();
    assert.deepEqual(readdirSync(path.dirname(socket)), []);
  });

  it('takes over what an agent that was killed left, be it a socket or a file', async () => {
    const socket = path.join(folder, 'stale.sock');
    const killed = await listenUnix(app, socket);
    const next = await listenUnix(app, socket);
    assert.equal(await ask(socket, '/a'), 'you asked for /a');
    await next.close();
    writeFileSync(socket, 'left');
    const third = await listenUnix(app, socket);
    assert.equal(await ask(socket, '/b'), 'you asked for /b');
    await third.close();
    await killed.close();
  });

  it('says which path it could not listen on', async () => {
    const long = path.join(folder, 'x'.repeat(100), 'agent.sock');
    await assert.rejects(
      listenUnix(app, long),
      (error) => isKind(error, 'Unavailable') && (error as Error).message.includes(long),
    );
  });
});

describe('listening on a port', () => {
  it('rejects with AlreadyExists when the port is taken, naming it', async () => {
    const other = net.createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as net.AddressInfo;
    await assert.rejects(
      listenTcp(app, '127.0.0.1', port),
      (error) => isKind(error, 'AlreadyExists') && (error as Error).message.includes(`127.0.0.1:${port}`),
    );
    other.close();
  });

  it('ends what its readers still follow when it is closed', async () => {
    const endless = {
      fetch: () =>
        new Response(
          new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode('first')) }),
        ),
    };
    const listening = await listenUnix(endless, path.join(folder, 'endless.sock'));
    const reading = assert.rejects(ask(path.join(folder, 'endless.sock'), '/'));
    await new Promise((resolve) => setImmediate(resolve));
    await listening.close();
    await reading;
  });
});
