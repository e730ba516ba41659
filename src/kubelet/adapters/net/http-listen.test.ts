import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
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
  it('answers there, admits only its owner, and leaves nothing when closed', async () => {
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

  it('replaces what a killed agent left: a socket, a file, or a link, which is not followed', async () => {
    const socket = path.join(folder, 'stale.sock');
    const dead = spawnSync(process.execPath, [
      '-e',
      'require("net").createServer().listen(process.argv[1], () => process.kill(process.pid, "SIGKILL"))',
      socket,
    ]);
    assert.deepEqual([dead.signal, statSync(socket).isSocket()], ['SIGKILL', true]);
    const next = await listenUnix(app, socket);
    assert.equal(await ask(socket, '/a'), 'you asked for /a');
    await next.close();
    const outside = path.join(folder, 'outside');
    writeFileSync(outside, 'of others');
    for (const leave of [
      () => writeFileSync(socket, 'left'),
      () => symlinkSync(outside, socket),
      () => symlinkSync(path.join(folder, 'nowhere'), socket),
    ]) {
      leave();
      const listening = await listenUnix(app, socket);
      assert.deepEqual(
        [await ask(socket, '/b'), lstatSync(socket).isSocket(), readFileSync(outside, 'utf8')],
        ['you asked for /b', true, 'of others'],
      );
      await listening.close();
    }
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.startsWith('.')),
      [],
    );
  });

  it('replaces neither a running agent nor a folder, and does not remove what replaced it', async () => {
    const socket = path.join(folder, 'held.sock');
    const first = await listenUnix(app, socket);
    await assert.rejects(
      listenUnix(app, socket),
      (error) =>
        isKind(error, 'AlreadyExists') && (error as Error).message.includes('another agent already listens on it'),
    );
    assert.equal(await ask(socket, '/a'), 'you asked for /a');
    rmSync(socket);
    writeFileSync(socket, 'of others');
    await first.close();
    assert.equal(readFileSync(socket, 'utf8'), 'of others');
    rmSync(socket);
    mkdirSync(path.join(socket, 'x'), { recursive: true });
    await assert.rejects(listenUnix(app, socket), (error) => isKind(error, 'Unavailable'));
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.startsWith('.')),
      [],
    );
  });

  it("closes connections beyond a limit, so that endless clients do not use up the agent's descriptors", async () => {
    const socket = path.join(folder, 'many.sock');
    const listening = await listenUnix(app, socket);
    const open = new Set<net.Socket>();
    const dial = (): Promise<'held' | 'closed'> =>
      new Promise((resolve) => {
        const connection = net.connect(socket);
        open.add(connection);
        connection.on('error', () => undefined);
        connection.once('close', () => resolve('closed'));
        connection.once('data', () => resolve('held'));
        connection.once('connect', () => connection.write('GET /x HTTP/1.1\r\nHost: kubelet\r\n\r\nGET /never'));
      });
    const fates = await Promise.all(Array.from({ length: 400 }, dial));
    assert.deepEqual(
      [fates.filter((fate) => fate === 'held').length, fates.filter((fate) => fate === 'closed').length],
      [256, 144],
    );
    for (const connection of open) connection.destroy();
    await listening.close();
  });

  it('names the path it could not listen on', async () => {
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

  it('ends streams that clients still follow when it is closed', async () => {
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
